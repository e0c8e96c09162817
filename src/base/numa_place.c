#include "base/numa_place.h"

#include <ctype.h>
#include <linux/mempolicy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The first line of a file of the kernel's; "": it cannot be read. */
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

/* "0" is the list of a machine with one. */
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
