/* A stage's words with their paths moved from one folder to another.
 *
 * Paths are: a mask's file (`hall.wav`, `invert:hall.wav`) and folder=, a
 * spectral stage's mask, a LADSPA library with a slash, @state=, and the value of param: where such
 * a file is. What stands within combine: stays.
 */
#ifndef HALO_CHAIN_PATHS_H
#define HALO_CHAIN_PATHS_H

#include "chain/specs.h"

#include <limits.h>

/* What was said from the working folder, as it is to be said from `folder`; to be freed. NULL:
 * memory. */
char *chain_paths_for_folder(const struct stage_kind *kind, const char *word, size_t index,
                             const char *folder);

/* What was said from `folder`, as it is to be said from here. */
char *chain_paths_from_folder(const struct stage_kind *kind, const char *word, size_t index,
                              const char *folder);

/* The folder that a file lies in. Errors: a name too long. */
MUST_CHECK enum status chain_folder_of(const char *path, char folder[static PATH_MAX]);

#endif
