/* Files that halo keeps for itself in the user's cache folder: $XDG_CACHE_HOME/halo, else
 * ~/.cache/halo. */
#ifndef HALO_CACHE_FILE_H
#define HALO_CACHE_FILE_H

#include <stdbool.h>

enum { CACHE_FILE_PATH = 4096 };

/* Where one is or would be; NULL where the user has no place for it. */
const char *cache_file_path(char path[CACHE_FILE_PATH], const char *name);

/* Have it written under another name, then put in the place of what is there: whole or not at
 * all. Its folder is made, and the one around that, but no home for them. False: errno says why,
 * and nothing has changed. */
bool cache_file_replace(const char *path, bool (*write)(void *context, const char *temporary),
                        void *context);

#endif
