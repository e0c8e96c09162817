/* Writing masks: sound, text, raw samples, and configurations of other programs. Files are written
 * completely or not at all; existing ones are replaced only with `force`. */
#ifndef HALO_MASK_WRITE_H
#define HALO_MASK_WRITE_H

#include "mask/mask.h"
#include "sound/port.h"

struct mask_write_settings {
    bool force;
    bool is_double; /* taps of 64 bits, in text with 17 digits; else of 32 */
};

/* A WAV with a channel for each column. Errors: the mask has no rate; writing. */
MUST_CHECK enum status mask_write_wav(const struct mask *mask, const char *path,
                                      const struct mask_write_settings *settings);

/* A sound file; the format and frames of `settings` are those of the mask. Errors: writing. */
MUST_CHECK enum status mask_write_sound(const struct mask *mask,
                                        const struct sink_settings *settings);

/* Text as mask_text.c reads it, with origin and paths (`all`, .mask) or only rate and columns. */
MUST_CHECK enum status mask_write_text(const struct mask *mask, const char *path, bool all,
                                       const struct mask_write_settings *settings);

/* A copy of the mask without own paths: a column for every channel if each goes to itself, else one
 * for each input and output, all outputs of the first input first (map=matrix; *is_matrix). */
MUST_CHECK enum status mask_without_paths(const struct mask *mask, struct mask **plain,
                                          bool *is_matrix);

/* Programs whose configurations can be written, "jconvolver"; NULL past the last. */
const char *mask_config_program(size_t index);

/* Write a mask with paths for one of these programs; the files that it names go beside `path`. */
MUST_CHECK enum status mask_config_write(const char *program, const struct mask *mask,
                                         const char *path,
                                         const struct mask_write_settings *settings);

/* A text file. text_file_keep completes and closes it, and leaves no file after an error. */
struct text_file;
MUST_CHECK enum status text_file_open(const char *path, const struct mask_write_settings *settings,
                                      struct text_file **file);
FILE *text_file_stream(struct text_file *file);
MUST_CHECK enum status text_file_keep(struct text_file *file);

#endif
