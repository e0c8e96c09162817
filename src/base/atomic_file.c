#include "base/atomic_file.h"

#include "base/files_read.h"
#include "base/hidden_name.h"
#include "base/stop.h"
#include "base/suggest.h"
#include "base/text_stream.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
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

/* The path without symbolic links. The last target need not exist. */
static char *follow_links(const char *path)
{
    char *at = strdup(path);
    for (int links = 0; at && links < LINKS_MOST; links++) {
        char target[PATH_MAX];
        ssize_t length = readlink(at, target, sizeof target - 1);
        if (length < 0 && (errno == EINVAL || errno == ENOENT)) /* no link, or no such file */
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

/* The stat of the folder that has a path. */
static bool stat_folder(const char *path, struct stat *about)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    bool is_there = folder && stat(folder, about) == 0;
    free(folder);
    return is_there;
}

static bool is_inode(const struct stat *one, const struct stat *other)
{
    return one->st_dev == other->st_dev && one->st_ino == other->st_ino;
}

static bool is_entry(const char *a, const char *b)
{
    struct stat one, other;
    const char *name = strrchr(a, '/'), *other_name = strrchr(b, '/');
    return strcmp(name ? name + 1 : a, other_name ? other_name + 1 : b) == 0 &&
           stat_folder(a, &one) && stat_folder(b, &other) && is_inode(&one, &other);
}

bool atomic_file_is_same(const char *a, const char *b)
{
    struct stat one, other;
    bool has_one = stat(a, &one) == 0, has_other = stat(b, &other) == 0;
    if (has_one || has_other)
        return has_one && has_other && S_ISREG(one.st_mode) && is_inode(&one, &other);
    char *at = follow_links(a), *other_at = follow_links(b);
    bool same = at && other_at && is_entry(at, other_at);
    free(at);
    free(other_at);
    return same;
}

static mode_t usual_mask;

static void read_usual_mask(void)
{
    usual_mask = umask(0);
    umask(usual_mask);
}

/* The process's usual permissions. Read once: while the umask is read, other threads have none. */
static mode_t usual_mode(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_usual_mask);
    return 0666 & ~usual_mask;
}

static enum status refuse(const char *path)
{
    int error = errno;
    char near[SUGGEST_TEXT];
    return fail(cause_of_errno(error), "cannot write %s: %s%s", path, strerror(error),
                error == ENOENT ? suggest_folder(near, path) : "");
}

/* ---- opening ---- */

/* Opens a file without a name, with a path for other programs. Other programs may not look into a
 * process with privileges. */
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

static int create_again(const char *name, const void *unused)
{
    (void)unused;
    return open(name, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
}

static bool open_named(struct atomic_file *file)
{
    file->held = file->record ? hidden_make_marked(file->path, file->record->mark, create_again,
                                                   NULL, &file->temporary)
                              : hidden_make(file->path, create, NULL, &file->temporary);
    if (file->held < 0)
        return false;
    stop_remove(file->temporary);
    return true;
}

/* Gives the file the old one's owner, group and permissions. If its group cannot be set, the file's
 * group gets the permissions of others. */
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
    /* locked for hidden_make; not every file system has locks */
    (void)flock(file->held, LOCK_EX | LOCK_NB);
    if ((old ? pass_on(file->held, old) : fchmod(file->held, usual_mode())) != 0)
        return refuse(name);
    file->fd = fcntl(file->held, F_DUPFD_CLOEXEC, 3);
    return file->fd >= 0 ? STATUS_OK : refuse(name);
}

enum status atomic_file_open(struct atomic_file *file, const char *path, bool force)
{
    return atomic_file_open_recorded(file, path, force, NULL);
}

enum status atomic_file_open_recorded(struct atomic_file *file, const char *path, bool force,
                                      const struct output_record *record)
{
    struct stat about;
    *file = (struct atomic_file){
        .path = follow_links(path), .record = record, .force = force, .fd = -1, .held = -1};
    if (!file->path)
        return refuse(path);
    bool exists = stat(file->path, &about) == 0;
    if (!exists && errno != ENOENT)
        return refuse(path);
    if (exists && S_ISDIR(about.st_mode))
        return fail(CAUSE_UNSUPPORTED, "cannot write %s: it is a directory", path);
    if (exists && !S_ISREG(about.st_mode)) /* a replaced device would be lost to all programs */
        return fail(CAUSE_UNSUPPORTED, "cannot write %s: it is not a regular file", path);
    if (exists && files_read_hold(&about))
        return fail(CAUSE_EXISTS, "cannot write %s: %s", path, FILES_READ_ADVICE);
    if (exists && !force)
        return fail(CAUSE_EXISTS, "%s exists; --force replaces it", path);
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
    /* EINVAL: the file system cannot sync, and the data is as safe as it gets */
    return failed && errno != EINVAL ? errno : 0;
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
    if (fd < 0) /* the folder may be writable but not readable */
        return no_sync || errno == EACCES ? 0 : errno;
    int error = atomic_file_sync(fd);
    close(fd);
    return error;
}

/* Names the file. Without `force`, a file created meanwhile stays. Returns 0 or an errno. */
static int rename_into_place(const struct atomic_file *file, const char *hidden)
{
    unsigned flags = file->force ? 0 : RENAME_NOREPLACE;
    int failed = renameat2(AT_FDCWD, hidden, AT_FDCWD, file->path, flags);
    if (failed && errno == EINVAL) { /* the file system does not have the flag */
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

static int link_again(const char *name, const void *held)
{
    unlink(name);
    return name_held(name, held);
}

static int name_nameless(const struct atomic_file *file)
{
    char *hidden;
    if (linkat(AT_FDCWD, file->temporary, AT_FDCWD, file->path, AT_SYMLINK_FOLLOW) == 0)
        return 0;
    if (errno != EEXIST || !file->force)
        return errno;
    int made = file->record ? hidden_make_marked(file->path, file->record->mark, link_again,
                                                 file->temporary, &hidden)
                            : hidden_make(file->path, name_held, file->temporary, &hidden);
    if (made < 0)
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
        /* the command began to read it after atomic_file_open */
        return fail(CAUSE_EXISTS, "cannot write %s: " FILES_READ_ADVICE, name);
    if (!error && file->record && fstat(file->held, &about) != 0)
        error = errno;
    if (!error && file->record)
        TRY(file->record->keep(file->record->context, &about));
    if (!error)
        error = file->nameless ? name_nameless(file) : rename_into_place(file, file->temporary);
    if (error)
        return fail(cause_of_errno(error), "cannot write %s: %s; nothing was changed", name,
                    strerror(error));
    forget_temporary(file);
    error = file->record ? 0 : atomic_file_sync_folder(file->path);
    return error
               ? fail_errno(error,
                            "%s is complete, but a power cut may undo that: cannot sync its folder",
                            name)
               : STATUS_OK;
}

enum status atomic_file_check(const char *path, bool force)
{
    struct atomic_file file;
    enum status status = atomic_file_open(&file, path, force);
    if (status == STATUS_OK)
        close(file.fd);
    atomic_file_discard(&file);
    return status;
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

enum status atomic_text_open(struct atomic_file *file, const char *path, bool force, FILE **stream)
{
    enum status status = atomic_file_open(file, path, force);
    *stream = status == STATUS_OK ? fdopen(file->fd, "w") : NULL;
    if (status == STATUS_OK && !*stream) {
        status = fail_errno(errno, "cannot write %s", path);
        close(file->fd);
    }
    if (status != STATUS_OK)
        atomic_file_discard(file);
    return status;
}

enum status atomic_text_close(struct atomic_file *file, const char *path, FILE *stream,
                              enum status status)
{
    int error = text_stream_finish(stream);
    if (status == STATUS_OK)
        status = error ? fail_errno(error, "cannot write %s", path) : atomic_file_keep(file, path);
    atomic_file_discard(file);
    return status;
}
