#include "base/hidden_name.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define HIDDEN_MARK ".halo-"

enum { HIDDEN_MARK_DIGITS = 32 }; /* hexadecimal digits of MARK in .NAME.halo-MARK */

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

/* ---- folders ---- */

/* Opens one of halo's folders to empty it, whatever its permissions. -1: failed, errno is set. */
static int open_own(int at, const char *name)
{
    char entry[64];
    struct stat about;
    int place = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), folder = -1;
    if (place < 0)
        return -1;
    snprintf(entry, sizeof entry, "/proc/self/fd/%d", place);
    if (fstat(place, &about) == 0 &&
        ((about.st_mode & S_IRWXU) == S_IRWXU || chmod(entry, S_IRWXU) == 0))
        folder = openat(place, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int error = errno;
    close(place);
    errno = error;
    return folder;
}

static DIR *list_own(int at, const char *name)
{
    int folder = open_own(at, name);
    DIR *listing = folder < 0 ? NULL : fdopendir(folder);
    if (!listing && folder >= 0)
        close(folder);
    return listing;
}

static bool is_entry(const struct dirent *entry)
{
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

/* Moves a folder to a new name in `root`. */
static int move_up(int root, int at, const char *name, unsigned *number)
{
    char here[32];
    int folder = open_own(at, name), moved = -1;
    if (folder < 0)
        return -1;
    close(folder);
    do
        snprintf(here, sizeof here, "%u", (*number)++);
    while ((moved = renameat2(at, name, root, here, RENAME_NOREPLACE)) != 0 && errno == EEXIST);
    return moved;
}

/* Removes a folder in `root`. Folders in it are first moved to `root`. */
static int remove_level(int root, const char *name, unsigned *number)
{
    DIR *listing = list_own(root, name);
    int failed = listing ? 0 : -1;
    for (const struct dirent *entry; !failed && (entry = readdir(listing));)
        if (is_entry(entry) && unlinkat(dirfd(listing), entry->d_name, 0) != 0)
            failed = errno == EISDIR ? move_up(root, dirfd(listing), entry->d_name, number) : -1;
    int error = errno;
    if (listing)
        closedir(listing);
    errno = error;
    return failed ? failed : unlinkat(root, name, AT_REMOVEDIR);
}

/* Works level by level, so that paths stay short and few folders are open. */
int hidden_remove_folder(const char *folder)
{
    DIR *listing = list_own(AT_FDCWD, folder);
    unsigned number = 0;
    int failed = listing ? 0 : -1;
    for (bool again = true; again && !failed; rewinddir(listing)) {
        again = false;
        for (const struct dirent *entry; !failed && (entry = readdir(listing));) {
            if (!is_entry(entry) || unlinkat(dirfd(listing), entry->d_name, 0) == 0)
                continue;
            again = true;
            failed = errno == EISDIR ? remove_level(dirfd(listing), entry->d_name, &number) : -1;
        }
    }
    int error = errno;
    if (listing)
        closedir(listing);
    errno = error;
    return failed ? failed : rmdir(folder);
}

/* ---- remains of killed processes ---- */

/* The process that made a hidden name. 0: it is another kind of name. */
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

int hidden_make_marked(const char *path, const char *mark,
                       int (*make)(const char *name, const void *context), const void *context,
                       char **name)
{
    int folder = folder_length(path), made = -1;
    errno = ENOMEM;
    if (asprintf(name, "%.*s.%.200s" HIDDEN_MARK "%s", folder, path, path + folder, mark) >= 0)
        made = make(*name, context);
    else
        *name = NULL;
    if (made >= 0)
        return made;
    int error = errno;
    free(*name);
    *name = NULL;
    errno = error;
    return -1;
}

int hidden_make(const char *path, int (*make)(const char *name, const void *context),
                const void *context, char **name)
{
    static atomic_uint number;
    char mark[32];
    int made;
    sweep(path);
    do {
        snprintf(mark, sizeof mark, "%d-%u", (int)getpid(), atomic_fetch_add(&number, 1));
        made = hidden_make_marked(path, mark, make, context, name);
    } while (made < 0 && errno == EEXIST);
    return made;
}

/* The mark of a hidden name. NULL: it has none. */
static const char *mark_of(const char *name)
{
    const char *mark = NULL;
    for (const char *at = name; (at = strstr(at, HIDDEN_MARK)); at++)
        mark = at + strlen(HIDDEN_MARK);
    bool is_one = name[0] == '.' && mark && strlen(mark) == HIDDEN_MARK_DIGITS &&
                  strspn(mark, "0123456789abcdef") == HIDDEN_MARK_DIGITS;
    return is_one ? mark : NULL;
}

size_t hidden_sweep_marked(const char *folder, bool (*is_left)(void *context, const char *mark),
                           void *context)
{
    size_t removed = 0;
    DIR *listing = opendir(folder);
    for (const struct dirent *entry; listing && (entry = readdir(listing));) {
        const char *mark = mark_of(entry->d_name);
        if (mark && is_left(context, mark))
            removed += unlinkat(dirfd(listing), entry->d_name, 0) == 0;
    }
    if (listing)
        closedir(listing);
    return removed;
}
