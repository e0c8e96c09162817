/* Kinds of mask files, for the files that read them: a new kind is one file and one row of
 * mask_readers in mask_load.c. */
#ifndef HALO_MASK_READER_H
#define HALO_MASK_READER_H

#include "import/mask_load.h"

#include <stdio.h>

/* A kind of mask file: samples, text, or the configuration of another program, which names masks in
 * other files (mask_config.h). */
struct mask_config;
struct mask_reader {
    const char *kind;
    bool has_directions; /* that mask_load_options select */
    /* The stream is at its start and may be left anywhere. Errors: memory. */
    enum status (*is_mine)(const char *file, FILE *stream, const struct mask_load_options *options,
                           bool *mine);
    enum status (*read)(const char *file, FILE *stream, const struct mask_load_options *options,
                        struct mask **mask);
    /* Instead of these two. */
    bool (*is_my_config)(const struct mask_config *config);
    enum status (*read_config)(struct mask_config *config, struct mask **mask);
};
/* mask_reader_response refuses (response_file.h). */
extern const struct mask_reader mask_reader_raw, mask_reader_sound, mask_reader_response,
    mask_reader_rew, mask_reader_jconvolver, mask_reader_brutefir, mask_reader_convolver,
    mask_reader_eqapo, mask_reader_camilladsp, mask_reader_text, mask_reader_ambix,
    mask_reader_sofa, mask_reader_pipewire, mask_reader_easyeffects, mask_reader_rew_table,
    mask_reader_minidsp;

/* Read a file if it is of this kind. Else *mask stays NULL and nothing is printed. */
MUST_CHECK enum status mask_reader_read(const struct mask_reader *reader, const char *file,
                                        FILE *stream, const struct mask_load_options *options,
                                        struct mask **mask);

/* Text is converted to plain UTF-8 (plain_text.h), unless the file is known to hold samples.
 * Errors: no such file, not a regular file, empty. */
MUST_CHECK enum status mask_file_open(const char *file, bool is_samples, FILE **stream);

/* Read it from its start again; ferror() stays. */
void mask_file_restart(FILE *stream);

/* Whether a file starts like text. Restarts it. */
bool mask_looks_like_text(FILE *stream);

/* A growing array, initially all zero; free() the values. Errors: memory. */
struct mask_values {
    double *values;
    size_t count, capacity;
};
MUST_CHECK enum status mask_values_add(struct mask_values *values, double value);

#endif
