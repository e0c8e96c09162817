/* The backend "cuda" of the plugins, in the place of convolver_cuda.c: live streams alone, so that
 * a plugin carries none of the kernels for files. */
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
