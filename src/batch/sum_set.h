/* Hash tables of jobs, by sums (hashes) of their names. Threads: one at a time. */
#ifndef HALO_SUM_SET_H
#define HALO_SUM_SET_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A set of sums with the place where each first occurred, to find duplicates. All zero: empty. */
struct sum_set {
    struct sum_place {
        uint64_t sum; /* 0: the slot is empty; no set contains the sum 0 */
        size_t place; /* place where the sum first occurred */
    } *places;        /* open addressing */
    size_t count, capacity;
};

/* Add a sum. place: above 0. *earlier: the sum's first place; 0: it is new. Errors: memory. */
MUST_CHECK enum status sum_set_add(struct sum_set *set, uint64_t sum, size_t place,
                                   size_t *earlier);

/* Prefetch the memory for a sum to be used soon. With several sets, the fetches overlap. */
void sum_set_expect(const struct sum_set *set, uint64_t sum);

/* The place of a sum; 0: the set does not contain it. */
size_t sum_set_place(const struct sum_set *set, uint64_t sum);
void sum_set_free(struct sum_set *set);

/* ---- the last output of each job, found by the sum of its id ---- */

struct done_entry {
    uint64_t id;                        /* batch_id_sum */
    char digest[33];                    /* digest of everything that the output was made of */
    int64_t bytes, changed, changed_ns; /* size and time of change (s, ns) of the file */
    int64_t at;                         /* time at which the entry was recorded, in ms */
};

/* All zero: empty. */
struct done_table {
    struct done_entry *entries; /* open addressing; empty slots have no digest */
    size_t count, capacity;     /* a power of two */
};

/* Add an entry, unless the table has a later entry of the same job. False: no memory. */
bool done_table_add(struct done_table *table, const struct done_entry *entry);
bool done_table_find(const struct done_table *table, uint64_t id, struct done_entry *entry);
void done_table_free(struct done_table *table);

/* ---- the jobs of a list, on disk ---- */

/* The jobs of a list, as sums of their ids, for halo batch status. They are in a file beside the
 * journals, whose name is a sum of all ids. So all shards and runs of a list share one file. A run
 * holds a shared lock on the file of its list. Files without a lock belong to earlier lists, and
 * the next run removes them. Threads: the control thread. */
enum { JOB_SET_NAME = 17 }; /* digits, and the zero at the end */

struct job_set {
    uint64_t *sums; /* sorted; owned */
    size_t count;
};

/* Save the set in the folder of outputs unless it is there already, and set its `name`. The
 * descriptor *held holds the lock until it is closed. Errors: memory, writing. */
MUST_CHECK enum status job_set_save(const struct sum_set *ids, const char *folder,
                                    char name[JOB_SET_NAME], int *held);

/* Remove the sets in the folder that no run holds, except `name`. */
void job_set_sweep(const char *folder, const char *name);

/* False: the file is missing or damaged; `set` is then empty. */
bool job_set_load(struct job_set *set, const char *folder, const char *name);
bool job_set_has(const struct job_set *set, uint64_t sum);
void job_set_free(struct job_set *set);

#endif
