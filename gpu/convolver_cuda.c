/* The backend "cuda" of the program: chooses the variant for a convolver. */
#include "gpu/convolver_cuda.h"

#include "convolve/near_bound.h"
#include "gpu/gpu.h"
#include "gpu/live_kernels.h"

enum {
    PREFERRED_FRAMES = 1 << 19, /* short masks: enough slices to overlap copies and kernels */
    PREFERRED_MASKS = 16,       /* long masks: mask lengths; a slice is a quarter */
};

_Static_assert((int)GPU_LIVE_BLOCK_MOST == (int)LIVE_BLOCK_MOST, "the same limit");

/* Where the rounding of single precision could pass the bound, files are computed in double. */
static const struct convolver_backend *cuda_variant(const struct convolver_shape *shape,
                                                    const struct mask *mask)
{
    const struct gpu_settings *gpu = &shape->gpu;
    bool has_many = (gpu->devices & (gpu->devices - 1)) != 0;
    if (shape->live && shape->block <= LIVE_BLOCK_MOST)
        return &convolver_cuda_live;
    if (!gpu->kernel && !has_many && (shape->has_choices || near_bound_concerns(mask)))
        return &convolver_cuda_in_double;
    return &convolver_cuda_batch;
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
    .in_double = &convolver_cuda_in_double,
    .is_usable = gpu_is_there,
    .variant = cuda_variant,
    .preferred_block = cuda_preferred_block,
};
