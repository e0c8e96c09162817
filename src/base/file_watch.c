#include "base/file_watch.h"

#include "base/monotonic.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATIENT_LOOKS = 8 };        /* looks without a change that make a file complete */
static const double PERIOD = 0.25; /* seconds between looks */

struct watched {
    char *path;
    size_t number;
    struct stat known; /* state when added or last reported; st_mode 0: missing */
    struct stat seen;  /* state in the last look */
    unsigned same;     /* looks without a change since then */
    bool due;          /* the change is to be reported */
};

struct file_watch {
    struct watched *files;
    size_t count;
    double next; /* time of the next look, in seconds */
};

/* The file's stat. Anything but a regular file counts as missing. */
static struct stat look_at(const char *path)
{
    struct stat about;
    if (stat(path, &about) != 0 || !S_ISREG(about.st_mode))
        about = (struct stat){0};
    return about;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
           a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* Whether no process has the file open for writing. If one has, a lease for reading is refused. */
static bool is_closed(const char *path)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return false;
    fcntl(fd, F_SETSIG, SIGURG); /* sent if a writer opens the file before close(); ignored */
    bool closed = fcntl(fd, F_SETLEASE, F_RDLCK) == 0;
    close(fd); /* also ends the lease */
    return closed;
}

static void look(struct watched *file)
{
    struct stat now = look_at(file->path);
    file->same = is_same(&now, &file->seen) ? file->same + 1 : 0;
    file->seen = now;
    if (now.st_mode == 0) {
        if (file->same == PATIENT_LOOKS && file->known.st_mode != 0)
            note("%s is gone; waiting for it to return", file->path);
        return;
    }
    if (file->same == 0 || is_same(&now, &file->known) ||
        (file->same < PATIENT_LOOKS && !is_closed(file->path)))
        return;
    file->known = now;
    file->due = true;
}

bool file_watch_next(struct file_watch *watch, size_t *number)
{
    double now = monotonic_seconds();
    if (now >= watch->next) {
        watch->next = now + PERIOD;
        for (size_t f = 0; f < watch->count; f++)
            look(&watch->files[f]);
    }
    for (size_t f = 0; f < watch->count; f++)
        if (watch->files[f].due) {
            watch->files[f].due = false;
            *number = watch->files[f].number;
            return true;
        }
    return false;
}

enum status file_watch_open(struct file_watch **watch)
{
    *watch = calloc(1, sizeof **watch);
    return *watch ? STATUS_OK : fail_memory("watching files");
}

void file_watch_close(struct file_watch *watch)
{
    for (size_t f = 0; watch && f < watch->count; f++)
        free(watch->files[f].path);
    if (watch)
        free(watch->files);
    free(watch);
}

/* Checks that the path can be watched. The file may appear later, but its folder must exist. */
static enum status check(const char *path)
{
    struct stat about;
    if (stat(path, &about) == 0)
        return STATUS_OK;
    if (errno != ENOENT)
        return fail_errno(errno, "cannot watch %s", path);
    char *copy = strdup(path);
    if (!copy)
        return fail_memory("watching files");
    const char *folder = dirname(copy);
    enum status status = STATUS_OK;
    if (stat(folder, &about) != 0)
        status = fail_errno(errno, "cannot watch the folder %s", folder);
    free(copy);
    return status;
}

enum status file_watch_add(struct file_watch *watch, const char *path, size_t number)
{
    TRY(check(path));
    struct watched *files = realloc(watch->files, (watch->count + 1) * sizeof *files);
    if (!files)
        return fail_memory("watching files");
    watch->files = files;
    struct watched *file = &files[watch->count];
    *file = (struct watched){.path = strdup(path), .number = number, .known = look_at(path)};
    if (!file->path)
        return fail_memory("watching files");
    file->seen = file->known;
    watch->count++;
    return STATUS_OK;
}
