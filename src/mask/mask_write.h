/* Masks as files: sound, text, raw samples, and the configurations of other programs.
 *
 * Every file is there whole or not at all; none that stands there is replaced without `force`.
 */
#ifndef HALO_MASK_WRITE_H
#define HALO_MASK_WRITE_H

#include "mask/mask.h"

struct mask_write_settings {
    bool force;
    bool is_double;    /* sound of 64 bits */
    const char *input; /* never overwritten */
};

/* A WAV with a channel for each column. Errors: the mask has no rate; writing. */
MUST_CHECK enum status mask_write_wav(const struct mask *mask, const char *path,
                                      const struct mask_write_settings *settings);

/* Text as mask_text.c reads it; all it can say (.mask), or the rate and columns alone. */
MUST_CHECK enum status mask_write_text(const struct mask *mask, const char *path, bool all,
                                       const struct mask_write_settings *settings);

/* One column as little-endian float32 and nothing else. */
MUST_CHECK enum status mask_write_raw(const struct mask *mask, size_t column, const char *path,
                                      const struct mask_write_settings *settings);

/* The same sound without paths of its own: a column for every channel where each goes to
 * itself, else one for each input and output, all outputs of the first input first (map=matrix;
 * *is_matrix). Of a mask that has no own paths: a copy. */
MUST_CHECK enum status mask_without_paths(const struct mask *mask, struct mask **plain,
                                          bool *is_matrix);

/* A configuration that another program loads. */
struct mask_config_writer {
    const char *name; /* "jconvolver" */
    /* Of a mask with paths; files for it are written beside `path`. */
    enum status (*write)(const struct mask *mask, const char *path,
                         const struct mask_write_settings *settings);
};
const struct mask_config_writer *mask_config_writer_at(size_t index); /* NULL past the last */

/* Text that is written whole or not at all. */
struct text_file;
MUST_CHECK enum status text_file_open(const char *path, const struct mask_write_settings *settings,
                                      struct text_file **file);
FILE *text_file_stream(struct text_file *file);
MUST_CHECK enum status text_file_keep(struct text_file *file);
void text_file_close(struct text_file *file);

#endif
