/* A file that is complete or absent: written under a hidden name and renamed when done. Symbolic
 * links are followed. */
#ifndef HALO_ATOMIC_FILE_H
#define HALO_ATOMIC_FILE_H

#include "base/status.h"

struct atomic_file {
    char *path;      /* of the final file, links followed */
    char *temporary; /* path until then; NULL once kept or discarded */
    bool force;      /* replace an existing file */
    int fd;          /* for writing; the caller closes it */
};

/* Errors: the file exists (without `force`), is the same as `never` (a path, or NULL) or a
 * directory; permissions. On failure it may be discarded. */
MUST_CHECK enum status atomic_file_open(struct atomic_file *file, const char *path, bool force,
                                        const char *never);

/* Whether the open `fd` is the regular file `path` ("-": standard input). */
bool atomic_file_same(int fd, const char *path);

/* Rename it into place. Returns 0 or an errno. */
MUST_CHECK int atomic_file_keep(struct atomic_file *file);

/* Remove it unless it was kept, and free. Does not close fd. */
void atomic_file_discard(struct atomic_file *file);

#endif
