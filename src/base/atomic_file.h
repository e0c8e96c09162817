/* A file that is there whole or not at all: written beside itself under a hidden
 * name, renamed when it is done. Symbolic links are followed. */
#ifndef HALO_ATOMIC_FILE_H
#define HALO_ATOMIC_FILE_H

#include "base/status.h"

struct atomic_file {
    char *path;      /* where it will be, links followed */
    char *temporary; /* where it is until then; NULL once kept or given up */
    bool force;      /* replace a file that stands there */
    int fd;          /* for writing; the caller's to close */
};

/* Errors: a file stands there (without `force`), or is `never` (a path, or NULL),
 * a directory, permissions. On failure the file is empty and may be discarded. */
MUST_CHECK enum status atomic_file_open(struct atomic_file *file, const char *path, bool force,
                                     const char *never);

/* Is the open `fd` the regular file `path` ("-": standard input)? */
bool atomic_file_same(int fd, const char *path);

/* Make it last. 0, or the errno of what failed. */
MUST_CHECK int atomic_file_keep(struct atomic_file *file);

/* Remove it unless it was kept; frees in any case. Does not close fd. */
void atomic_file_discard(struct atomic_file *file);

#endif
