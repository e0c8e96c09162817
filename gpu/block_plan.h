/* How the GPU's convolvers split blocks and masks: plain arithmetic, no buffers. */
#ifndef HALO_GPU_BLOCK_PLAN_H
#define HALO_GPU_BLOCK_PLAN_H

#include "gpu/live_ladder.h"

#include <stddef.h>

enum { SLICES_MOST = 8 };

/* A file's block in slices, whose copies and kernels overlap. */
struct slice_plan {
    size_t slice; /* frames, a multiple of 4; the last may be shorter */
    size_t slices;
};

struct slice_plan slice_plan_for(size_t block, size_t taps);

/* A live stream's mask: a head of one block, then partitions of one block each. */
struct live_plan {
    size_t partitions;
    size_t depth; /* spectra in an input's history: a power of two; 0: none */
    size_t fft;   /* points of a transform: a power of two, at least 2 block */
    size_t fft_log2;
    size_t packets; /* of three samples, per block */
};

size_t live_partitions(size_t block, size_t taps);
struct live_plan live_plan_for(size_t block, size_t taps);

/* The same in partitions that grow, the cheapest way that needs no transform of more than
 * `bins_most` bins; that is at least the block's. */
struct live_ladder live_ladder_for(size_t block, size_t taps, size_t bins_most);

/* Partitions of level `l` of a mask of `taps` taps, at most those the ladder was made for. */
size_t live_level_partitions(const struct live_ladder *ladder, size_t l, size_t taps);

#endif
