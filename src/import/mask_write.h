/* Writing masks: sound, text, raw samples, and configurations of other programs. A file is complete
 * or it is not there. Existing files are replaced only with `force`. */
#ifndef HALO_MASK_WRITE_H
#define HALO_MASK_WRITE_H

#include "mask/mask.h"
#include "sound/port.h"

struct mask_write_settings {
    bool force;
    bool is_double; /* write taps of 64 bits, in text 17 digits; else 32 bits */
};

/* Writes a WAV with a channel for each column. Errors: the mask has no rate; writing. */
MUST_CHECK enum status mask_write_wav(const struct mask *mask, const char *path,
                                      const struct mask_write_settings *settings);

/* Writes a sound file. The format and frames of `settings` are the mask's. Errors: writing. */
MUST_CHECK enum status mask_write_sound(const struct mask *mask,
                                        const struct sink_settings *settings);

/* Writes text for mask_text.c. `all` (.mask): with origin and paths; else only rate and columns. */
MUST_CHECK enum status mask_write_text(const struct mask *mask, const char *path, bool all,
                                       const struct mask_write_settings *settings);

/* Copies the mask without own paths. If each channel goes only to itself, the copy has a column for
 * every channel. Otherwise it has one for each input and output, with all outputs of the first
 * input first (map=matrix), and *is_matrix is true. */
MUST_CHECK enum status mask_without_paths(const struct mask *mask, struct mask **plain,
                                          bool *is_matrix);

/* A program whose configurations can be written, such as "jconvolver". NULL: no more programs. */
const char *mask_config_program(size_t index);

/* Writes a mask with paths as a configuration of that program, with its files beside `path`. */
MUST_CHECK enum status mask_config_write(const char *program, const struct mask *mask,
                                         const char *path,
                                         const struct mask_write_settings *settings);

/* Refuses a routed mask that mixes channels, which Equalizer APO's configurations from here do not. */
MUST_CHECK enum status mask_check_eqapo(const struct mask *mask);

/* A text file. text_file_keep completes and closes it. After an error it leaves no file. */
struct text_file;
MUST_CHECK enum status text_file_open(const char *path, const struct mask_write_settings *settings,
                                      struct text_file **file);
FILE *text_file_stream(struct text_file *file);
MUST_CHECK enum status text_file_keep(struct text_file *file);

#endif
