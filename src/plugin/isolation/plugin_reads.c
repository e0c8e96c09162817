#include "plugin/isolation/plugin_reads.h"

#include "base/cache_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Paths of the system. Not all of /etc and /proc, which show keys and other processes. */
static const char *const system_places[] = {
    "/usr",
    "/lib",
    "/lib32",
    "/lib64",
    "/opt",
    "/app",
    "/nix/store",
    "/gnu/store",
    "/run/current-system",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/ld.so.preload",
    "/etc/alternatives",
    "/etc/fonts",
    "/etc/fftw",
    "/etc/drirc",
    "/etc/group",
    "/etc/gtk-2.0",
    "/etc/gtk-3.0",
    "/etc/locale.alias",
    "/etc/locale.conf",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/passwd",
    "/etc/timezone",
    "/etc/xdg",
    "/proc/cpuinfo",
    "/proc/filesystems",
    "/proc/meminfo",
    "/proc/self",
    "/proc/stat",
    "/proc/sys/kernel",
    "/proc/sys/vm",
    "/proc/version",
    "/sys/devices/system",
    "/sys/kernel/mm/transparent_hugepage",
    "/dev/full",
    "/dev/null",
    "/dev/random",
    "/dev/urandom",
    "/dev/zero",
};
static const char *const home_places[] = {
    "~/.lv2",
    "~/.ladspa",
    "~/.clap",
    "~/.vst3",
    "~/.fonts",
    "~/.local/share/fonts",
    "~/.config/fontconfig",
    "~/.cache/fontconfig",
};
enum { DEPTH_MOST = 16, ENTRIES_MOST = 10000 }; /* limits for a state */

/* Environment variables with lists of folders, separated by colons. */
static const char *const variables[] = {"LV2_PATH",  "LADSPA_PATH",     "CLAP_PATH",
                                        "VST3_PATH", "LD_LIBRARY_PATH", "FONTCONFIG_PATH"};

static enum status add_path(struct plugin_reads *reads, const char *path, size_t length)
{
    char **more = realloc(reads->paths, (reads->count + 1) * sizeof *more);
    if (!more)
        return fail_memory("the files of a plugin");
    reads->paths = more;
    const char *home = length >= 2 && path[0] == '~' && path[1] == '/' ? getenv("HOME") : NULL;
    int made = home ? asprintf(&more[reads->count], "%s%.*s", home, (int)length - 1, path + 1)
                    : asprintf(&more[reads->count], "%.*s", (int)length, path);
    if (made < 0)
        return fail_memory("the files of a plugin");
    reads->count++;
    return STATUS_OK;
}

static enum status add_variable(struct plugin_reads *reads, const char *name)
{
    const char *list = getenv(name);
    for (size_t length; list && *list; list += length + (list[length] == ':')) {
        length = strcspn(list, ":");
        if (length > 0)
            TRY(add_path(reads, list, length));
    }
    return STATUS_OK;
}

/* Add the masks installed with halo, which are presets of halo.lv2 and halo.clap. */
static enum status add_masks(struct plugin_reads *reads)
{
    char program[PATH_MAX], masks[PATH_MAX + 32];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program);
    while (length > 0 && program[length - 1] != '/')
        length--;
    int size = snprintf(masks, sizeof masks, "%.*s../share/halo/filters", (int)length, program);
    return length > 0 ? add_path(reads, masks, (size_t)size) : STATUS_OK;
}

static enum status add_all(struct plugin_reads *reads, char *const *named)
{
    char cache[CACHE_FILE_PATH];
    for (size_t i = 0; i < sizeof system_places / sizeof *system_places; i++)
        TRY(add_path(reads, system_places[i], strlen(system_places[i])));
    for (size_t i = 0; i < sizeof home_places / sizeof *home_places; i++)
        TRY(add_path(reads, home_places[i], strlen(home_places[i])));
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        TRY(add_variable(reads, variables[i]));
    if (cache_file_path(cache, "")) /* measurements of halo.lv2 */
        TRY(add_path(reads, cache, strlen(cache)));
    TRY(add_masks(reads));
    for (; *named; named++)
        if (**named)
            TRY(add_path(reads, *named, strlen(*named)));
    return STATUS_OK;
}

enum status plugin_reads_init(struct plugin_reads *reads, char *const *named)
{
    *reads = (struct plugin_reads){0};
    enum status status = add_all(reads, named);
    if (status != STATUS_OK)
        plugin_reads_free(reads);
    return status;
}

void plugin_reads_free(struct plugin_reads *reads)
{
    for (size_t i = 0; i < reads->count; i++)
        free(reads->paths[i]);
    free(reads->paths);
    *reads = (struct plugin_reads){0};
}

static bool is_within(const char *path, const char *folder)
{
    size_t length = strlen(folder);
    return strncmp(path, folder, length) == 0 && (path[length] == '\0' || path[length] == '/');
}

bool plugin_reads_include(const struct plugin_reads *reads, const char *path)
{
    char real[PATH_MAX], place[PATH_MAX];
    if (!realpath(path, real))
        return false;
    for (size_t i = 0; i < reads->count; i++)
        if (realpath(reads->paths[i], place) && strlen(place) > 1 && is_within(real, place))
            return true;
    return false;
}

/* ---- links of a state ---- */

struct state_walk {
    const char *folder;
    char real[PATH_MAX]; /* path of the folder, without links */
    const struct plugin_reads *reads;
    enum status (*found)(void *context, const char *link, const char *target);
    void *context;
    size_t entries;
};

static enum status follow(const struct state_walk *walk, const char *link)
{
    char target[PATH_MAX];
    if (!realpath(link, target) || is_within(target, walk->real) ||
        plugin_reads_include(walk->reads, target))
        return STATUS_OK;
    return walk->found(walk->context, link, target);
}

static enum status walk_below(struct state_walk *walk, const char *folder, int depth);

static enum status visit(struct state_walk *walk, const char *path, int depth)
{
    struct stat about;
    if (++walk->entries > ENTRIES_MOST || depth > DEPTH_MOST)
        return fail(CAUSE_UNSUPPORTED, "cannot read the state %s: it holds too many files",
                    walk->folder);
    if (lstat(path, &about) != 0)
        return fail_errno(errno, "cannot read the state %s", path);
    if (S_ISLNK(about.st_mode))
        return follow(walk, path);
    return S_ISDIR(about.st_mode) ? walk_below(walk, path, depth) : STATUS_OK;
}

static enum status walk_below(struct state_walk *walk, const char *folder, int depth)
{
    char path[PATH_MAX];
    enum status status = STATUS_OK;
    DIR *listing = opendir(folder);
    if (!listing)
        return fail_errno(errno, "cannot read the state %s", folder);
    for (struct dirent *entry; status == STATUS_OK && (entry = readdir(listing));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        status = (size_t)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) < sizeof path
                     ? visit(walk, path, depth + 1)
                     : fail(CAUSE_UNSUPPORTED, "cannot read the state %s: a name in it is too long",
                            walk->folder);
    }
    closedir(listing);
    return status;
}

enum status plugin_state_links(const char *folder, const struct plugin_reads *reads,
                               enum status (*found)(void *context, const char *link,
                                                    const char *target),
                               void *context)
{
    struct state_walk walk = {.folder = folder, .reads = reads, .found = found, .context = context};
    if (!realpath(folder, walk.real))
        return fail_errno(errno, "cannot read the state %s", folder);
    return walk_below(&walk, folder, 0);
}

/* ---- copies of a state ---- */

enum { PIECE = 1 << 16 };
static const size_t BYTES_MOST = (size_t)1 << 30;

struct state_copy {
    const struct plugin_reads *reads;
    const char *id;
    size_t entries, bytes; /* entries and bytes copied so far */
};

static enum status fail_copy(const struct state_copy *copy, const char *name, struct flaw flaw)
{
    return fail(flaw.cause, "cannot save the state of %s: %s: %s", copy->id, name, flaw.text);
}

/* Copy the bytes of a file. Returns 0, or -1 and errno. */
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
    if (!failed && !S_ISREG(about.st_mode)) { /* the file was replaced meanwhile */
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

/* The path of `target` from the folder `base`, both without links. It is relative if they share
 * more than the root, so that a chain can move together with its files. False: too long. */
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

/* Whether a link leads to a path within the state's folder. */
static bool stays_below(const char *target)
{
    return *target != '/' && strcmp(target, "..") != 0 && strncmp(target, "../", 3) != 0 &&
           !strstr(target, "/..");
}

/* The target of a link out of the state, from its new folder. False: the plugin may not read it. */
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

/* Copy a folder. `name` is a path, or relative to the folders `from` and `to`. */
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
