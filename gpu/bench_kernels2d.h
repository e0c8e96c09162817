/* halo bench kernels --dim 2, which gpu/bench_kernels.c hands on. */
#ifndef HALO_GPU_BENCH_KERNELS2D_H
#define HALO_GPU_BENCH_KERNELS2D_H

#include "base/status.h"

MUST_CHECK enum status bench_kernels2d(int argc, char **argv);

#endif
