#include "gpu/block_plan.h"

#include <math.h>

enum {
    SLICE_LEAST = 1 << 15, /* frames; with shorter slices, launches cost more than overlap gains */
    SLICE_MASKS = 4,       /* mask lengths; in shorter slices, transforms overlap too much */
    SLICE_MULTIPLE = 4,    /* frames; kernels load and store 16 bytes */
    LIVE_FFT_LEAST = 64,
    /* spectra beyond the partitions: slow thread blocks may read the oldest while others write */
    SPARE_SPECTRA = 3,
    TRANSFORM_COST = 9, /* a transform there and back, in products of the same number of bins */
    LEVEL_COST = 1,     /* launching a level, in products of a bin; favours fewer levels */
};

struct slice_plan slice_plan_for(size_t block, size_t taps)
{
    size_t slice = (block + SLICES_MOST - 1) / SLICES_MOST, least = SLICE_MASKS * taps;
    slice = slice < least ? least : slice;
    slice = slice < SLICE_LEAST ? SLICE_LEAST : slice;
    slice = slice > block ? block : slice;
    slice = (slice + SLICE_MULTIPLE - 1) / SLICE_MULTIPLE * SLICE_MULTIPLE;
    return (struct slice_plan){slice, (block + slice - 1) / slice};
}

size_t live_partitions(size_t block, size_t taps)
{
    return (taps + block - 1) / block - 1;
}

struct live_plan live_plan_for(size_t block, size_t taps)
{
    struct live_plan plan = {
        .partitions = live_partitions(block, taps),
        .fft = LIVE_FFT_LEAST,
        .packets = (block + 2) / 3,
    };
    if (plan.partitions > 0)
        plan.depth = 1;
    while (plan.partitions > 0 && plan.depth < plan.partitions + SPARE_SPECTRA)
        plan.depth *= 2; /* a power of two keeps positions in sequence when block numbers wrap */
    while (plan.fft < 2 * block)
        plan.fft *= 2;
    while ((size_t)1 << plan.fft_log2 < plan.fft)
        plan.fft_log2++;
    return plan;
}

size_t live_level_partitions(const struct live_ladder *ladder, size_t l, size_t taps)
{
    const struct live_level *level = &ladder->levels[l];
    size_t until = l + 1 < ladder->count ? level[1].first : taps;
    until = until < taps ? until : taps;
    return until > level->first ? (until - level->first + level->size - 1) / level->size : 0;
}

static struct live_level level_of(size_t block, size_t period)
{
    unsigned behind = period > 1;
    struct live_level level = {.first = (unsigned)((2 + behind) * period * block - block),
                               .size = (unsigned)(period * block),
                               .period = (unsigned)period,
                               .behind = behind,
                               .bins = LIVE_BINS_LEAST,
                               .depth = 1};
    while (level.bins < level.size)
        level.bins *= 2;
    while (1U << level.bins_log2 < level.bins)
        level.bins_log2++;
    return level;
}

/* Completes the ladder and returns a block's cost, in products of one bin. For `depth` and `window`
 * see live_ladder.h: while a partition is transformed, products need the spectra before it. */
static double complete(struct live_ladder *ladder, size_t taps)
{
    double cost = 0;
    ladder->window = 2;
    for (size_t l = 0; l < ladder->count; l++) {
        struct live_level *level = &ladder->levels[l];
        level->partitions = (unsigned)live_level_partitions(ladder, l, taps);
        while (level->depth < level->partitions + 1 + level->behind)
            level->depth *= 2;
        while (ladder->window < 3 * level->period)
            ladder->window *= 2;
        cost += (double)level->bins / level->period * (level->partitions + TRANSFORM_COST);
        cost += LEVEL_COST * (double)ladder->levels[0].bins;
    }
    return cost;
}

/* Tries all longer periods after the ladder's last one. */
static void try_longer(const struct live_ladder *base, size_t block, size_t taps, size_t bins_most,
                       double *best_cost, struct live_ladder *best)
{
    struct live_ladder ladder = *base;
    double cost = complete(&ladder, taps);
    if (cost < *best_cost) {
        *best_cost = cost;
        *best = ladder;
    }
    if (base->count == LIVE_LEVELS)
        return;
    for (size_t period = 2 * base->levels[base->count - 1].period;; period *= 2) {
        struct live_level next = level_of(block, period);
        if (next.bins > bins_most || next.first >= taps)
            return;
        ladder = *base;
        ladder.levels[ladder.count++] = next;
        try_longer(&ladder, block, taps, bins_most, best_cost, best);
    }
}

struct live_ladder live_ladder_for(size_t block, size_t taps, size_t bins_most)
{
    struct live_ladder best = {.window = 2}, first = {.count = 1, .levels = {level_of(block, 1)}};
    double cost = INFINITY;
    if (taps > block)
        try_longer(&first, block, taps, bins_most, &cost, &best);
    return best;
}
