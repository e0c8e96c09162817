#include "base/atomic_file.h"

#include "base/stop.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
        if (length < 0)
            return at;
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

static bool same_file(const struct stat *one, const char *other)
{
    struct stat about;
    int found = strcmp(other, "-") == 0 ? fstat(STDIN_FILENO, &about) : stat(other, &about);
    return found == 0 && about.st_dev == one->st_dev && about.st_ino == one->st_ino;
}

bool atomic_file_same(int fd, const char *path)
{
    struct stat about;
    return fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && same_file(&about, path);
}

static enum status refuse(const char *path)
{
    return fail(STATUS_FAILED, "cannot write %s: %s", path, strerror(errno));
}

static enum status open_temporary(struct atomic_file *file, const char *name, mode_t mode)
{
    const char *slash = strrchr(file->path, '/');
    int folder = slash ? (int)(slash - file->path) + 1 : 0;
    if (asprintf(&file->temporary, "%.*s.%.200s.XXXXXX", folder, file->path, file->path + folder) <
        0) {
        file->temporary = NULL;
        return fail_memory("writing");
    }
    file->fd = mkostemp(file->temporary, O_CLOEXEC);
    if (file->fd < 0) {
        free(file->temporary);
        file->temporary = NULL;
        return refuse(name);
    }
    stop_remove(file->temporary);
    return fchmod(file->fd, mode) == 0 ? STATUS_OK : refuse(name);
}

enum status atomic_file_open(struct atomic_file *file, const char *path, bool force,
                             const char *never)
{
    struct stat about;
    *file = (struct atomic_file){.path = follow_links(path), .force = force, .fd = -1};
    if (!file->path)
        return refuse(path);
    bool exists = stat(file->path, &about) == 0;
    if (exists && S_ISDIR(about.st_mode))
        return fail(STATUS_FAILED, "cannot write %s: it is a directory", path);
    if (exists && never && same_file(&about, never))
        return fail(STATUS_FAILED, "cannot write %s: it is the input; choose another name", path);
    if (exists && !force)
        return fail(STATUS_FAILED, "%s exists; --force replaces it", path);
    if (exists && access(file->path, W_OK) != 0)
        return refuse(path);
    return open_temporary(file, path, exists ? about.st_mode & 07777 : usual_mode());
}

int atomic_file_keep(struct atomic_file *file)
{
    /* Without force, a file created meanwhile is not replaced. */
    unsigned flags = file->force ? 0 : RENAME_NOREPLACE;
    int failed = renameat2(AT_FDCWD, file->temporary, AT_FDCWD, file->path, flags);
    if (failed && errno == EINVAL) { /* a file system without that flag */
        failed = link(file->temporary, file->path);
        if (!failed)
            unlink(file->temporary);
    }
    if (failed)
        return errno;
    stop_leave(file->temporary);
    free(file->temporary);
    file->temporary = NULL;
    return 0;
}

void atomic_file_discard(struct atomic_file *file)
{
    if (file->temporary) {
        unlink(file->temporary);
        stop_leave(file->temporary);
    }
    free(file->temporary);
    free(file->path);
    *file = (struct atomic_file){.fd = -1};
}
