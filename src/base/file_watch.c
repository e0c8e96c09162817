#include "base/file_watch.h"

#include "base/monotonic.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { SPOTS_MOST = 8 /* a file and the links to it */, READS_MOST = 64 /* of one round */ };
static const double QUIET = 0.1;  /* seconds without news until a change is complete */
static const double PATIENCE = 1; /* seconds that news can put a report off */
static const double RETRY = 0.5;  /* seconds between looks for a lost folder */
static const uint32_t EVENTS = IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE | IN_MODIFY |
                               IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;

/* A name in a folder; what happens to it happens to the file. */
struct spot {
    int folder; /* inotify's number; -1: the folder is not there */
    char name[NAME_MAX + 1];
};

struct watched {
    char *path;
    size_t number;
    struct spot spots[SPOTS_MOST];
    size_t spot_count;
    bool writing; /* written to, and not closed */
    double begun; /* when the first news came that is not reported; 0: none */
    double due;   /* when to report it */
};

struct file_watch {
    int events, timer;
    int both; /* an epoll of the two */
    struct watched *files;
    size_t count;
    double retry; /* when to look for lost folders; 0: none is lost */
};

/* ---- where to look ---- */

/* "a/b" -> "a", "b"; "b" -> ".", "b". Longer paths than PATH_MAX were refused. */
static void split(const char *path, char folder[PATH_MAX], char name[NAME_MAX + 1])
{
    const char *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;
    size_t length = slash == path ? 1 : slash ? (size_t)(slash - path) : 0;
    snprintf(name, NAME_MAX + 1, "%.*s", NAME_MAX, base);
    snprintf(folder, PATH_MAX, "%.*s", length ? (int)length : 1, length ? path : ".");
}

/* Where a symbolic link leads to, into `path` itself; false: it is none. */
static bool follow(char path[PATH_MAX], const char *folder)
{
    char target[PATH_MAX], whole[2 * PATH_MAX];
    ssize_t length = readlink(path, target, sizeof target - 1);
    if (length <= 0)
        return false;
    target[length] = '\0';
    int all = target[0] == '/' ? snprintf(whole, sizeof whole, "%s", target)
                               : snprintf(whole, sizeof whole, "%s/%s", folder, target);
    if (all >= PATH_MAX)
        return false;
    memcpy(path, whole, (size_t)all + 1);
    return true;
}

static void find_spots(struct file_watch *watch, struct watched *file)
{
    char path[PATH_MAX] = "", folder[PATH_MAX];
    strncat(path, file->path, sizeof path - 1);
    file->spot_count = 0;
    do {
        struct spot *spot = &file->spots[file->spot_count++];
        split(path, folder, spot->name);
        spot->folder = inotify_add_watch(watch->events, folder, EVENTS);
        if (spot->folder < 0)
            watch->retry = monotonic_seconds() + RETRY;
    } while (file->spot_count < SPOTS_MOST && follow(path, folder));
}

static bool is_used(const struct file_watch *watch, int folder)
{
    for (size_t f = 0; f < watch->count; f++)
        for (size_t s = 0; s < watch->files[f].spot_count; s++)
            if (watch->files[f].spots[s].folder == folder)
                return true;
    return false;
}

static bool is_lost(const struct watched *file)
{
    for (size_t s = 0; s < file->spot_count; s++)
        if (file->spots[s].folder < 0)
            return true;
    return false;
}

/* Links may lead elsewhere now. */
static void find_spots_again(struct file_watch *watch, struct watched *file)
{
    struct watched before = *file;
    find_spots(watch, file);
    for (size_t s = 0; s < before.spot_count; s++)
        if (before.spots[s].folder >= 0 && !is_used(watch, before.spots[s].folder))
            inotify_rm_watch(watch->events, before.spots[s].folder);
}

/* ---- news ---- */

static void put_off(struct watched *file, double now)
{
    if (file->begun == 0)
        file->begun = now;
    file->due = fmin(now + QUIET, file->begun + PATIENCE);
}

/* A file that is made by open() is complete when it is closed, one that is made by link()
 * or symlink() at once. */
static bool is_linked(const char *path)
{
    struct stat about;
    return lstat(path, &about) == 0 && (S_ISLNK(about.st_mode) || about.st_nlink > 1);
}

static void take_news(struct file_watch *watch, struct watched *file, uint32_t news, double now)
{
    if (news & (IN_MOVED_TO | IN_CREATE))
        find_spots_again(watch, file);
    if (news & IN_MODIFY)
        file->writing = true;
    else if (news & (IN_CLOSE_WRITE | IN_MOVED_TO) || is_linked(file->path)) {
        file->writing = false;
        put_off(file, now);
    }
}

static void lose_folder(struct file_watch *watch, int folder, double now)
{
    const char *path = NULL;
    for (size_t f = 0; f < watch->count; f++)
        for (size_t s = 0; s < watch->files[f].spot_count; s++)
            if (watch->files[f].spots[s].folder == folder) {
                watch->files[f].spots[s].folder = -1;
                path = watch->files[f].path;
            }
    if (!path)
        return;
    inotify_rm_watch(watch->events, folder); /* one that was moved is still looked at */
    watch->retry = now + RETRY;
    note("the folder of %s is gone; it is watched again when it is back", path);
}

static void take_event(struct file_watch *watch, const struct inotify_event *event, double now)
{
    if (event->mask & IN_Q_OVERFLOW)
        for (size_t f = 0; f < watch->count; f++)
            put_off(&watch->files[f], now);
    if (event->mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED))
        lose_folder(watch, event->wd, now);
    if (event->len == 0)
        return;
    for (size_t f = 0; f < watch->count; f++) {
        struct watched *file = &watch->files[f];
        bool meant = false;
        for (size_t s = 0; s < file->spot_count; s++)
            meant = meant || (file->spots[s].folder == event->wd &&
                              strcmp(file->spots[s].name, event->name) == 0);
        if (meant)
            take_news(watch, file, event->mask, now);
    }
}

static void take_events(struct file_watch *watch, double now)
{
    _Alignas(struct inotify_event) char bytes[4096];
    for (int i = 0; i < READS_MOST; i++) {
        ssize_t got = read(watch->events, bytes, sizeof bytes);
        if (got <= 0)
            return;
        for (char *at = bytes; at < bytes + got;) {
            const struct inotify_event *event = (const void *)at;
            take_event(watch, event, now);
            at += sizeof *event + event->len;
        }
    }
}

static void look_for_lost(struct file_watch *watch, double now)
{
    if (watch->retry == 0 || now < watch->retry)
        return;
    watch->retry = 0;
    for (size_t f = 0; f < watch->count; f++) {
        struct watched *file = &watch->files[f];
        if (!is_lost(file))
            continue;
        find_spots_again(watch, file);
        if (!is_lost(file))
            put_off(file, now);
    }
}

/* ---- what is due ---- */

static struct watched *due_file(struct file_watch *watch, double now)
{
    for (size_t f = 0; f < watch->count; f++) {
        struct watched *file = &watch->files[f];
        struct stat about;
        if (file->begun == 0 || file->writing || now < file->due)
            continue;
        file->begun = 0;
        if (stat(file->path, &about) == 0 && S_ISREG(about.st_mode))
            return file;
    }
    return NULL;
}

/* What is due will be so at a time when nothing happens. */
static void set_timer(struct file_watch *watch)
{
    double next = watch->retry > 0 ? watch->retry : INFINITY;
    for (size_t f = 0; f < watch->count; f++)
        if (watch->files[f].begun > 0 && !watch->files[f].writing)
            next = fmin(next, watch->files[f].due);
    struct itimerspec when = {.it_value = {0}};
    if (isfinite(next)) {
        when.it_value.tv_sec = (time_t)floor(next);
        when.it_value.tv_nsec = (long)(1e9 * (next - floor(next)));
    }
    timerfd_settime(watch->timer, TFD_TIMER_ABSTIME, &when, NULL); /* zero: none */
}

bool file_watch_next(struct file_watch *watch, size_t *number)
{
    double now = monotonic_seconds();
    take_events(watch, now);
    look_for_lost(watch, now);
    const struct watched *file = due_file(watch, now);
    if (file)
        *number = file->number;
    set_timer(watch); /* also takes back that it rang */
    return file != NULL;
}

int file_watch_fd(const struct file_watch *watch)
{
    return watch->both;
}

/* ---- set up ---- */

static bool join(struct file_watch *watch, int fd)
{
    struct epoll_event wanted = {.events = EPOLLIN};
    return fd >= 0 && epoll_ctl(watch->both, EPOLL_CTL_ADD, fd, &wanted) == 0;
}

enum status file_watch_open(struct file_watch **result)
{
    struct file_watch *watch = calloc(1, sizeof *watch);
    if (!watch)
        return fail_memory("watching files");
    watch->events = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    watch->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    watch->both = epoll_create1(EPOLL_CLOEXEC);
    if (!join(watch, watch->events) || !join(watch, watch->timer)) {
        enum status status = fail(STATUS_FAILED, "cannot watch files: %s", strerror(errno));
        file_watch_close(watch);
        return status;
    }
    *result = watch;
    return STATUS_OK;
}

void file_watch_close(struct file_watch *watch)
{
    if (!watch)
        return;
    const int fds[] = {watch->events, watch->timer, watch->both};
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    for (size_t f = 0; f < watch->count; f++)
        free(watch->files[f].path);
    free(watch->files);
    free(watch);
}

enum status file_watch_add(struct file_watch *watch, const char *path, size_t number)
{
    if (strlen(path) >= PATH_MAX)
        return fail(STATUS_FAILED, "cannot watch %.64s...: the path is too long", path);
    struct watched *files = realloc(watch->files, (watch->count + 1) * sizeof *files);
    if (!files)
        return fail_memory("watching files");
    watch->files = files;
    struct watched *file = &files[watch->count];
    *file = (struct watched){.path = strdup(path), .number = number};
    if (!file->path)
        return fail_memory("watching files");
    char folder[PATH_MAX];
    split(path, folder, file->spots[0].name);
    if (inotify_add_watch(watch->events, folder, EVENTS) < 0) {
        free(file->path);
        return fail(STATUS_FAILED, "cannot watch the folder %s: %s", folder, strerror(errno));
    }
    watch->count++;
    find_spots(watch, file);
    set_timer(watch);
    return STATUS_OK;
}
