/* Stands in for gpu/bench_kernels.c where CUDA is not built in. */
#include "bench/bench.h"

static enum status refuse(int argc, char **argv)
{
    (void)argc, (void)argv;
    return fail(STATUS_FAILED, "this build has no CUDA (halo --version says why); install the CUDA "
                               "Toolkit and build again");
}

const struct command bench_kernels = {
    .name = "halo bench kernels",
    .summary = "times the GPU's convolution kernels beside a plain copy",
    .main = refuse,
};
