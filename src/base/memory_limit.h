/* How much memory this process can have. Threads: any. Not real-time. */
#ifndef HALO_MEMORY_LIMIT_H
#define HALO_MEMORY_LIMIT_H

#include <stdint.h>

/* Bytes: the least of the machine's memory, of what its control groups allow (cgroup v1 and v2: a
 * container's limit, MemoryMax of systemd, --mem of Slurm) and of address space (ulimit -v). It is
 * read once. */
uint64_t memory_limit(void);

/* The same of the control groups alone, by files that look like /proc/self/cgroup and
 * /proc/self/mountinfo; UINT64_MAX: no limit. For tests. */
uint64_t memory_limit_of_groups(const char *cgroup, const char *mountinfo);

#endif
