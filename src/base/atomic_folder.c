#include "base/atomic_folder.h"

#include "base/atomic_file.h"
#include "base/hidden_name.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum status atomic_folder_open(struct atomic_folder *folder, const char *path)
{
    *folder = (struct atomic_folder){.path = strdup(path), .held = -1};
    return folder->path ? STATUS_OK : fail_memory("a folder");
}

static int make(const char *name, const void *unused)
{
    (void)unused;
    return mkdir(name, 0777);
}

enum status atomic_folder_make(struct atomic_folder *folder)
{
    if (hidden_make(folder->path, make, NULL, &folder->hidden) < 0)
        return fail_errno(errno, "cannot write %s", folder->path);
    folder->held = open(folder->hidden, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder->held >= 0)
        (void)flock(folder->held, LOCK_EX | LOCK_NB);
    return STATUS_OK;
}

/* ---- keeping ---- */

static int sync_one(const char *path, const struct stat *stats, int kind, struct FTW *where)
{
    (void)stats, (void)where;
    if (kind != FTW_F && kind != FTW_DP)
        return kind == FTW_SL ? 0 : EIO;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno;
    int error = atomic_file_sync(fd);
    close(fd);
    return error;
}

static int sync_all(const char *folder)
{
    int error = nftw(folder, sync_one, 8, FTW_DEPTH | FTW_PHYS);
    return error < 0 ? errno : error;
}

static int retire(const char *hidden, const void *path)
{
    return renameat2(AT_FDCWD, path, AT_FDCWD, hidden, RENAME_NOREPLACE);
}

/* Replaces the old folder by two renames, for file systems that cannot exchange names. After a
 * power cut between them, the old one is hidden. */
static int replace(struct atomic_folder *folder)
{
    char *old;
    if (hidden_make(folder->path, retire, folder->path, &old) < 0)
        return errno;
    if (folder->hidden && rename(folder->hidden, folder->path) != 0) {
        int error = errno;
        (void)rename(old, folder->path);
        free(old);
        return error;
    }
    free(folder->hidden);
    folder->hidden = old;
    return 0;
}

static int put_in_place(struct atomic_folder *folder)
{
    struct stat about;
    folder->replaced = lstat(folder->path, &about) == 0;
    if (!folder->replaced && errno != ENOENT)
        return errno;
    if (!folder->replaced)
        return folder->hidden && rename(folder->hidden, folder->path) != 0 ? errno : 0;
    if (!folder->hidden)
        return replace(folder);
    if (renameat2(AT_FDCWD, folder->hidden, AT_FDCWD, folder->path, RENAME_EXCHANGE) == 0)
        return 0;
    return errno == EINVAL || errno == ENOSYS ? replace(folder) : errno;
}

int atomic_folder_keep(struct atomic_folder *folder)
{
    int error = folder->hidden ? sync_all(folder->hidden) : 0;
    if (!error)
        error = put_in_place(folder);
    if (error)
        return error;
    folder->kept = true;
    error = atomic_file_sync_folder(folder->path);
    if (error)
        atomic_folder_undo(folder);
    return error;
}

void atomic_folder_undo(struct atomic_folder *folder)
{
    if (!folder->kept)
        return;
    folder->kept = false;
    if (!folder->replaced)
        (void)(folder->hidden && rename(folder->path, folder->hidden));
    else if (renameat2(AT_FDCWD, folder->hidden, AT_FDCWD, folder->path, RENAME_EXCHANGE) != 0 &&
             rename(folder->hidden, folder->path) == 0) {
        free(folder->hidden); /* there was no new folder */
        folder->hidden = NULL;
    }
}

void atomic_folder_close(struct atomic_folder *folder)
{
    if (folder->hidden && (!folder->kept || folder->replaced))
        (void)hidden_remove_folder(folder->hidden);
    if (folder->held >= 0)
        close(folder->held);
    free(folder->hidden);
    free(folder->path);
}
