/* halo bench WHAT: measures parts of the program on this machine. */
#ifndef HALO_CMD_BENCH_H
#define HALO_CMD_BENCH_H

#include "base/status.h"

/* argv[0] is "bench". */
MUST_CHECK enum status cmd_bench(int argc, char **argv);

/* halo bench kernels: the GPU's kernels (bench_kernels.c; an empty row where CUDA is not built
 * in). argv[0] is "kernels". */
MUST_CHECK enum status bench_kernels(int argc, char **argv);

/* halo bench render: files, end to end (bench_render.c). argv[0] is "render". */
MUST_CHECK enum status bench_render(int argc, char **argv);

/* halo bench stream: blocks one by one, as live (bench_stream.c). argv[0] is "stream". */
MUST_CHECK enum status bench_stream(int argc, char **argv);

/* halo bench tune: fast plans of transforms, kept (bench_tune.c). argv[0] is "tune". */
MUST_CHECK enum status bench_tune(int argc, char **argv);

#endif
