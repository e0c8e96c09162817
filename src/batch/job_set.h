/* Which jobs a list has, by the sums of their ids, for halo batch status: a file beside the
 * journals, named by a sum of them all, so that each list has one, whatever shards and runs there
 * are. A run holds a shared lock on that of its list; the others are those of earlier lists, which
 * the next run removes.
 *
 * Threads: the control thread.
 */
#ifndef HALO_JOB_SET_H
#define HALO_JOB_SET_H

#include "batch/sum_set.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
