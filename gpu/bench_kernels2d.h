/* halo bench kernels --dim 2, which gpu/bench_kernels.c hands on. */
#ifndef HALO_GPU_BENCH_KERNELS2D_H
#define HALO_GPU_BENCH_KERNELS2D_H

#include "bench/bench.h"

extern const struct command bench_kernels2d;

#endif
