/* The backend "cuda": which of its ways a convolver takes. */
#include "convolver_cuda.h"
#include "gpu.h"
#include "live_kernels.h"

enum {
    WISH_FRAMES = 1 << 19, /* short masks: slices enough to overlap copies and kernels */
    WISH_MASKS = 16,       /* long ones: masks' lengths, of which slices are a quarter */
};

static bool cuda_is_usable(void)
{
    int count = 0;
    return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
}

_Static_assert((int)GPU_LIVE_BLOCK_MOST == (int)LIVE_BLOCK_MOST, "one limit, told twice");

static const struct convolver_backend *cuda_variant(const struct convolver_shape *shape)
{
    return shape->live && shape->block <= LIVE_BLOCK_MOST ? &convolver_cuda_live
                                                          : &convolver_cuda_batch;
}

static size_t cuda_wish(size_t taps, size_t most)
{
    size_t wish = WISH_MASKS * taps;
    wish = wish < WISH_FRAMES ? WISH_FRAMES : wish;
    return wish < most ? wish : most;
}

/* The variants do all the rest. */
const struct convolver_backend convolver_cuda = {
    .name = "cuda",
    .is_usable = cuda_is_usable,
    .variant = cuda_variant,
    .wish = cuda_wish,
};
