#include "base/cache_file.h"

#include "base/monotonic.h"
#include "base/text_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *cache_file_path(char path[CACHE_FILE_PATH], const char *name)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int length = 0;
    if (cache && cache[0] == '/')
        length = snprintf(path, CACHE_FILE_PATH, "%s/halo/%s", cache, name);
    else if (home && home[0] == '/')
        length = snprintf(path, CACHE_FILE_PATH, "%s/.cache/halo/%s", home, name);
    return length > 0 && length < CACHE_FILE_PATH ? path : NULL;
}

static bool make_folders(char *path)
{
    char *own = strrchr(path, '/');
    *own = '\0';
    char *cache = strrchr(path, '/');
    *cache = '\0';
    bool there = mkdir(path, 0700) == 0 || errno == EEXIST;
    *cache = '/';
    there = there && (mkdir(path, 0700) == 0 || errno == EEXIST);
    *own = '/';
    return there;
}

/* Whether the file is the user's and not too long. Another user's file may be malicious. */
static bool is_ours(int fd, size_t most, size_t *size)
{
    struct stat about;
    if (fstat(fd, &about) != 0)
        return false;
    *size = (size_t)about.st_size;
    errno = !S_ISREG(about.st_mode) ? EINVAL : about.st_uid != geteuid() ? EPERM : EFBIG;
    return S_ISREG(about.st_mode) && about.st_uid == geteuid() && *size <= most;
}

static bool read_all(int fd, char *text, size_t size)
{
    size_t at = 0;
    while (at < size) {
        ssize_t got = read(fd, text + at, size - at);
        if (got == 0)
            errno = EIO; /* the file became shorter */
        if (got == 0 || (got < 0 && errno != EINTR))
            return false;
        at += got > 0 ? (size_t)got : 0;
    }
    text[size] = '\0';
    return true;
}

char *cache_file_read(const char *path, size_t most, size_t *size)
{
    char *text = NULL;
    /* otherwise a FIFO would wait for a writer */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool is_read = fd >= 0 && is_ours(fd, most, size) && (text = malloc(*size + 1)) &&
                   read_all(fd, text, *size);
    int error = errno;
    if (fd >= 0)
        close(fd);
    if (!is_read) {
        free(text);
        text = NULL;
    }
    errno = error;
    return text;
}

static bool write_new(const char *path, const char *text, size_t size)
{
    FILE *file = fopen(path, "wxe");
    if (file)
        fwrite(text, 1, size, file);
    int error = text_stream_finish(file);
    errno = error;
    return !error;
}

bool cache_file_write(const char *path, const char *text, size_t size)
{
    char folders[CACHE_FILE_PATH], temporary[CACHE_FILE_PATH + 48];
    snprintf(folders, sizeof folders, "%s", path);
    snprintf(temporary, sizeof temporary, "%s.%ld.%llx", path, (long)getpid(),
             (unsigned long long)monotonic_ns());
    bool is_written =
        make_folders(folders) && write_new(temporary, text, size) && rename(temporary, path) == 0;
    int error = errno;
    if (!is_written)
        unlink(temporary);
    errno = error;
    return is_written;
}

uint64_t cache_file_sum(uint64_t sum, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        sum = (sum ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    return sum;
}
