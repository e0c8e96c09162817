/* Stands in for gpu/convolver_cuda.c where CUDA is not built in. */
#include "convolve/convolver.h"

static enum status refuse(const struct convolver_shape *shape, struct convolution **convolution)
{
    (void)shape, (void)convolution;
    return fail(STATUS_FAILED, "this build has no CUDA (halo --version says why); install the CUDA "
                               "Toolkit and build again, or use --backend cpu");
}

const struct convolver_backend convolver_cuda = {.name = "cuda", .create = refuse};
