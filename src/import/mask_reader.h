/* Kinds of mask files. A new kind takes one file, and one entry of mask_readers in mask_load.c. */
#ifndef HALO_MASK_READER_H
#define HALO_MASK_READER_H

#include "import/mask_load.h"

#include <stdio.h>

/* A kind of mask file: samples, text, or a configuration of another program, which names masks in
 * other files (mask_config.h). */
struct mask_config;
struct mask_reader {
    const char *kind;
    bool has_directions; /* mask_load_options select directions */
    /* Whether the file is of this kind. The stream may be left anywhere. Errors: memory. */
    enum status (*is_mine)(const char *file, FILE *stream, const struct mask_load_options *options,
                           bool *mine);
    enum status (*read)(const char *file, FILE *stream, const struct mask_load_options *options,
                        struct mask **mask);
    /* A kind of configuration has these two functions instead. */
    bool (*is_my_config)(const struct mask_config *config);
    enum status (*read_config)(struct mask_config *config, struct mask **mask);
};
/* mask_reader_response recognises frequency responses and refuses them (response_file.h). */
extern const struct mask_reader mask_reader_raw, mask_reader_sound, mask_reader_response,
    mask_reader_rew, mask_reader_jconvolver, mask_reader_brutefir, mask_reader_convolver,
    mask_reader_eqapo, mask_reader_camilladsp, mask_reader_text, mask_reader_ambix,
    mask_reader_sofa, mask_reader_pipewire, mask_reader_easyeffects, mask_reader_rew_table,
    mask_reader_minidsp;

/* Reads a file if it is of this kind. If it is not, *mask stays NULL and nothing is printed. */
MUST_CHECK enum status mask_reader_read(const struct mask_reader *reader, const char *file,
                                        FILE *stream, const struct mask_load_options *options,
                                        struct mask **mask);

/* Opens a file. Text is converted to plain UTF-8 (plain_text.h), unless the file is known to hold
 * samples. Errors: no such file, not a regular file, empty. */
MUST_CHECK enum status mask_file_open(const char *file, bool is_samples, FILE **stream);

/* Goes to the start of the file. ferror() stays. */
void mask_file_restart(FILE *stream);

/* Whether a file starts like text. Then goes back to its start. */
bool mask_looks_like_text(FILE *stream);

/* A growing array, all zero at first. The user frees `values`. Errors: memory. */
struct mask_values {
    double *values;
    size_t count, capacity;
};
MUST_CHECK enum status mask_values_add(struct mask_values *values, double value);

#endif
