/* What configurations call the files that they name, so that copies of these can take their place.
 *
 * Remembered until the program ends, like the files read (files_read.h). Threads: any, but no
 * real-time step.
 */
#ifndef HALO_FILES_NAMED_H
#define HALO_FILES_NAMED_H

#include <stdbool.h>
#include <stddef.h>

/* `by`, a file, calls the file at `path` `name`. False: no memory. */
bool files_named_add(const char *by, const char *name, const char *path);

/* What `by`, a path without links, names: `index` counts from 0. The texts are owned here. False:
 * no more. */
bool files_named_at(const char *by, size_t index, const char **name, const char **path);

#endif
