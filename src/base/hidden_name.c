#include "base/hidden_name.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define HIDDEN_MARK ".halo-"

static int folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (int)(slash - path) + 1 : 0;
}

int hidden_open_folder(const char *path, int flags)
{
    char *folder;
    int length = folder_length(path);
    if (asprintf(&folder, "%.*s", length ? length : 1, length ? path : ".") < 0) {
        errno = ENOMEM;
        return -1;
    }
    int fd = open(folder, flags | O_CLOEXEC, 0600);
    int error = errno;
    free(folder);
    errno = error;
    return fd;
}

static int remove_one(const char *path, const struct stat *stats, int kind, struct FTW *where)
{
    (void)stats, (void)kind, (void)where;
    return remove(path);
}

int hidden_remove_folder(const char *folder)
{
    return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* ---- what killed processes left ---- */

/* The process that a hidden name was made by; 0: it is another name. */
static pid_t maker_of(const char *name)
{
    const char *mark = NULL;
    for (const char *at = name; (at = strstr(at, HIDDEN_MARK)); at++)
        mark = at;
    int end = 0, process = 0;
    unsigned number;
    if (name[0] != '.' || !mark ||
        sscanf(mark, HIDDEN_MARK "%9d-%9u%n", &process, &number, &end) != 2 || mark[end] != '\0')
        return 0;
    return process > 0 ? process : 0;
}

static void remove_leftover(const char *path)
{
    int how = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, fd = open(path, O_RDWR | how);
    struct stat about;
    if (fd < 0 && errno == EISDIR)
        fd = open(path, O_RDONLY | O_DIRECTORY | how);
    bool known = fd >= 0 && fstat(fd, &about) == 0;
    if (known && flock(fd, LOCK_EX | LOCK_NB) == 0) {
        if (S_ISREG(about.st_mode))
            unlink(path);
        else if (S_ISDIR(about.st_mode))
            hidden_remove_folder(path);
    }
    if (fd >= 0)
        close(fd);
}

static void sweep(const char *path)
{
    int fd = hidden_open_folder(path, O_RDONLY | O_DIRECTORY);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    for (const struct dirent *entry; folder && (entry = readdir(folder));) {
        char *leftover;
        pid_t maker = maker_of(entry->d_name);
        if (!maker || kill(maker, 0) == 0 || errno != ESRCH ||
            asprintf(&leftover, "%.*s%s", folder_length(path), path, entry->d_name) < 0)
            continue;
        remove_leftover(leftover);
        free(leftover);
    }
    if (folder)
        closedir(folder);
    else if (fd >= 0)
        close(fd);
}

/* ---- new names ---- */

int hidden_make(const char *path, int (*make)(const char *name, const void *context),
                const void *context, char **name)
{
    static atomic_uint number;
    int folder = folder_length(path);
    sweep(path);
    for (;;) {
        if (asprintf(name, "%.*s.%.200s" HIDDEN_MARK "%d-%u", folder, path, path + folder,
                     (int)getpid(), atomic_fetch_add(&number, 1)) < 0) {
            *name = NULL;
            errno = ENOMEM;
            return -1;
        }
        int made = make(*name, context);
        if (made >= 0)
            return made;
        int error = errno;
        free(*name);
        *name = NULL;
        errno = error;
        if (error != EEXIST)
            return -1;
    }
}
