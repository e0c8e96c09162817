/* Which jobs of a list a run does: those whose id has the number K of N. The ids alone decide, so
 * that shards stay the same when the list grows or is sorted. Threads: any. */
#ifndef HALO_BATCH_SHARD_H
#define HALO_BATCH_SHARD_H

#include "base/status.h"

#include <stdint.h>

struct batch_shard {
    size_t number, count; /* 1 to count */
};

/* `text` is K/N, or N, or NULL: what is not said comes from a scheduler's environment, and is
 * noted: SLURM_ARRAY_TASK_ID with its _MIN, _MAX, _STEP and _COUNT, or JOB_COMPLETION_INDEX, which
 * knows no N. Without any, the only shard. Errors (usage): no such shard; N is missing; variables
 * that are no numbers or contradict each other, an array of which a part was submitted. */
MUST_CHECK enum status batch_shard_choose(const char *text, struct batch_shard *shard);

bool batch_shard_has(const struct batch_shard *shard, uint64_t id_sum);

#endif
