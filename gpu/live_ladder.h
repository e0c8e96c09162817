/* How a live stream's masks are divided into partitions that grow, and which work belongs to which
 * block. Plain arithmetic, for the host and the device.
 *
 * The first `block` taps are convolved directly. Then follow levels, each with partitions of
 * `period` blocks (Gardner 1995). After every `period` blocks a partition of the inputs is full.
 * Each of the next three periods has a part of its work:
 *   1. the inputs are transformed, a share in each block;
 *   2. the products are added and transformed back, a share of the outputs in each block;
 *   3. the results are due.
 * So a level begins at tap 3 size - block, and all blocks have the same work. If transforms and
 * products were in one period, the long levels would save a tenth of the products, but some blocks
 * would have three times the work of others. The level of single blocks transforms and multiplies
 * in the same block, and begins at tap `block`.
 *
 * Blocks are counted from 1. Their numbers may wrap, since periods, depths and windows are powers
 * of two. Partition q ends with block q x period. Its job has the same number.
 */
#ifndef HALO_GPU_LIVE_LADDER_H
#define HALO_GPU_LIVE_LADDER_H

#include "base/realtime.h"

#include <stdbool.h>

#ifdef __CUDACC__
#define LIVE_SHARED static __host__ __device__ __forceinline__
#else
#define LIVE_SHARED static inline
#endif

enum {
    LIVE_LEVELS = 4,
    LIVE_BINS_LEAST = 32,
    LIVE_BINS_MOST = 8192, /* the most bins of a transform in a multiprocessor's shared memory */
};

struct live_level {
    unsigned first;  /* the level's first tap */
    unsigned size;   /* taps of a partition: period x block */
    unsigned period; /* blocks */
    unsigned behind; /* periods from the transforms to the products: 0 or 1 */
    unsigned bins;   /* a power of two, at least `size`; bin 0 holds the first and the middle bin */
    unsigned bins_log2;
    unsigned partitions; /* partitions of the longest mask */
    unsigned depth;      /* spectra in an input's history */
};

struct live_ladder {
    unsigned count;
    unsigned window; /* blocks of each input that are kept as samples */
    struct live_level levels[LIVE_LEVELS];
};

/* Inputs or outputs first up to last, without last. */
struct live_span {
    unsigned first, last;
};

/* Place of block `number` in its period. */
HALO_REALTIME LIVE_SHARED unsigned live_phase(const struct live_level *level, unsigned number)
{
    return number & (level->period - 1);
}

/* The partition whose inputs are transformed in block `number`. */
LIVE_SHARED unsigned live_job_in(const struct live_level *level, unsigned number)
{
    return number / level->period;
}

/* The partition whose results are computed in block `number`, while those of the last are due. */
LIVE_SHARED unsigned live_job_out(const struct live_level *level, unsigned number)
{
    return live_job_in(level, number) - level->behind;
}

/* Place of a job's spectra in an input's history. */
LIVE_SHARED unsigned live_entry(const struct live_level *level, unsigned job)
{
    return job & (level->depth - 1);
}

LIVE_SHARED struct live_span live_part(unsigned count, unsigned part, unsigned parts)
{
    struct live_span share;
    share.first = (unsigned)((unsigned long long)count * part / parts);
    share.last = (unsigned)((unsigned long long)count * (part + 1) / parts);
    return share;
}

/* The inputs that are transformed in block `number`. */
LIVE_SHARED struct live_span live_inputs_in(const struct live_level *level, unsigned number,
                                            unsigned inputs)
{
    return live_part(inputs, live_phase(level, number), level->period);
}

/* The outputs whose results are computed in block `number`. A mask that is new to its slot in this
 * block has missed the job's shares in earlier blocks. For it these are computed, too. */
LIVE_SHARED struct live_span live_outputs_in(const struct live_level *level, unsigned number,
                                             unsigned outputs, bool is_new)
{
    struct live_span share = live_part(outputs, live_phase(level, number), level->period);
    if (is_new)
        share.first = 0;
    return share;
}

/* Whether a mask whose products began with block `since` has all results due in block `number`. */
HALO_REALTIME LIVE_SHARED bool live_is_complete(const struct live_ladder *ladder, unsigned since,
                                                unsigned number)
{
    for (unsigned l = 0; l < ladder->count; l++) {
        const struct live_level *level = &ladder->levels[l];
        if ((int)(number - live_phase(level, number) - level->period - since) < 0)
            return false;
    }
    return true;
}

/* Where sample i of a job's two partitions lies in the ring of `window` blocks. The transform has
 * `bins` complex points, made of 2 bins real samples. The first of these are silent if the two
 * partitions are shorter. False: sample i is silence. */
LIVE_SHARED bool live_sample_at(const struct live_ladder *ladder, const struct live_level *level,
                                unsigned block, unsigned job, unsigned i, unsigned *at)
{
    unsigned silent = 2 * level->bins - 2 * level->size;
    if (i < silent)
        return false;
    unsigned before = (i - silent) / block, frame = (i - silent) % block;
    unsigned number = (job - 2) * level->period + 1 + before;
    *at = (number & (ladder->window - 1)) * block + frame;
    return true;
}

/* Where the results for block `number` begin among the results of the previous job. */
LIVE_SHARED unsigned live_due_at(const struct live_level *level, unsigned number, unsigned block)
{
    return live_phase(level, number) * block;
}

#endif
