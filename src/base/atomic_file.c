#include "base/atomic_file.h"

#include "base/files_read.h"
#include "base/hidden_name.h"
#include "base/stop.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINKS_MOST = 40 };

/* The path with links followed, also if the last target does not exist. */
static char *follow_links(const char *path)
{
    char *at = strdup(path);
    for (int links = 0; at && links < LINKS_MOST; links++) {
        char target[PATH_MAX];
        ssize_t length = readlink(at, target, sizeof target - 1);
        if (length < 0 && (errno == EINVAL || errno == ENOENT)) /* no link, or nothing there */
            return at;
        if (length < 0) {
            int error = errno;
            free(at);
            errno = error;
            return NULL;
        }
        target[length] = '\0';
        char *slash = strrchr(at, '/');
        char *next = NULL;
        if (target[0] == '/' || !slash)
            next = strdup(target);
        else if (asprintf(&next, "%.*s/%s", (int)(slash - at), at, target) < 0)
            next = NULL;
        free(at);
        at = next;
    }
    free(at);
    errno = ELOOP;
    return NULL;
}

static mode_t usual_mode(void)
{
    mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

static enum status refuse(const char *path)
{
    return fail(STATUS_FAILED, "cannot write %s: %s", path, strerror(errno));
}

/* ---- opening ---- */

/* Without a name, but with a path for other programs. They may not look into a process with
 * privileges. */
static bool open_nameless(struct atomic_file *file)
{
    if (prctl(PR_GET_DUMPABLE) != 1)
        return false;
    file->held = hidden_open_folder(file->path, O_RDWR | O_TMPFILE);
    if (file->held < 0)
        return false;
    if (asprintf(&file->temporary, "/proc/%d/fd/%d", (int)getpid(), file->held) < 0)
        file->temporary = NULL;
    file->nameless = file->temporary && access(file->temporary, F_OK) == 0;
    if (file->nameless)
        return true;
    free(file->temporary);
    file->temporary = NULL;
    close(file->held);
    file->held = -1;
    return false;
}

static int create(const char *name, const void *unused)
{
    (void)unused;
    return open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

static bool open_named(struct atomic_file *file)
{
    file->held = hidden_make(file->path, create, NULL, &file->temporary);
    if (file->held < 0)
        return false;
    stop_remove(file->temporary);
    return true;
}

/* A group that cannot be passed on gets no more than others. */
static int pass_on(int fd, const struct stat *old)
{
    mode_t mode = old->st_mode & 0777;
    if (fchown(fd, old->st_uid, old->st_gid) != 0 && fchown(fd, (uid_t)-1, old->st_gid) != 0)
        mode = (mode & ~(mode_t)S_IRWXG) | (mode & S_IRWXO) << 3;
    return fchmod(fd, mode);
}

static enum status open_temporary(struct atomic_file *file, const char *name,
                                  const struct stat *old)
{
    if (!open_nameless(file) && !open_named(file))
        return refuse(name);
    (void)flock(file->held, LOCK_EX | LOCK_NB); /* for hidden_make; not on every file system */
    if ((old ? pass_on(file->held, old) : fchmod(file->held, usual_mode())) != 0)
        return refuse(name);
    file->fd = fcntl(file->held, F_DUPFD_CLOEXEC, 3);
    return file->fd >= 0 ? STATUS_OK : refuse(name);
}

enum status atomic_file_open(struct atomic_file *file, const char *path, bool force)
{
    struct stat about;
    *file = (struct atomic_file){.path = follow_links(path), .force = force, .fd = -1, .held = -1};
    if (!file->path)
        return refuse(path);
    bool exists = stat(file->path, &about) == 0;
    if (!exists && errno != ENOENT)
        return refuse(path);
    if (exists && S_ISDIR(about.st_mode))
        return fail(STATUS_FAILED, "cannot write %s: it is a directory", path);
    if (exists && files_read_hold(&about))
        return fail(STATUS_FAILED, "cannot write %s: %s", path, FILES_READ_ADVICE);
    if (exists && !force)
        return fail(STATUS_FAILED, "%s exists; --force replaces it", path);
    if (exists && access(file->path, W_OK) != 0)
        return refuse(path);
    return open_temporary(file, path, exists ? &about : NULL);
}

/* ---- keeping ---- */

static atomic_bool no_sync;

enum status atomic_file_no_sync(void *options, const struct option_row *row, const char *value)
{
    (void)options, (void)row, (void)value;
    no_sync = true;
    return STATUS_OK;
}

int atomic_file_sync(int fd)
{
    int failed = no_sync ? 0 : fsync(fd);
    while (failed && errno == EINTR)
        failed = fsync(fd);
    return failed && errno != EINVAL ? errno : 0; /* what cannot be synced is as safe as it gets */
}

static int open_to_sync(const char *path)
{
    int fd = hidden_open_folder(path, O_RDONLY | O_DIRECTORY);
    while (fd < 0 && errno == EINTR)
        fd = hidden_open_folder(path, O_RDONLY | O_DIRECTORY);
    return fd;
}

int atomic_file_sync_folder(const char *path)
{
    int fd = no_sync ? -1 : open_to_sync(path);
    if (fd < 0) /* it may be written, but not be read */
        return no_sync || errno == EACCES ? 0 : errno;
    int error = atomic_file_sync(fd);
    close(fd);
    return error;
}

/* Without force, a file created meanwhile is not replaced. 0 or an errno. */
static int rename_into_place(const struct atomic_file *file, const char *hidden)
{
    unsigned flags = file->force ? 0 : RENAME_NOREPLACE;
    int failed = renameat2(AT_FDCWD, hidden, AT_FDCWD, file->path, flags);
    if (failed && errno == EINVAL) { /* a file system without that flag */
        failed = link(hidden, file->path);
        if (!failed)
            unlink(hidden);
    }
    return failed ? errno : 0;
}

static int name_held(const char *name, const void *held)
{
    return linkat(AT_FDCWD, held, AT_FDCWD, name, AT_SYMLINK_FOLLOW);
}

static int name_nameless(const struct atomic_file *file)
{
    char *hidden;
    if (linkat(AT_FDCWD, file->temporary, AT_FDCWD, file->path, AT_SYMLINK_FOLLOW) == 0)
        return 0;
    if (errno != EEXIST || !file->force)
        return errno;
    if (hidden_make(file->path, name_held, file->temporary, &hidden) < 0)
        return errno;
    int error = rename_into_place(file, hidden);
    if (error)
        unlink(hidden);
    free(hidden);
    return error;
}

static void forget_temporary(struct atomic_file *file)
{
    if (!file->nameless)
        stop_leave(file->temporary);
    free(file->temporary);
    file->temporary = NULL;
}

enum status atomic_file_keep(struct atomic_file *file, const char *name)
{
    struct stat about;
    int error = atomic_file_sync(file->held);
    if (!error && stat(file->path, &about) == 0 && files_read_hold(&about))
        error = EBUSY; /* since it was opened */
    if (!error)
        error = file->nameless ? name_nameless(file) : rename_into_place(file, file->temporary);
    if (error)
        return fail(STATUS_FAILED, "cannot write %s: %s; nothing was changed", name,
                    strerror(error));
    forget_temporary(file);
    error = atomic_file_sync_folder(file->path);
    return error ? fail(STATUS_FAILED,
                        "%s is complete, but a power cut may undo that: cannot sync its folder: %s",
                        name, strerror(error))
                 : STATUS_OK;
}

void atomic_file_discard(struct atomic_file *file)
{
    if (file->temporary && !file->nameless)
        unlink(file->temporary);
    if (file->temporary)
        forget_temporary(file);
    if (file->path && file->held >= 0)
        close(file->held);
    free(file->path);
    *file = (struct atomic_file){.fd = -1, .held = -1};
}
