#include "base/memory_limit.h"

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* "max" of v2 is no number, and no limit; that of v1 is about 2^63. */
static uint64_t read_limit(const char *folder, const char *name)
{
    char path[PATH_MAX];
    unsigned long long bytes = 0;
    int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = length < (int)sizeof path ? fopen(path, "re") : NULL;
    bool is_there = file && fscanf(file, "%llu", &bytes) == 1;
    if (file)
        fclose(file);
    return is_there ? bytes : UINT64_MAX;
}

/* Of the group in `mount` and of those that hold it. */
static uint64_t limit_of(const char *mount, const char *group, const char *name)
{
    char folder[PATH_MAX];
    int length = snprintf(folder, sizeof folder, "%s%s", mount, group);
    if (length < 0 || length >= (int)sizeof folder)
        return UINT64_MAX;
    uint64_t limit = read_limit(folder, name);
    while (strlen(folder) > strlen(mount)) {
        *strrchr(folder, '/') = '\0';
        limit = least(limit, read_limit(folder, name));
    }
    return limit;
}

/* A line of mountinfo: "31 23 0:28 ROOT MOUNT OPTIONS ... - TYPE SOURCE OPTIONS". */
static uint64_t limit_in(const char *line, const char *group, bool is_v2)
{
    char root[PATH_MAX], mount[PATH_MAX], type[32], options[256];
    const char *rest = strstr(line, " - ");
    if (!rest || sscanf(line, "%*s %*s %*s %4095s %4095s", root, mount) != 2 ||
        sscanf(rest, " - %31s %*s %255s", type, options) != 2)
        return UINT64_MAX;
    if (strcmp(type, is_v2 ? "cgroup2" : "cgroup") != 0 || (!is_v2 && !strstr(options, "memory")))
        return UINT64_MAX;
    /* A container may see its own group mounted, and read the name that its host gives it. */
    size_t length = strcmp(root, "/") == 0 ? 0 : strlen(root);
    const char *below = strncmp(group, root, length) == 0 ? group + length : "";
    return limit_of(mount, below, is_v2 ? "memory.max" : "memory.limit_in_bytes");
}

static uint64_t limit_of_group(const char *group, bool is_v2, const char *mountinfo)
{
    char *line = NULL;
    size_t size = 0;
    uint64_t limit = UINT64_MAX;
    FILE *mounts = fopen(mountinfo, "re");
    while (mounts && getline(&line, &size, mounts) > 0)
        limit = least(limit, limit_in(line, group, is_v2));
    if (mounts)
        fclose(mounts);
    free(line);
    return limit;
}

static bool is_of_memory(const char *controllers)
{
    for (const char *at = controllers; (at = strstr(at, "memory")); at++)
        if (strchr(":,", at[-1]) && strchr(":,", at[strlen("memory")]))
            return true;
    return false;
}

/* Lines of v1: "4:memory,hugetlb:/name"; of v2: "0::/name". */
uint64_t memory_limit_of_groups(const char *cgroup, const char *mountinfo)
{
    char *line = NULL;
    size_t size = 0;
    uint64_t limit = UINT64_MAX;
    FILE *groups = fopen(cgroup, "re");
    while (groups && getline(&line, &size, groups) > 0) {
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        group[1 + strcspn(group + 1, "\n")] = '\0';
        group += strcmp(group, ":/") == 0 ? 2 : 1; /* "/" is the mount itself */
        bool is_v2 = strncmp(line, "0::", 3) == 0;
        if (is_v2 || is_of_memory(controllers))
            limit = least(limit, limit_of_group(group, is_v2, mountinfo));
    }
    if (groups)
        fclose(groups);
    free(line);
    return limit;
}

static uint64_t found;

static void find(void)
{
    long pages = sysconf(_SC_PHYS_PAGES);
    long page = sysconf(_SC_PAGESIZE);
    struct rlimit space;
    found = memory_limit_of_groups("/proc/self/cgroup", "/proc/self/mountinfo");
    if (pages > 0 && page > 0)
        found = least(found, (uint64_t)pages * (uint64_t)page);
    if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY)
        found = least(found, space.rlim_cur);
}

uint64_t memory_limit(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find);
    return found;
}
