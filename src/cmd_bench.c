#include "cmd_bench.h"

#include <stdio.h>
#include <string.h>

struct bench {
    const char *name;
    const char *help;
    enum status (*run)(int argc, char **argv);
};

static const struct bench benches[] = {
    {"kernels", "times the GPU's convolution kernels beside a plain copy", bench_kernels},
    {"render", "times sound files, file to file, beside their floor", bench_render},
    {"stream", "times blocks that come one by one, as in live sound", bench_stream},
    {"tune", "finds the fastest transforms on this machine and keeps them", bench_tune},
};
enum { BENCHES = sizeof benches / sizeof *benches };

static void print_help(void)
{
    puts("usage: halo bench WHAT [options]\n");
    for (size_t i = 0; i < BENCHES; i++)
        printf("  %-12s %s\n", benches[i].name, benches[i].help);
    puts("\nhalo bench WHAT --help tells more.");
}

enum status cmd_bench(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    for (size_t i = 0; i < BENCHES; i++)
        if (strcmp(what, benches[i].name) == 0)
            return benches[i].run(argc - 1, argv + 1);
    if (strcmp(what, "--help") == 0 || strcmp(what, "-h") == 0) {
        print_help();
        return STATUS_OK;
    }
    return fail(STATUS_USAGE,
                "halo bench measures: kernels, render, stream and tune; halo bench --help tells "
                "more");
}
