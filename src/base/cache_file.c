#include "base/cache_file.h"

#include "base/monotonic.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *cache_file_path(char path[CACHE_FILE_PATH], const char *name)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int length = 0;
    if (cache && cache[0] == '/')
        length = snprintf(path, CACHE_FILE_PATH, "%s/halo/%s", cache, name);
    else if (home && home[0] == '/')
        length = snprintf(path, CACHE_FILE_PATH, "%s/.cache/halo/%s", home, name);
    return length > 0 && length < CACHE_FILE_PATH ? path : NULL;
}

static bool make_folders(char *path)
{
    char *own = strrchr(path, '/');
    *own = '\0';
    char *cache = strrchr(path, '/');
    *cache = '\0';
    bool there = mkdir(path, 0700) == 0 || errno == EEXIST;
    *cache = '/';
    there = there && (mkdir(path, 0700) == 0 || errno == EEXIST);
    *own = '/';
    return there;
}

bool cache_file_replace(const char *path, bool (*write)(void *context, const char *temporary),
                        void *context)
{
    char folders[CACHE_FILE_PATH], temporary[CACHE_FILE_PATH + 48];
    snprintf(folders, sizeof folders, "%s", path);
    snprintf(temporary, sizeof temporary, "%s.%ld.%llx", path, (long)getpid(),
             (unsigned long long)monotonic_ns());
    bool written =
        make_folders(folders) && write(context, temporary) && rename(temporary, path) == 0;
    int error = errno;
    if (!written)
        unlink(temporary);
    errno = error;
    return written;
}
