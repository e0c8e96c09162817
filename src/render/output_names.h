/* Makes the names of many outputs from the names of their inputs, by a pattern.
 *
 *   {name}   voice.wav, of rooms/a/voice.wav      {stem}   voice
 *   {dir}    rooms/a                              {ext}    wav
 *   {index}  1, 2, ..., with as many digits as the last has
 *
 * {{ is a brace. Outputs never leave their folder, whatever the inputs' names are. Threads: any. */
#ifndef HALO_OUTPUT_NAMES_H
#define HALO_OUTPUT_NAMES_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

#define OUTPUT_NAMES_USUAL "{name}"

/* The path in `folder` of the output of `input`, number `index` (from 0) of `count`. The caller
 * frees it. Errors (usage): a wrong pattern, or a name that leads out of the folder. */
MUST_CHECK enum status output_name(const char *folder, const char *pattern, const char *input,
                                   size_t index, size_t count, char **path);

/* output_name() for an input from a folder, by its path `within` the folder. If the pattern lacks
 * {dir}, the sub-folder is put before it, so that sub-folders are kept. */
MUST_CHECK enum status output_name_within(const char *folder, const char *pattern,
                                          const char *within, size_t index, size_t count,
                                          char **path);

/* The path of `name` in the folder, which the caller frees. "a.wav" and "./a.wav" give the same
 * path. Errors (usage): the name leads out of the folder. */
MUST_CHECK enum status output_within(const char *folder, const char *name, char **path);

/* Errors (usage): two outputs have the same name, or an output is also an input. */
MUST_CHECK enum status output_names_check(const char *const *inputs, char *const *outputs,
                                          size_t count);

/* Create the missing folders in a path. Errors: permissions. */
MUST_CHECK enum status output_make_folders(const char *path);

/* ---- a folder as an input: the sound files in it and in its sub-folders, sorted by name ---- */

bool input_folder_is(const char *path);

/* Call `found` for each file with the ending of a sound file, with its path and its path within the
 * folder. Leaves out hidden files and the folder `without`, which has the outputs. Prints the
 * number of files. Errors: no file, reading, those of `found`. */
MUST_CHECK enum status input_folder_read(const char *folder, const char *without,
                                         enum status (*found)(void *context, const char *path,
                                                              const char *within),
                                         void *context);

#endif
