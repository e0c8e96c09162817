/* What this machine has: processors, memory, memory nodes. Threads: any. Not real-time. */
#ifndef HALO_MACHINE_H
#define HALO_MACHINE_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Processors that this process may run on. */
size_t machine_processors(void);

/* Whether a driver of NVIDIA's GPUs may be there. */
bool machine_may_have_gpu(void);

/* Bytes of memory that this process can have: the least of the machine's memory, of what its
 * control groups allow (cgroup v1 and v2: a container's limit, MemoryMax of systemd, --mem of
 * Slurm) and of address space (ulimit -v). It is read once. */
uint64_t memory_limit(void);

/* The same of the control groups alone, by files that look like /proc/self/cgroup and
 * /proc/self/mountinfo; UINT64_MAX: no limit. For tests. */
uint64_t memory_limit_of_groups(const char *cgroup, const char *mountinfo);

/* ---- memory nodes ----
 *
 * Where a device on the bus is in a machine of several memory nodes, and what is done beside it:
 * threads started and memory allocated there are near it.
 *
 * Silently without effect where the machine has one node, or where the system does not say or
 * forbids it. Linux. Threads: the control thread, whose own place is what changes. */

struct numa_place {
    int node;           /* -1: there is one only, or it is not known */
    cpu_set_t cpus;     /* of it */
    char cpu_list[128]; /* as the system writes them; "" */
};

/* The place of the device `bus`, such as 0000:18:00.0; `sys`: /sys. */
struct numa_place numa_place_of(const char *sys, const char *bus);

/* As in 0-3,8. False: no such list, or a processor beyond what a cpu_set_t has. */
bool numa_parse_cpus(const char *list, cpu_set_t *cpus);

/* What the calling thread may have had before. */
struct numa_before {
    bool has_cpus, has_policy;
    cpu_set_t cpus;
    int policy;
    unsigned long nodes[16];
};

/* From here on the calling thread runs on processors of the place that it may use, if there are
 * any, and gets memory of its node first. So do threads that it starts. */
void numa_enter(const struct numa_place *place, struct numa_before *before);
void numa_leave(const struct numa_before *before);

#endif
