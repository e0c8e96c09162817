#include "plugin/plugin_state_copy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH_MOST = 16, ENTRIES_MOST = 10000, PIECE = 1 << 16 };
static const size_t BYTES_MOST = (size_t)1 << 30;

struct state_copy {
    const struct plugin_reads *reads;
    const char *id;
    size_t entries, bytes; /* so far */
};

static enum status fail_copy(const struct state_copy *copy, const char *name, struct flaw flaw)
{
    return fail(flaw.cause, "cannot save the state of %s: %s: %s", copy->id, name, flaw.text);
}

/* Returns 0, or -1 and errno. */
static int copy_bytes(struct state_copy *copy, int from, int to)
{
    char bytes[PIECE];
    for (ssize_t got; (got = read(from, bytes, sizeof bytes)) != 0;) {
        if (got < 0 && errno == EINTR)
            continue;
        copy->bytes += got > 0 ? (size_t)got : 0;
        if (copy->bytes > BYTES_MOST)
            errno = EFBIG;
        if (got < 0 || copy->bytes > BYTES_MOST)
            return -1;
        for (ssize_t at = 0, put; at < got; at += put)
            if ((put = write(to, bytes + at, (size_t)(got - at))) < 0)
                return -1;
    }
    return 0;
}

static enum status copy_file(struct state_copy *copy, int from, int to, const char *name)
{
    struct stat about;
    int out = -1, in = openat(from, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    int failed = in < 0 || fstat(in, &about) != 0;
    if (!failed && !S_ISREG(about.st_mode)) { /* exchanged since */
        failed = true;
        errno = EINVAL;
    }
    if (!failed)
        failed = (out = openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)) < 0 ||
                 copy_bytes(copy, in, out) != 0;
    int error = errno;
    if (out >= 0 && close(out) != 0 && !failed) {
        failed = true;
        error = errno;
    }
    if (in >= 0)
        close(in);
    return failed ? fail_copy(copy, name, flaw_of_errno(error)) : STATUS_OK;
}

static bool path_of(int descriptor, char path[PATH_MAX])
{
    char entry[64];
    snprintf(entry, sizeof entry, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(entry, path, PATH_MAX - 1);
    path[length > 0 ? length : 0] = '\0';
    return length > 0;
}

/* The path of `target` from the folder `base`, both without links: relative where they share more
 * than the root, so that a chain can move together with its files. False: too long. */
static bool relate(const char *target, const char *base, char path[PATH_MAX])
{
    size_t shared = 0, up = 1, length = 0;
    for (size_t i = 0; target[i] && target[i] == base[i]; i++)
        if (target[i] == '/')
            shared = i;
    if (shared == 0)
        return (size_t)snprintf(path, PATH_MAX, "%s", target) < PATH_MAX;
    for (const char *at = base + shared + 1; (at = strchr(at, '/')); at++)
        up++;
    for (; up > 0 && length + 4 < PATH_MAX; up--)
        length += (size_t)snprintf(path + length, PATH_MAX - length, "../");
    return up == 0 && (size_t)snprintf(path + length, PATH_MAX - length, "%s",
                                       target + shared + 1) < PATH_MAX - length;
}

/* Within the state's own folder. */
static bool stays_below(const char *target)
{
    return *target != '/' && strcmp(target, "..") != 0 && strncmp(target, "../", 3) != 0 &&
           !strstr(target, "/..");
}

/* What a link out of the state becomes in its new folder. False: it leads to nothing that the
 * plugin may read. */
static bool lead_out(const struct state_copy *copy, int from, int to, const char *name,
                     char target[PATH_MAX])
{
    char real[PATH_MAX], base[PATH_MAX];
    int place = openat(from, name, O_PATH | O_CLOEXEC);
    bool may = place >= 0 && path_of(place, real) && plugin_reads_include(copy->reads, real) &&
               path_of(to, base) && relate(real, base, target);
    if (place >= 0)
        close(place);
    return may;
}

static enum status copy_link(struct state_copy *copy, int from, int to, const char *name)
{
    char target[PATH_MAX];
    ssize_t length = readlinkat(from, name, target, sizeof target - 1);
    if (length < 0)
        return fail_copy(copy, name, flaw_of_errno(errno));
    target[length] = '\0';
    if (!stays_below(target) && !lead_out(copy, from, to, name, target))
        return fail_copy(
            copy, name,
            (struct flaw){CAUSE_NOT_PERMITTED, "it is a link to what the plugin may not read"});
    return symlinkat(target, to, name) == 0 ? STATUS_OK
                                            : fail_copy(copy, name, flaw_of_errno(errno));
}

static enum status copy_folder(struct state_copy *copy, int from, int to, const char *name,
                               int depth);

static enum status copy_entry(struct state_copy *copy, int from, int to, const char *name,
                              int depth)
{
    struct stat about;
    if (++copy->entries > ENTRIES_MOST || depth > DEPTH_MOST)
        return fail_copy(copy, name, (struct flaw){CAUSE_UNSUPPORTED, "it holds too many files"});
    if (fstatat(from, name, &about, AT_SYMLINK_NOFOLLOW) != 0)
        return fail_copy(copy, name, flaw_of_errno(errno));
    if (S_ISREG(about.st_mode))
        return copy_file(copy, from, to, name);
    if (S_ISLNK(about.st_mode))
        return copy_link(copy, from, to, name);
    if (S_ISDIR(about.st_mode))
        return mkdirat(to, name, 0777) == 0 ? copy_folder(copy, from, to, name, depth)
                                            : fail_copy(copy, name, flaw_of_errno(errno));
    return fail_copy(copy, name,
                     (struct flaw){CAUSE_UNSUPPORTED, "it is neither a file nor a folder"});
}

static enum status copy_entries(struct state_copy *copy, DIR *listing, int to, int depth)
{
    enum status status = STATUS_OK;
    for (struct dirent *entry; status == STATUS_OK && (entry = readdir(listing));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            status = copy_entry(copy, dirfd(listing), to, entry->d_name, depth + 1);
    return status;
}

/* Relative names in `from` and `to`, or paths. */
static enum status copy_folder(struct state_copy *copy, int from, int to, const char *name,
                               int depth)
{
    int in = openat(from, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int out = in < 0 ? -1 : openat(to, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *listing = out < 0 ? NULL : fdopendir(in);
    enum status status = listing ? copy_entries(copy, listing, out, depth)
                                 : fail_copy(copy, name, flaw_of_errno(errno));
    if (listing)
        closedir(listing);
    else if (in >= 0)
        close(in);
    if (out >= 0)
        close(out);
    return status;
}

enum status plugin_state_copy(const char *from, const char *to, const struct plugin_reads *reads,
                              const char *id)
{
    struct state_copy copy = {.reads = reads, .id = id};
    if (mkdir(to, 0777) != 0 && errno != EEXIST)
        return fail_copy(&copy, to, flaw_of_errno(errno));
    int in = open(from, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int out = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    enum status status = in >= 0 && out >= 0 ? copy_folder(&copy, in, out, ".", 0)
                                             : fail_copy(&copy, to, flaw_of_errno(errno));
    if (in >= 0)
        close(in);
    if (out >= 0)
        close(out);
    return status;
}
