/* Calls on files, and for threads and processes, that fail; see faults.h. */
#undef _FORTIFY_SOURCE /* it would define what is defined here */
#include "faults.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- bytes ---- */

#define HALF(fd, count) (fault_short(fd, count) ? (count) / 2 : (count))

/* The file has 300 bytes less from here on. */
static size_t shrink(int fd, size_t count)
{
    struct stat about;
    char path[64];
    if (fault_at("shrink", 0, fd) && fstat(fd, &about) == 0 && about.st_size > 300) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        if (truncate(path, about.st_size - 300) != 0)
            abort();
    }
    return HALF(fd, count);
}

FAULTY(ssize_t, read, fault_at("read", EIO, fd), -1, (int fd, void *bytes, size_t count),
       (fd, bytes, shrink(fd, count)))
FAULTY(ssize_t, __read_chk, fault_at("read", EIO, fd), -1,
       (int fd, void *bytes, size_t count, size_t size), (fd, bytes, HALF(fd, count), size))
FAULTY(ssize_t, pread, fault_at("read", EIO, fd), -1, (int fd, void *bytes, size_t count, off_t at),
       (fd, bytes, shrink(fd, count), at))
FAULTY(ssize_t, __pread_chk, fault_at("read", EIO, fd), -1,
       (int fd, void *bytes, size_t count, off_t at, size_t size),
       (fd, bytes, HALF(fd, count), at, size))
FAULTY(ssize_t, write, fault_at("write", ENOSPC, fd), -1, (int fd, const void *bytes, size_t count),
       (fd, bytes, HALF(fd, count)))
FAULTY(ssize_t, pwrite, fault_at("write", ENOSPC, fd), -1,
       (int fd, const void *bytes, size_t count, off_t at), (fd, bytes, HALF(fd, count), at))
FAULTY(off_t, lseek, fault_at("lseek", EIO, fd), -1, (int fd, off_t offset, int whence),
       (fd, offset, whence))
FAULTY(int, fsync, fault_at("fsync", EIO, fd), -1, (int fd), (fd))
FAULTY(int, ftruncate, fault_at("truncate", EIO, fd), -1, (int fd, off_t size), (fd, size))
FAULTY(void *, mmap, fault_at("mmap", ENOMEM, fd), MAP_FAILED,
       (void *at, size_t size, int protection, int flags, int fd, off_t offset),
       (at, size, protection, flags, fd, offset))

/* Closed nevertheless, as by Linux. */
int close(int fd)
{
    NEXT(int, "close", int);
    bool fails = fault_at("close", EIO, fd);
    int error = errno, result = next(fd);
    errno = fails ? error : errno;
    return fails ? -1 : result;
}

/* ---- opening ---- */

/* The mode, if there is one. */
static mode_t take_mode(int flags, va_list arguments)
{
    return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(arguments, mode_t) : 0;
}

static bool fails_to_open(const char *path, int flags)
{
    return fault_at_path((flags & O_TMPFILE) == O_TMPFILE ? "tmpfile" : "open", EMFILE, path);
}

#define OPEN(NAME)                                                                                 \
    int NAME(const char *path, int flags, ...)                                                     \
    {                                                                                              \
        NEXT(int, #NAME, const char *, int, ...);                                                  \
        va_list arguments;                                                                         \
        va_start(arguments, flags);                                                                \
        mode_t mode = take_mode(flags, arguments);                                                 \
        va_end(arguments);                                                                         \
        return fails_to_open(path, flags) ? -1 : next(path, flags, mode);                          \
    }
OPEN(open)
OPEN(open64)

int openat(int folder, const char *path, int flags, ...)
{
    NEXT(int, "openat", int, const char *, int, ...);
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = take_mode(flags, arguments);
    va_end(arguments);
    return fails_to_open(path, flags) ? -1 : next(folder, path, flags, mode);
}

int fcntl(int fd, int command, ...)
{
    NEXT(int, "fcntl", int, int, ...);
    va_list arguments;
    va_start(arguments, command);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    bool opens = command == F_DUPFD || command == F_DUPFD_CLOEXEC;
    return opens && fault_at("dup", EMFILE, fd) ? -1 : next(fd, command, argument);
}

FAULTY(int, __open_2, fails_to_open(path, flags), -1, (const char *path, int flags), (path, flags))
FAULTY(int, dup, fault_at("dup", EMFILE, fd), -1, (int fd), (fd))
FAULTY(int, dup2, fault_at("dup", EMFILE, fd), -1, (int fd, int other), (fd, other))
FAULTY(int, pipe2, fault_at_path("pipe", EMFILE, NULL), -1, (int ends[2], int flags), (ends, flags))
FAULTY(int, socket, fault_at_path("socket", EMFILE, NULL), -1, (int domain, int type, int protocol),
       (domain, type, protocol))
FAULTY(int, socketpair, fault_at_path("socket", EMFILE, NULL), -1,
       (int domain, int type, int protocol, int ends[2]), (domain, type, protocol, ends))
FAULTY(int, memfd_create, fault_at_path("open", EMFILE, name), -1,
       (const char *name, unsigned flags), (name, flags))
FAULTY(int, mkostemp, fault_at_path("open", EMFILE, path), -1, (char *path, int flags),
       (path, flags))
FAULTY(void *, dlopen, path &&fault_at_path("open", EMFILE, path), NULL,
       (const char *path, int flags), (path, flags))
FAULTY(DIR *, opendir, fault_at_path("open", EMFILE, path), NULL, (const char *path), (path))
FAULTY(DIR *, fdopendir, fault_at("open", ENOMEM, fd), NULL, (int fd), (fd))
FAULTY(struct dirent *, readdir, fault_at("readdir", EIO, dirfd(folder)), NULL, (DIR * folder),
       (folder))

/* ---- names ---- */

FAULTY(int, stat, fault_at_path("stat", EIO, path), -1, (const char *path, struct stat *about),
       (path, about))
FAULTY(int, lstat, fault_at_path("stat", EIO, path), -1, (const char *path, struct stat *about),
       (path, about))
FAULTY(int, fstat, fault_at("stat", EIO, fd), -1, (int fd, struct stat *about), (fd, about))
FAULTY(int, access, fault_at_path("stat", EIO, path), -1, (const char *path, int mode),
       (path, mode))
FAULTY(ssize_t, readlink, fault_at_path("readlink", EIO, path), -1,
       (const char *path, char *target, size_t size), (path, target, size))
FAULTY(int, mkdir, fault_at_path("mkdir", ENOSPC, path), -1, (const char *path, mode_t mode),
       (path, mode))
FAULTY(char *, mkdtemp, fault_at_path("mkdir", ENOSPC, path), NULL, (char *path), (path))
FAULTY(int, chmod, fault_at_path("chmod", EIO, path), -1, (const char *path, mode_t mode),
       (path, mode))
FAULTY(int, fchmod, fault_at("chmod", EIO, fd), -1, (int fd, mode_t mode), (fd, mode))
FAULTY(int, fchown, fault_at("chown", EIO, fd), -1, (int fd, uid_t user, gid_t group),
       (fd, user, group))
FAULTY(int, flock, fault_at("flock", ENOLCK, fd), -1, (int fd, int operation), (fd, operation))
FAULTY(int, link, fault_at_path("link", ENOSPC, to), -1, (const char *from, const char *to),
       (from, to))
FAULTY(int, linkat, fault_at_path("link", ENOSPC, to), -1,
       (int folder, const char *from, int other, const char *to, int flags),
       (folder, from, other, to, flags))
FAULTY(int, rename, fault_at_path("rename", ENOSPC, to), -1, (const char *from, const char *to),
       (from, to))
FAULTY(int, renameat2, fault_at_path("rename", ENOSPC, to), -1,
       (int folder, const char *from, int other, const char *to, unsigned flags),
       (folder, from, other, to, flags))
FAULTY(int, unlink, fault_at_path("unlink", EIO, path), -1, (const char *path), (path))
FAULTY(int, unlinkat, fault_at_path("unlink", EIO, path), -1,
       (int folder, const char *path, int flags), (folder, path, flags))
FAULTY(int, remove, fault_at_path("unlink", EIO, path), -1, (const char *path), (path))

/* ---- threads and processes ---- */

FAULTY(int, pthread_create, fault_at_path("thread", EAGAIN, NULL), errno,
       (pthread_t * thread, const pthread_attr_t *how, void *(*run)(void *), void *argument),
       (thread, how, run, argument))
FAULTY(int, posix_spawn, fault_at_path("process", EAGAIN, NULL), errno,
       (pid_t * process, const char *path, const posix_spawn_file_actions_t *files,
        const posix_spawnattr_t *how, char *const arguments[], char *const variables[]),
       (process, path, files, how, arguments, variables))
FAULTY(int, posix_spawnp, fault_at_path("process", EAGAIN, NULL), errno,
       (pid_t * process, const char *name, const posix_spawn_file_actions_t *files,
        const posix_spawnattr_t *how, char *const arguments[], char *const variables[]),
       (process, name, files, how, arguments, variables))
FAULTY(int, system, fault_at_path("process", EAGAIN, NULL), -1, (const char *line), (line))
FAULTY(pid_t, waitpid, fault_at_path("wait", EINTR, NULL), -1,
       (pid_t process, int *result, int flags), (process, result, flags))
FAULTY(int, poll, fault_at_path("poll", EINTR, NULL), -1,
       (struct pollfd * files, nfds_t count, int milliseconds), (files, count, milliseconds))
