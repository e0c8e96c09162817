/* The names by which configurations call files, so that copies of the files can be used instead.
 *
 * They are remembered until the program ends, like the files read (files_read.h). Threads: any,
 * except in a real-time step.
 */
#ifndef HALO_FILES_NAMED_H
#define HALO_FILES_NAMED_H

#include <stdbool.h>
#include <stddef.h>

/* Remembers that the file `by` calls the file at `path` by `name`. False: no memory. */
bool files_named_add(const char *by, const char *name, const char *path);

/* Name number `index` in `by`, a path without symbolic links; `index` counts from 0. The texts
 * belong to this module. False: there are no more. */
bool files_named_at(const char *by, size_t index, const char **name, const char **path);

#endif
