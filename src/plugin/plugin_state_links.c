#include "plugin/plugin_state_links.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { DEPTH_MOST = 16, ENTRIES_MOST = 10000 };

struct state_walk {
    const char *folder;
    char real[PATH_MAX]; /* of the folder, without links */
    const struct plugin_reads *reads;
    enum status (*found)(void *context, const char *link, const char *target);
    void *context;
    size_t entries;
};

static bool is_within(const char *path, const char *folder)
{
    size_t length = strlen(folder);
    return strncmp(path, folder, length) == 0 && (path[length] == '\0' || path[length] == '/');
}

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
