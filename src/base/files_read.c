#include "base/files_read.h"

#include "base/plain_text.h"
#include "base/suggest.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <pthread.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOT_REGULAR "it is not a regular file; save it to one"

struct file_read {
    char *path;   /* NULL: the struct is a key that finds any path of an inode */
    bool is_file; /* the file was regular, with this inode, when it was last added */
    dev_t device;
    ino_t inode;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects both trees and their entries */
static void *by_path, *by_inode;                         /* trees of struct file_read, by tsearch */

static int compare_paths(const void *one, const void *other)
{
    return strcmp(((const struct file_read *)one)->path, ((const struct file_read *)other)->path);
}

static int compare_inodes(const void *one, const void *other)
{
    const struct file_read *a = one, *b = other;
    if (a->device != b->device)
        return a->device < b->device ? -1 : 1;
    if (a->inode != b->inode)
        return a->inode < b->inode ? -1 : 1;
    return a->path && b->path ? strcmp(a->path, b->path) : 0;
}

static struct file_read *find(const char *path)
{
    const struct file_read key = {.path = (char *)path};
    struct file_read *const *found = tfind(&key, &by_path, compare_paths);
    return found ? *found : NULL;
}

/* Finds or creates the entry of a path. NULL: no memory. */
static struct file_read *find_or_make(const char *path)
{
    struct file_read *file = find(path);
    if (file)
        return file;
    file = calloc(1, sizeof *file);
    if (file && (file->path = strdup(path)) && tsearch(file, &by_path, compare_paths))
        return file;
    if (file)
        free(file->path);
    free(file);
    return NULL;
}

static bool look_at(const char *path, struct stat *about)
{
    int found = strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, about) : stat(path, about);
    return found == 0 && S_ISREG(about->st_mode);
}

static void leave_inode(struct file_read *file)
{
    if (file->is_file)
        (void)tdelete(file, &by_inode, compare_inodes);
    file->is_file = false;
}

static bool add(const char *path)
{
    struct stat about;
    struct file_read *file = find_or_make(path);
    if (!file)
        return false;
    bool is_file = look_at(path, &about);
    if (is_file && file->is_file && file->device == about.st_dev && file->inode == about.st_ino)
        return true;
    leave_inode(file);
    if (!is_file)
        return true;
    file->device = about.st_dev;
    file->inode = about.st_ino;
    file->is_file = tsearch(file, &by_inode, compare_inodes);
    return file->is_file;
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
    struct file_read *file = find(path);
    if (file) {
        leave_inode(file);
        (void)tdelete(file, &by_path, compare_paths);
        free(file->path);
        free(file);
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
        return true; /* a folder that cannot be read has no files to read */
    pthread_mutex_lock(&lock);
    bool added = nftw(top, add_one, FOLDERS_OPEN, FTW_PHYS) != 1;
    pthread_mutex_unlock(&lock);
    return added;
}

/* Why there is no file, and which similar files there are. */
static struct flaw describe_missing(const char *path)
{
    static _Thread_local char flaw[SUGGEST_TEXT + 64];
    char near[SUGGEST_TEXT];
    snprintf(flaw, sizeof flaw, "%s%s", strerror(ENOENT), suggest_file(near, path));
    return (struct flaw){CAUSE_MISSING, flaw};
}

struct flaw files_read_open(const char *path, FILE **stream)
{
    struct stat about;
    *stream = NULL;
    if (!files_read_add(path))
        return flaw_of_errno(ENOMEM);
    /* Without O_NONBLOCK, opening a FIFO would wait for a writer. Regular files ignore it. */
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return describe_missing(path);
    bool refused = fd < 0 && errno != ENXIO; /* ENXIO means a socket */
    bool failed = refused || (fd >= 0 && fstat(fd, &about) != 0);
    struct flaw flaw = {0};
    if (!failed && fd >= 0 && S_ISDIR(about.st_mode))
        flaw = (struct flaw){CAUSE_UNSUPPORTED, "it is a directory"};
    else if (!failed && (fd < 0 || !S_ISREG(about.st_mode)))
        flaw = (struct flaw){CAUSE_UNSUPPORTED, NOT_REGULAR};
    else if (failed || !(*stream = fdopen(fd, "rb")))
        flaw = flaw_of_errno(errno);
    if (flaw.text && fd >= 0)
        close(fd);
    return flaw;
}

enum status files_read_refuse_waits(const char *path)
{
    struct stat about;
    if (stat(path, &about) != 0 || S_ISREG(about.st_mode) || S_ISDIR(about.st_mode))
        return STATUS_OK;
    return fail(CAUSE_UNSUPPORTED, "cannot open %s: " NOT_REGULAR, path);
}

struct flaw files_read_open_text(const char *path, FILE **stream)
{
    struct flaw flaw = files_read_open(path, stream);
    if (!flaw.text)
        flaw = plain_text_convert(stream);
    if (flaw.text && *stream) {
        fclose(*stream);
        *stream = NULL;
    }
    return flaw;
}

bool files_read_hold(const struct stat *about)
{
    const struct file_read key = {.device = about->st_dev, .inode = about->st_ino};
    struct file_read *const *found;
    struct stat now;
    bool held = false;
    pthread_mutex_lock(&lock);
    while (!held && (found = tfind(&key, &by_inode, compare_inodes))) {
        held = look_at((*found)->path, &now) && now.st_dev == about->st_dev &&
               now.st_ino == about->st_ino;
        if (!held) /* the file is gone, and another one has its inode */
            leave_inode(*found);
    }
    pthread_mutex_unlock(&lock);
    return held;
}

struct each {
    void (*call)(void *context, const char *path);
    void *context;
};

static void call_for_one(const void *node, VISIT visit, void *context)
{
    const struct file_read *file = *(struct file_read *const *)node;
    const struct each *each = context;
    if ((visit == postorder || visit == leaf) && file->is_file)
        each->call(each->context, file->path);
}

void files_read_each(void (*call)(void *context, const char *path), void *context)
{
    struct each each = {call, context};
    pthread_mutex_lock(&lock);
    twalk_r(by_path, call_for_one, &each);
    pthread_mutex_unlock(&lock);
}

struct folder_search {
    char top[PATH_MAX];
    bool found;
};

static void look_below(const void *node, VISIT visit, void *context)
{
    const struct file_read *file = *(struct file_read *const *)node;
    struct folder_search *search = context;
    char path[PATH_MAX];
    size_t length = strlen(search->top);
    if ((visit == preorder || visit == leaf) && !search->found && realpath(file->path, path))
        search->found = strncmp(path, search->top, length) == 0 && path[length] == '/';
}

bool files_read_below(const char *folder)
{
    struct folder_search search = {.found = false};
    if (!realpath(folder, search.top))
        return false;
    pthread_mutex_lock(&lock);
    twalk_r(by_path, look_below, &search);
    pthread_mutex_unlock(&lock);
    return search.found;
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
