/* A file that is complete or absent, also after a power cut: written without a name, or under a
 * hidden one where the file system needs one, and named when it is complete and on the disk.
 * Symbolic links are followed. A file that is replaced passes on its permissions, and its owner and
 * group as far as the user may set them, but no set-user-ID or set-group-ID. */
#ifndef HALO_ATOMIC_FILE_H
#define HALO_ATOMIC_FILE_H

#include "base/options.h"

#include <sys/stat.h>

/* What keeps a record of outputs, such as a journal. */
struct output_record {
    const char
        *mark; /* ends its hidden name, .NAME.halo-MARK, if it has one: the caller has seen to
                  it that nobody else writes one of that mark, and what is there is replaced */
    /* The file is on the disk and gets its name next; `about` stays true of it. */
    enum status (*keep)(void *context, const struct stat *about);
    void *context;
};

struct atomic_file {
    char *path;      /* of the final file, links followed */
    char *temporary; /* path by which it can be opened until then; NULL once kept or discarded */
    const struct output_record *record; /* or NULL */
    bool force;                         /* replace an existing file */
    bool nameless;                      /* `temporary` leads through /proc */
    int fd;                             /* for writing; the caller closes it */
    int held;                           /* the same, ours */
};

/* Whether two outputs would be one file: the same one, or the same name in one folder. */
bool atomic_file_is_same(const char *a, const char *b);

/* Errors: the file exists (without `force`), is one that this command reads (files_read.h), a
 * directory, a device or a pipe; permissions. On failure it may be discarded. */
MUST_CHECK enum status atomic_file_open(struct atomic_file *file, const char *path, bool force);

/* The same with a record, or NULL, that outlives the file. Its folder is not synced then: whoever
 * finds it in the record, but not in the folder, makes it again. */
MUST_CHECK enum status atomic_file_open_recorded(struct atomic_file *file, const char *path,
                                                 bool force, const struct output_record *record);

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
