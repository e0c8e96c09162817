/* The machine's processors, memory and memory nodes. Threads: any. Not real-time. */
#ifndef HALO_MACHINE_H
#define HALO_MACHINE_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The number of processors that this process may run on. */
size_t machine_processors(void);

/* Whether a driver for NVIDIA's GPUs may be installed. */
bool machine_may_have_gpu(void);

/* Bytes of memory that this process can have. It is the least of three: the machine's memory; the
 * limit of its control groups (cgroup v1 and v2: a container's limit, MemoryMax of systemd, --mem
 * of Slurm); the address space (ulimit -v). It is determined once. */
uint64_t memory_limit(void);

/* For tests: the limit of the control groups alone, from files like /proc/self/cgroup and
 * /proc/self/mountinfo. UINT64_MAX: no limit. */
uint64_t memory_limit_of_groups(const char *cgroup, const char *mountinfo);

/* ---- memory nodes ----
 *
 * Finds the memory node that a device on the bus is near, and moves a thread there. Threads that it
 * starts and memory that it allocates are then near the device, too.
 *
 * It has no effect, and prints nothing, if the machine has one node or if the system does not tell
 * or forbids it. Linux. Threads: the control thread, which is the thread that moves.
 */

struct numa_place {
    int node;           /* number of the node; -1: there is only one, or it is not known */
    cpu_set_t cpus;     /* processors of the node */
    char cpu_list[128]; /* `cpus` as the system writes them; or "" */
};

/* The place of a device at `bus`, such as 0000:18:00.0. `sys` is /sys, except in tests. */
struct numa_place numa_place_of(const char *sys, const char *bus);

/* Parses a list such as 0-3,8. False: it is none, or has processors beyond those of cpu_set_t. */
bool numa_parse_cpus(const char *list, cpu_set_t *cpus);

/* The calling thread's settings before numa_enter. */
struct numa_before {
    bool has_cpus, has_policy;
    cpu_set_t cpus;
    int policy;
    unsigned long nodes[16];
};

/* Moves the calling thread to processors of the place, as far as it may use them. It gets memory of
 * that node first. The same holds for threads that it starts. */
void numa_enter(const struct numa_place *place, struct numa_before *before);
void numa_leave(const struct numa_before *before);

#endif
