/* Stands in for gpu/bench_kernels.c where CUDA is not built in. */
#include "bench/cmd_bench.h"

enum status bench_kernels(int argc, char **argv)
{
    (void)argc, (void)argv;
    return fail(STATUS_FAILED, "this build has no CUDA (halo --version says why); install the CUDA "
                               "Toolkit and build again");
}
