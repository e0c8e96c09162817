#include "bench/cmd_bench.h"

#include "base/subcommand.h"

static const struct subcommand commands[] = {
    {
        .name = "kernels",
        .help = "times the GPU's convolution kernels beside a plain copy",
#ifndef HALO_NO_CUDA
        .run = bench_kernels,
#endif
    },
    {"render", "times sound files, file to file, beside their floor", bench_render},
    {"stream", "times blocks that come one by one, as in live sound", bench_stream},
    {"tune", "finds the fastest transforms on this machine and keeps them", bench_tune},
    {0},
};

enum status cmd_bench(int argc, char **argv)
{
    return subcommand_run("halo bench", commands, argc, argv);
}
