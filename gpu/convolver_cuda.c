/* The backend "cuda" of the program: chooses the variant for a convolver. */
#include "gpu/convolver_cuda.h"

#include "convolve/near_bound.h"
#include "gpu/gpu.h"
#include "gpu/live_kernels.h"

enum {
    PREFERRED_FRAMES = 1 << 16, /* least frames that are enough work for a GPU */
    PREFERRED_TAPS = 8,         /* divides the mask: a block has at least so many frames */
    BLOCK_MULTIPLE = 64,        /* frames */
    PREFERRED_SHARE = 4,        /* divides the most: copies, reading and writing overlap */
    LONG_TAPS = 1 << 13,
    MEMORY_SHARE = 3, /* divides the free memory: so much may hold a mask's spectra */
};

_Static_assert((int)GPU_LIVE_BLOCK_MOST == (int)LIVE_BLOCK_MOST, "the same limit");

static bool has_memory_for(const struct mask *mask)
{
    size_t free = 0, all = 0, point = sizeof(double2);
    return cudaMemGetInfo(&free, &all) == cudaSuccess &&
           mask->columns < free / MEMORY_SHARE / point / (2 * mask->taps);
}

/* Whether files are computed in double precision because it costs no more. Transforms in double
 * serve all outputs of a matrix at once. On a device that is fast in double, this takes no longer
 * than finding out whether single precision is enough. */
static bool suits_double(const struct convolver_shape *shape, const struct mask *mask)
{
    return shape->taps >= LONG_TAPS && gpu_is_there() &&
           cudaSetDevice(gpu_device(&shape->gpu.devices)) == cudaSuccess &&
           gpu_is_fast_in_double() && has_memory_for(mask);
}

/* The variant for a convolver. Files use double precision if single could pass the bound. */
static const struct convolver_backend *cuda_variant(const struct convolver_shape *shape,
                                                    const struct mask *mask)
{
    const struct gpu_settings *gpu = &shape->gpu;
    if (shape->live && shape->block <= LIVE_BLOCK_MOST)
        return &convolver_cuda_live;
    if (!gpu->kernel && (shape->has_choices || suits_double(shape, mask) ||
                         near_bound_concerns(mask, shape->workers)))
        return &convolver_cuda_in_double;
    return &convolver_cuda_batch;
}

/* Blocks are whole lines of memory. With odd numbers of frames, files took up to 2.7 times as long
 * (docs/measurements.md), probably as the copies of channels after the first were not aligned. */
static size_t cuda_preferred_block(size_t taps, size_t most)
{
    size_t preferred_block = most / PREFERRED_SHARE, least = taps / PREFERRED_TAPS;
    least = least < PREFERRED_FRAMES ? PREFERRED_FRAMES : least;
    preferred_block = preferred_block < least ? least : preferred_block;
    preferred_block = (preferred_block + BLOCK_MULTIPLE - 1) / BLOCK_MULTIPLE * BLOCK_MULTIPLE;
    return preferred_block < most ? preferred_block : most;
}

static void cuda_expect(const struct gpu_settings *gpu, size_t taps)
{
    gpu_expect(&gpu->devices, taps >= LONG_TAPS);
}

/* The other functions are the variants'. */
const struct convolver_backend convolver_cuda = {
    .name = "cuda",
    .in_double = &convolver_cuda_in_double,
    .is_usable = gpu_is_there,
    .bandwidth = gpu_bandwidth,
    .expect = cuda_expect,
    .settle = gpu_settle,
    .variant = cuda_variant,
    .preferred_block = cuda_preferred_block,
};
