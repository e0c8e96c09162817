/* Loaded into halo by LD_PRELOAD, makes one system call fail: the NUMBER-th of those that concern a
 * file whose path contains NAME (a file without a name: its folder, then "(deleted)"; * is any).
 *
 *   FAULT="CALL NAME NUMBER ERRNO"    NUMBER 0: all of them
 *   FAULT_MARK=FILE                   created when a call failed for this
 *
 * CALL is read, write, lseek, fsync, open, tmpfile (open without a name), link or rename. Calls by
 * position count as those without. stdio's calls are not seen, except fread. */
#undef _FORTIFY_SOURCE /* it would define what is defined here */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void mark(void)
{
    const char *path = getenv("FAULT_MARK");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (file)
        fclose(file);
}

/* Whether this call is to fail; errno is set. */
static bool fails(const char *call, const char *path)
{
    static int seen;
    const char *fault = getenv("FAULT");
    char wanted[16], name[128];
    int number, error;
    if (!fault || sscanf(fault, "%15s %127s %d %d", wanted, name, &number, &error) != 4 ||
        strcmp(wanted, call) != 0 || (strcmp(name, "*") != 0 && !strstr(path, name)))
        return false;
    pthread_mutex_lock(&lock);
    bool now = ++seen == number || number == 0;
    pthread_mutex_unlock(&lock);
    if (now)
        mark();
    errno = now ? error : errno;
    return now;
}

static bool fails_at(const char *call, int fd)
{
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    int before = errno;
    ssize_t length = readlink(link, path, sizeof path - 1);
    path[length > 0 ? length : 0] = '\0';
    errno = before;
    return fails(call, path);
}

#define NEXT(TYPE, NAME, ...)                                                                      \
    static TYPE (*next)(__VA_ARGS__);                                                              \
    if (!next)                                                                                     \
    *(void **)&next = dlsym(RTLD_NEXT, NAME)

ssize_t read(int fd, void *bytes, size_t count)
{
    NEXT(ssize_t, "read", int, void *, size_t);
    return fails_at("read", fd) ? -1 : next(fd, bytes, count);
}

ssize_t pread(int fd, void *bytes, size_t count, off_t at)
{
    NEXT(ssize_t, "pread", int, void *, size_t, off_t);
    return fails_at("read", fd) ? -1 : next(fd, bytes, count, at);
}

size_t fread(void *bytes, size_t size, size_t count, FILE *stream)
{
    NEXT(size_t, "fread", void *, size_t, size_t, FILE *);
    if (!fails_at("read", fileno(stream)))
        return next(bytes, size, count, stream);
    stream->_flags |= 0x20; /* glibc's mark of an error, for ferror */
    return 0;
}

ssize_t write(int fd, const void *bytes, size_t count)
{
    NEXT(ssize_t, "write", int, const void *, size_t);
    return fails_at("write", fd) ? -1 : next(fd, bytes, count);
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t at)
{
    NEXT(ssize_t, "pwrite", int, const void *, size_t, off_t);
    return fails_at("write", fd) ? -1 : next(fd, bytes, count, at);
}

off_t lseek(int fd, off_t offset, int whence)
{
    NEXT(off_t, "lseek", int, off_t, int);
    return fails_at("lseek", fd) ? -1 : next(fd, offset, whence);
}

int fsync(int fd)
{
    NEXT(int, "fsync", int);
    return fails_at("fsync", fd) ? -1 : next(fd);
}

int open(const char *path, int flags, ...)
{
    NEXT(int, "open", const char *, int, ...);
    bool nameless = (flags & O_TMPFILE) == O_TMPFILE;
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = flags & O_CREAT || nameless ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    return fails(nameless ? "tmpfile" : "open", path) ? -1 : next(path, flags, mode);
}

int linkat(int folder, const char *from, int other, const char *to, int flags)
{
    NEXT(int, "linkat", int, const char *, int, const char *, int);
    return fails("link", to) ? -1 : next(folder, from, other, to, flags);
}

int renameat2(int folder, const char *from, int other, const char *to, unsigned flags)
{
    NEXT(int, "renameat2", int, const char *, int, const char *, unsigned);
    return fails("rename", to) ? -1 : next(folder, from, other, to, flags);
}
