/* Files in the user's cache folder: $XDG_CACHE_HOME/halo, else ~/.cache/halo. */
#ifndef HALO_CACHE_FILE_H
#define HALO_CACHE_FILE_H

#include <stdbool.h>

enum { CACHE_FILE_PATH = 4096 };

/* The path of a file; NULL if the user has no such folder. */
const char *cache_file_path(char path[CACHE_FILE_PATH], const char *name);

/* Have `write` write a temporary file and rename it to `path`. Makes the folder and its parent, but
 * no home. False: errno is set, and nothing has changed. */
bool cache_file_replace(const char *path, bool (*write)(void *context, const char *temporary),
                        void *context);

#endif
