/* A file that is there whole or not at all: written beside itself under a hidden
 * name, renamed when it is done. Symbolic links are followed. */
#ifndef HALO_NEW_FILE_H
#define HALO_NEW_FILE_H

#include "base/status.h"

struct new_file {
    char *path;      /* where it will be, links followed */
    char *temporary; /* where it is until then; NULL once kept or given up */
    bool force;      /* replace a file that stands there */
    int fd;          /* for writing; the caller's to close */
};

/* Errors: a file stands there (without `force`), or is `never` (a path, or NULL),
 * a directory, permissions. On failure the file is empty and may be discarded. */
MUST_CHECK enum status new_file_open(struct new_file *file, const char *path, bool force,
                                     const char *never);

/* Is the open `fd` the regular file `path` ("-": standard input)? */
bool new_file_same(int fd, const char *path);

/* Make it last. 0, or the errno of what failed. */
MUST_CHECK int new_file_keep(struct new_file *file);

/* Remove it unless it was kept; frees in any case. Does not close fd. */
void new_file_discard(struct new_file *file);

#endif
