/* A file that is complete or absent, even after a power cut. It is written without a name, or under
 * a hidden one if the file system requires a name. It gets its name when it is complete and on the
 * disk. Symbolic links are followed. A file that replaces another one gets its permissions, and its
 * owner and group as far as the user may set them, but no set-user-ID or set-group-ID. */
#ifndef HALO_ATOMIC_FILE_H
#define HALO_ATOMIC_FILE_H

#include "base/options.h"

#include <stdio.h>
#include <sys/stat.h>

/* A record of outputs that the caller keeps, such as a journal. */
struct output_record {
    const char
        /* End of the hidden name, .NAME.halo-MARK, if there is one. The caller makes sure that
         * nobody else uses the mark. An existing file of that name is replaced. */
        *mark;
    /* Called when the file is on the disk, before it gets its name. `about` stays true of it. */
    enum status (*keep)(void *context, const struct stat *about);
    void *context;
};

struct atomic_file {
    char *path;      /* path of the final file, without symbolic links */
    char *temporary; /* path of the file until then; NULL once it was kept or discarded */
    const struct output_record *record; /* NULL: none */
    bool force;                         /* replace an existing file */
    bool nameless;                      /* `temporary` leads through /proc */
    int fd;                             /* for writing; the caller closes it */
    int held;                           /* the same file, closed by this module */
};

/* Whether two outputs would be one file: an existing file, or a name in the same folder. */
bool atomic_file_is_same(const char *a, const char *b);

/* Opens a file for writing. Discard it, even after a failure. Errors: the file exists (without
 * `force`), is read by this command (files_read.h) or is not a regular file; permissions. */
MUST_CHECK enum status atomic_file_open(struct atomic_file *file, const char *path, bool force);

/* Fails as atomic_file_open would. Leaves no file. */
MUST_CHECK enum status atomic_file_check(const char *path, bool force);

/* As atomic_file_open, with a record (or NULL) that outlives the file. With a record the folder is
 * not synced. A file that is in the record but not in the folder must be written again. */
MUST_CHECK enum status atomic_file_open_recorded(struct atomic_file *file, const char *path,
                                                 bool force, const struct output_record *record);

/* Waits until the file is on the disk, and names it (`name` in messages). Its fd stays writable.
 * Errors: the old file is unchanged, unless only syncing the folder failed. */
MUST_CHECK enum status atomic_file_keep(struct atomic_file *file, const char *name);

/* Wait until the data of `fd`, or the folder of `path`, is on the disk. Return 0 or an errno. */
MUST_CHECK int atomic_file_sync(int fd);
MUST_CHECK int atomic_file_sync_folder(const char *path);

/* Removes the file unless it was kept, and frees `file`. Does not close fd. */
void atomic_file_discard(struct atomic_file *file);

/* A text file. atomic_text_close closes its stream, and keeps the file unless `status` or a write
 * failed. Errors: those of atomic_file_open and atomic_file_keep; writing. */
MUST_CHECK enum status atomic_text_open(struct atomic_file *file, const char *path, bool force,
                                        FILE **stream);
MUST_CHECK enum status atomic_text_close(struct atomic_file *file, const char *path, FILE *stream,
                                         enum status status);

/* The option --no-sync: the whole process keeps files without waiting for the disk. */
MUST_CHECK enum status atomic_file_no_sync(void *options, const struct option_row *row,
                                           const char *value);
#define OPT_NO_SYNC                                                                                \
    OPT_PARSE("no-sync", NULL, atomic_file_no_sync,                                                \
              "do not wait until files are on the disk: faster, but a\n"                           \
              "power cut may leave them damaged")

#endif
