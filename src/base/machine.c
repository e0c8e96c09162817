#include "base/machine.h"

#include <ctype.h>
#include <limits.h>
#include <linux/mempolicy.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

size_t machine_processors(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? (size_t)CPU_COUNT(&set) : 1;
}

bool machine_may_have_gpu(void)
{
    return access("/dev/nvidiactl", F_OK) == 0 || access("/dev/dxg", F_OK) == 0;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Reads a limit. "max" of v2 is not a number and means no limit. In v1 no limit is about 2^63. */
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

/* The least limit of the group in `mount` and of the groups that contain it. */
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

/* Reads a line of mountinfo: "31 23 0:28 ROOT MOUNT OPTIONS ... - TYPE SOURCE OPTIONS". */
static uint64_t limit_in(const char *line, const char *group, bool is_v2)
{
    char root[PATH_MAX], mount[PATH_MAX], type[32], options[256];
    const char *rest = strstr(line, " - ");
    if (!rest || sscanf(line, "%*s %*s %*s %4095s %4095s", root, mount) != 2 ||
        sscanf(rest, " - %31s %*s %255s", type, options) != 2)
        return UINT64_MAX;
    if (strcmp(type, is_v2 ? "cgroup2" : "cgroup") != 0 || (!is_v2 && !strstr(options, "memory")))
        return UINT64_MAX;
    /* A container may see its own group mounted, but read the group's name on the host. */
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

/* A line of v1 is "4:memory,hugetlb:/name", of v2 "0::/name". */
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

/* Reads the first line of one of the kernel's files. "": it cannot be read. */
static void read_line(const char *path, char *line, size_t size)
{
    *line = '\0';
    FILE *file = fopen(path, "re");
    if (!file)
        return;
    if (!fgets(line, (int)size, file))
        *line = '\0';
    (void)fclose(file);
    line[strcspn(line, "\n")] = '\0';
}

bool numa_parse_cpus(const char *list, cpu_set_t *cpus)
{
    CPU_ZERO(cpus);
    for (const char *at = list;; at++) {
        char *end;
        if (!isdigit((unsigned char)*at))
            return false;
        unsigned long first = strtoul(at, &end, 10), last = first;
        if (*end == '-' && isdigit((unsigned char)end[1]))
            last = strtoul(end + 1, &end, 10);
        if (last < first || last >= CPU_SETSIZE)
            return false;
        for (unsigned long cpu = first; cpu <= last; cpu++)
            CPU_SET(cpu, cpus);
        if (*end == '\0')
            return true;
        if (*end != ',')
            return false;
        at = end;
    }
}

/* On a machine with one node, the list is "0". */
static bool has_several_nodes(const char *sys)
{
    char path[256], line[64];
    snprintf(path, sizeof path, "%s/devices/system/node/online", sys);
    read_line(path, line, sizeof line);
    return strpbrk(line, ",-") != NULL;
}

struct numa_place numa_place_of(const char *sys, const char *bus)
{
    struct numa_place place = {.node = -1};
    char path[256], line[sizeof place.cpu_list], *end, lower[32] = "";
    for (size_t i = 0; bus[i] && i + 1 < sizeof lower; i++)
        lower[i] = (char)tolower((unsigned char)bus[i]); /* as the kernel writes it */
    snprintf(path, sizeof path, "%s/bus/pci/devices/%s/numa_node", sys, lower);
    read_line(path, line, sizeof line);
    long node = strtol(line, &end, 10);
    if (end == line || node < 0 || node >= (long)(8 * sizeof((struct numa_before *)NULL)->nodes) ||
        !has_several_nodes(sys))
        return place;
    snprintf(path, sizeof path, "%s/bus/pci/devices/%s/local_cpulist", sys, lower);
    read_line(path, line, sizeof line);
    if (!numa_parse_cpus(line, &place.cpus))
        return place;
    place.node = (int)node;
    memcpy(place.cpu_list, line, sizeof line);
    return place;
}

static void enter_node(int node, struct numa_before *before)
{
    enum { BITS = 8 * sizeof *before->nodes };
    unsigned long nodes[sizeof before->nodes / sizeof *before->nodes] = {0};
    before->has_policy = syscall(SYS_get_mempolicy, &before->policy, before->nodes,
                                 8 * sizeof before->nodes, NULL, 0) == 0;
    nodes[node / BITS] = 1UL << node % BITS;
    if (before->has_policy)
        before->has_policy =
            syscall(SYS_set_mempolicy, MPOL_PREFERRED, nodes, 8 * sizeof nodes) == 0;
}

void numa_enter(const struct numa_place *place, struct numa_before *before)
{
    *before = (struct numa_before){0};
    if (place->node < 0)
        return;
    cpu_set_t near = place->cpus;
    if (sched_getaffinity(0, sizeof before->cpus, &before->cpus) == 0) {
        CPU_AND(&near, &near, &before->cpus);
        before->has_cpus = CPU_COUNT(&near) > 0 && sched_setaffinity(0, sizeof near, &near) == 0;
    }
    enter_node(place->node, before);
}

void numa_leave(const struct numa_before *before)
{
    if (before->has_cpus)
        (void)sched_setaffinity(0, sizeof before->cpus, &before->cpus);
    if (before->has_policy)
        (void)syscall(SYS_set_mempolicy, before->policy, before->nodes, 8 * sizeof before->nodes);
}
