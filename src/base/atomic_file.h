/* A file that is complete or absent, also after a power cut: written without a name, or under a
 * hidden one where the file system needs one, and named when it is complete and on the disk.
 * Symbolic links are followed. A file that is replaced passes on its permissions, and its owner and
 * group as far as the user may set them, but no set-user-ID or set-group-ID. */
#ifndef HALO_ATOMIC_FILE_H
#define HALO_ATOMIC_FILE_H

#include "base/options.h"

struct atomic_file {
    char *path;      /* of the final file, links followed */
    char *temporary; /* path by which it can be opened until then; NULL once kept or discarded */
    bool force;      /* replace an existing file */
    bool nameless;   /* `temporary` leads through /proc */
    int fd;          /* for writing; the caller closes it */
    int held;        /* the same, ours */
};

/* Errors: the file exists (without `force`), is one that this command reads (files_read.h) or a
 * directory; permissions. On failure it may be discarded. */
MUST_CHECK enum status atomic_file_open(struct atomic_file *file, const char *path, bool force);

/* Wait until it is on the disk, and name it; it may be written further by its fd. `name` is the
 * user's. Errors: the old file has stayed, unless it was the folder that could not be synced. */
MUST_CHECK enum status atomic_file_keep(struct atomic_file *file, const char *name);

/* Wait until what was written to `fd` is on the disk, or the folder of `path`. Return 0 or an
 * errno. */
MUST_CHECK int atomic_file_sync(int fd);
MUST_CHECK int atomic_file_sync_folder(const char *path);

/* Remove it unless it was kept, and free. Does not close fd. */
void atomic_file_discard(struct atomic_file *file);

/* The option --no-sync, for any command that writes files: keep without waiting for the disk. It
 * holds for the process. */
MUST_CHECK enum status atomic_file_no_sync(void *options, const struct option_row *row,
                                           const char *value);
#define OPT_NO_SYNC                                                                                \
    OPT_PARSE("no-sync", NULL, atomic_file_no_sync,                                                \
              "do not wait until files are on the disk: faster, but a\n"                           \
              "power cut may leave them damaged")

#endif
