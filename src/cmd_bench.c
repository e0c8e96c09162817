#include "cmd_bench.h"

#include <stdio.h>
#include <string.h>

enum status cmd_bench(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "kernels") == 0)
        return bench_kernels(argc - 1, argv + 1);
    if (strcmp(what, "--help") == 0 || strcmp(what, "-h") == 0) {
        puts("usage: halo bench kernels [options]\n\n"
             "  kernels      times the GPU's convolution kernels beside a plain copy\n\n"
             "halo bench kernels --help tells more.");
        return STATUS_OK;
    }
    return fail(STATUS_USAGE, "halo bench measures: kernels; halo bench --help tells more");
}
