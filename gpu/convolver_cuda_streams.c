/* The plugins' backend "cuda": live streams only, without the kernels for files. */
#include "gpu/convolver_cuda.h"

#include "gpu/gpu.h"

static const struct convolver_backend *streams_variant(const struct convolver_shape *shape,
                                                       const struct mask *mask)
{
    (void)shape, (void)mask;
    return &convolver_cuda_live;
}

const struct convolver_backend convolver_cuda = {
    .name = "cuda",
    .is_usable = gpu_is_there,
    .variant = streams_variant,
};
