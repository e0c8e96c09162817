#include "gpu/block_plan.h"

enum {
    SLICE_LEAST = 1 << 15, /* frames: below, launches cost more than overlap gains */
    SLICE_MASKS = 4,       /* mask lengths: below, transforms overlap too much */
    SLICE_MULTIPLE = 4,    /* frames: kernels load and store 16 bytes */
    LIVE_FFT_LEAST = 64,
    /* A slow thread block may still read the previous block's oldest spectrum while a fast one
     * writes the next block's. */
    SPARE_SPECTRA = 3,
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
        plan.depth *= 2; /* so that slots stay in sequence when block numbers wrap */
    while (plan.fft < 2 * block)
        plan.fft *= 2;
    while ((size_t)1 << plan.fft_log2 < plan.fft)
        plan.fft_log2++;
    return plan;
}
