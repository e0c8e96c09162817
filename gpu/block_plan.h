/* How the GPU's convolvers divide blocks and masks. Plain arithmetic, no buffers. */
#ifndef HALO_GPU_BLOCK_PLAN_H
#define HALO_GPU_BLOCK_PLAN_H

#include "gpu/live_ladder.h"

#include <stddef.h>

enum { SLICES_MOST = 8 };

/* How a file's block is divided into slices, whose copies and kernels overlap. */
struct slice_plan {
    size_t slice; /* frames, a multiple of 4; the last slice may be shorter */
    size_t slices;
};

struct slice_plan slice_plan_for(size_t block, size_t taps);

/* How a live stream's mask is divided: a head of one block, then partitions of one block each. */
struct live_plan {
    size_t partitions;
    size_t depth; /* spectra in an input's history: a power of two; 0: no partitions */
    size_t fft;   /* points of a transform: a power of two, at least 2 block */
    size_t fft_log2;
    size_t packets; /* packets per channel and block, of three samples each */
};

size_t live_partitions(size_t block, size_t taps);
struct live_plan live_plan_for(size_t block, size_t taps);

/* How a live stream's mask is divided into partitions that grow. The cheapest way whose transforms
 * have at most `bins_most` bins, which must be enough for the block. */
struct live_ladder live_ladder_for(size_t block, size_t taps, size_t bins_most);

/* Partitions of level `l` for a mask of `taps` taps, at most those the ladder was made for. */
size_t live_level_partitions(const struct live_ladder *ladder, size_t l, size_t taps);

#endif
