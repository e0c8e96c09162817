/* The backend "cuda": chooses the variant for a convolver. */
#include "gpu/convolver_cuda.h"
#include "gpu/gpu.h"
#include "gpu/live_kernels.h"

enum {
    PREFERRED_FRAMES = 1 << 19, /* short masks: enough slices to overlap copies and kernels */
    PREFERRED_MASKS = 16,       /* long masks: mask lengths; a slice is a quarter */
};

static bool cuda_is_usable(void)
{
    int count = 0;
    return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
}

_Static_assert((int)GPU_LIVE_BLOCK_MOST == (int)LIVE_BLOCK_MOST, "the same limit");

static const struct convolver_backend *cuda_variant(const struct convolver_shape *shape)
{
    return shape->live && shape->block <= LIVE_BLOCK_MOST ? &convolver_cuda_live
                                                          : &convolver_cuda_batch;
}

static size_t cuda_preferred_block(size_t taps, size_t most)
{
    size_t preferred_block = PREFERRED_MASKS * taps;
    preferred_block = preferred_block < PREFERRED_FRAMES ? PREFERRED_FRAMES : preferred_block;
    return preferred_block < most ? preferred_block : most;
}

/* The variants have the other functions. */
const struct convolver_backend convolver_cuda = {
    .name = "cuda",
    .is_usable = cuda_is_usable,
    .variant = cuda_variant,
    .preferred_block = cuda_preferred_block,
};
