/* How the masks of a live stream are cut into partitions that grow, and what is done in which
 * block: plain arithmetic, for the host and the device.
 *
 * The first `block` taps are convolved as they are. Level after level follows, of partitions of
 * `period` blocks (Gardner 1995). With every `period` blocks a partition of the inputs is full.
 * In the blocks of the next period the inputs are transformed, a share in each; in those of the
 * period after it the products of the outputs are added and transformed back, a share of the
 * outputs in each; in the third one the results are due. So a level begins at tap 3 size - block,
 * and all blocks have the same work: with transforms and products in one period, the long levels
 * would save a tenth of the products, and some blocks had three times another's work. The level of
 * single blocks transforms and multiplies in the same block, and begins at tap `block`.
 *
 * Blocks are counted from 1, and numbers may wrap: periods, depths and windows are powers of two.
 * Partition q ends with block q x period; jobs have its number.
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
    LIVE_BINS_MOST = 8192, /* of a transform in a multiprocessor's memory */
};

struct live_level {
    unsigned first;  /* tap */
    unsigned size;   /* taps of a partition: period x block */
    unsigned period; /* blocks */
    unsigned behind; /* periods from the transforms to the products: 0 or 1 */
    unsigned bins;   /* a power of two, at least `size`; bin 0 holds the first and the last */
    unsigned bins_log2;
    unsigned partitions; /* of the longest mask */
    unsigned depth;      /* spectra in an input's history */
};

struct live_ladder {
    unsigned count;
    unsigned window; /* blocks of an input that are kept in time */
    struct live_level levels[LIVE_LEVELS];
};

/* [first, last) of the inputs or outputs. */
struct live_span {
    unsigned first, last;
};

HALO_REALTIME LIVE_SHARED unsigned live_phase(const struct live_level *level, unsigned number)
{
    return number & (level->period - 1);
}

/* The partition whose inputs are transformed in block `number`. */
LIVE_SHARED unsigned live_job_in(const struct live_level *level, unsigned number)
{
    return number / level->period;
}

/* That whose results are made; those of the one before are due. */
LIVE_SHARED unsigned live_job_out(const struct live_level *level, unsigned number)
{
    return live_job_in(level, number) - level->behind;
}

/* Position of a job's spectra in an input's history. */
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

/* The outputs whose results are made in block `number`. A mask that is new to its slot in that
 * block has missed the job's share of earlier blocks, and gets it too. */
LIVE_SHARED struct live_span live_outputs_in(const struct live_level *level, unsigned number,
                                             unsigned outputs, bool is_new)
{
    struct live_span share = live_part(outputs, live_phase(level, number), level->period);
    if (is_new)
        share.first = 0;
    return share;
}

/* Whether what is due in block `number` was all made by a mask whose part in the products began
 * with block `since`. */
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

/* Where sample i of a job's two partitions is in the ring of `window` blocks. The partitions are
 * `bins` complex samples, made of 2 bins real ones, of which the first are silent. False: silence.
 */
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

/* Where the results for block `number` begin in those of the job before. */
LIVE_SHARED unsigned live_due_at(const struct live_level *level, unsigned number, unsigned block)
{
    return live_phase(level, number) * block;
}

#endif
