#include "base/files_read.h"

#include "base/plain_text.h"
#include "base/suggest.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOT_REGULAR "it is not a regular file; save it to one"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char **paths;    /* lock */
static size_t count;    /* lock */
static size_t capacity; /* lock */

static bool is_known(const char *path)
{
    size_t i = 0;
    while (i < count && strcmp(paths[i], path) != 0)
        i++;
    return i < count;
}

static bool add(const char *path)
{
    if (is_known(path))
        return true;
    if (count == capacity) {
        size_t more = capacity ? 2 * capacity : 16;
        char **larger = realloc(paths, more * sizeof *larger);
        if (!larger)
            return false;
        paths = larger;
        capacity = more;
    }
    paths[count] = strdup(path);
    return paths[count] && ++count;
}

bool files_read_add(const char *path)
{
    pthread_mutex_lock(&lock);
    bool added = add(path);
    pthread_mutex_unlock(&lock);
    return added;
}

void files_read_forget(const char *path)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(paths[i], path) != 0)
            continue;
        free(paths[i]);
        paths[i] = paths[--count];
        break;
    }
    pthread_mutex_unlock(&lock);
}

static int add_one(const char *path, const struct stat *about, int kind, struct FTW *where)
{
    (void)about, (void)where;
    return (kind == FTW_F || kind == FTW_SL) && !add(path);
}

bool files_read_add_below(const char *folder)
{
    enum { FOLDERS_OPEN = 8 };
    char top[PATH_MAX];
    if (!realpath(folder, top))
        return true; /* what cannot be read is not */
    pthread_mutex_lock(&lock);
    bool added = nftw(top, add_one, FOLDERS_OPEN, FTW_PHYS) != 1;
    pthread_mutex_unlock(&lock);
    return added;
}

/* Why there is no file, and which there are. */
static const char *describe_missing(const char *path)
{
    static _Thread_local char flaw[SUGGEST_TEXT + 64];
    char near[SUGGEST_TEXT];
    snprintf(flaw, sizeof flaw, "%s%s", strerror(ENOENT), suggest_file(near, path));
    return flaw;
}

const char *files_read_open(const char *path, FILE **stream)
{
    struct stat about;
    *stream = NULL;
    if (!files_read_add(path))
        return strerror(ENOMEM);
    /* Without O_NONBLOCK, opening a FIFO waits for a writer. A regular file does not care. */
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return describe_missing(path);
    bool refused = fd < 0 && errno != ENXIO; /* ENXIO: a socket */
    const char *flaw = refused || (fd >= 0 && fstat(fd, &about) != 0) ? strerror(errno)
                       : fd >= 0 && S_ISDIR(about.st_mode)            ? "it is a directory"
                       : fd < 0 || !S_ISREG(about.st_mode)            ? NOT_REGULAR
                                                                      : NULL;
    if (!flaw && !(*stream = fdopen(fd, "rb")))
        flaw = strerror(errno);
    if (flaw && fd >= 0)
        close(fd);
    return flaw;
}

enum status files_read_refuse_waits(const char *path)
{
    struct stat about;
    if (stat(path, &about) != 0 || S_ISREG(about.st_mode) || S_ISDIR(about.st_mode))
        return STATUS_OK;
    return fail(STATUS_FAILED, "cannot open %s: " NOT_REGULAR, path);
}

const char *files_read_open_text(const char *path, FILE **stream)
{
    const char *flaw = files_read_open(path, stream);
    if (!flaw)
        flaw = plain_text_convert(stream);
    if (flaw && *stream) {
        fclose(*stream);
        *stream = NULL;
    }
    return flaw;
}

static bool look_at(const char *path, struct stat *about)
{
    int found = strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, about) : stat(path, about);
    return found == 0 && S_ISREG(about->st_mode);
}

bool files_read_hold(const struct stat *about)
{
    struct stat known;
    bool held = false;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < count && !held; i++)
        held = look_at(paths[i], &known) && known.st_dev == about->st_dev &&
               known.st_ino == about->st_ino;
    pthread_mutex_unlock(&lock);
    return held;
}

bool files_read_below(const char *folder)
{
    char top[PATH_MAX], path[PATH_MAX];
    bool below = false;
    if (!realpath(folder, top))
        return false;
    size_t length = strlen(top);
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < count && !below; i++)
        below = realpath(paths[i], path) && strncmp(path, top, length) == 0 && path[length] == '/';
    pthread_mutex_unlock(&lock);
    return below;
}

ssize_t files_read_at(int fd, void *buffer, size_t size, off_t at)
{
    size_t done = 0;
    while (done < size) {
        ssize_t got = pread(fd, (char *)buffer + done, size - done, at + (off_t)done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        done += (size_t)got;
    }
    return (ssize_t)done;
}
