/* Tables of jobs by sums of their names. Threads: one at a time. */
#ifndef HALO_SUM_SET_H
#define HALO_SUM_SET_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sums, and the place of each, to find what occurs twice. All zero: empty. */
struct sum_set {
    struct sum_place {
        uint64_t sum; /* 0: empty, and in no set */
        size_t place; /* the first of this sum */
    } *places;        /* open addressing */
    size_t count, capacity;
};

/* place: above 0. *earlier: where it was first; 0: it is new. Errors: memory. */
MUST_CHECK enum status sum_set_add(struct sum_set *set, uint64_t sum, size_t place,
                                   size_t *earlier);

/* A sum that is about to be added or looked for: of several sets, their places are fetched at once.
 */
void sum_set_expect(const struct sum_set *set, uint64_t sum);

/* 0: it is not there. */
size_t sum_set_place(const struct sum_set *set, uint64_t sum);
void sum_set_free(struct sum_set *set);

/* ---- the last output of each job, found by the sum of its id ---- */

struct done_entry {
    uint64_t id;                        /* batch_id_sum */
    char digest[33];                    /* of what the output was made of */
    int64_t bytes, changed, changed_ns; /* of the file */
    int64_t at;                         /* ms: when it was written down */
};

/* All zero: empty. */
struct done_table {
    struct done_entry *entries; /* open addressing; an empty one has no digest */
    size_t count, capacity;     /* a power of two */
};

/* Add an entry, unless a later one is there. False: no memory. */
bool done_table_add(struct done_table *table, const struct done_entry *entry);
bool done_table_find(const struct done_table *table, uint64_t id, struct done_entry *entry);
void done_table_free(struct done_table *table);

/* ---- the jobs of a list, on disk ---- */

/* Which jobs a list has, by the sums of their ids, for halo batch status: a file beside the
 * journals, named by a sum of them all, so that each list has one, whatever shards and runs there
 * are. A run holds a shared lock on that of its list; the others are those of earlier lists, which
 * the next run removes. Threads: the control thread. */
enum { JOB_SET_NAME = 17 }; /* digits, and the 0 */

struct job_set {
    uint64_t *sums; /* sorted; owned */
    size_t count;
};

/* Saved in the folder of outputs, unless it is there, and held by the descriptor *held until that
 * is closed. Errors: memory, writing. */
MUST_CHECK enum status job_set_save(const struct sum_set *ids, const char *folder,
                                    char name[JOB_SET_NAME], int *held);

/* Remove those of the folder that no run holds, but for `name`. */
void job_set_sweep(const char *folder, const char *name);

/* False: it is not there, or damaged, and `set` is empty. */
bool job_set_load(struct job_set *set, const char *folder, const char *name);
bool job_set_has(const struct job_set *set, uint64_t sum);
void job_set_free(struct job_set *set);

#endif
