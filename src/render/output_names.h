/* The names of many outputs, made from those of their inputs by a pattern.
 *
 *   {name}   voice.wav, of rooms/a/voice.wav      {stem}   voice
 *   {dir}    rooms/a                              {ext}    wav
 *   {index}  1, 2, ..., with as many digits as the last has
 *
 * {{ is a brace. The outputs stay in their folder, whatever the inputs are called. Threads: any.
 */
#ifndef HALO_OUTPUT_NAMES_H
#define HALO_OUTPUT_NAMES_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

#define OUTPUT_NAMES_USUAL "{name}"

/* The path in `folder` of input number `index`, from 0, of `count`; for free(). Errors (usage): the
 * pattern, or a name that leads out of the folder. */
MUST_CHECK enum status output_name(const char *folder, const char *pattern, const char *input,
                                   size_t index, size_t count, char **path);

/* The same for what a folder has, by its path in there: without {dir} the sub-folder comes first,
 * so that sub-folders are kept, whatever outputs are called. */
MUST_CHECK enum status output_name_within(const char *folder, const char *pattern,
                                          const char *within, size_t index, size_t count,
                                          char **path);

/* The path of `name` in the folder, for free(): the same for "a.wav" and "./a.wav". Errors (usage):
 * it leads out of it. */
MUST_CHECK enum status output_within(const char *folder, const char *name, char **path);

/* Errors (usage): two outputs have one name, or one is an input. */
MUST_CHECK enum status output_names_check(const char *const *inputs, char *const *outputs,
                                          size_t count);

/* Make the folders that a path is in, as far as they are missing. Errors: permissions. */
MUST_CHECK enum status output_make_folders(const char *path);

/* ---- a folder as many inputs: its sound files and those of its sub-folders, by name ---- */

bool input_folder_is(const char *path);

/* Call `found` with each file, and its path within the folder, whose ending is that of a sound
 * file. Hidden ones are left out, and so is the folder `without`, that of the outputs. Prints how
 * many there are. Errors: none is there, reading, those of `found`. */
MUST_CHECK enum status input_folder_read(const char *folder, const char *without,
                                         enum status (*found)(void *context, const char *path,
                                                              const char *within),
                                         void *context);

#endif
