/* A folder as many inputs: its sound files and those of its sub-folders, in the order of their
 * names. Threads: any. */
#ifndef HALO_INPUT_FOLDER_H
#define HALO_INPUT_FOLDER_H

#include "base/options.h"

bool input_folder_is(const char *path);

/* Call `found` with each file, and its path within the folder, whose ending is that of a sound
 * file. Hidden ones are left out, and so is the folder `without`, that of the outputs. Prints how
 * many there are. Errors: none is there, reading, those of `found`. */
MUST_CHECK enum status input_folder_read(const char *folder, const char *without,
                                         enum status (*found)(void *context, const char *path,
                                                              const char *within),
                                         void *context);

#endif
