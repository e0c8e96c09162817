/* halo bench tune: find and keep the fastest plans of the transforms that convolvers use. */
#include "base/monotonic.h"
#include "base/stop.h"
#include "bench/bench_common.h"
#include "bench/cmd_bench.h"
#include "convolve/partition.h"
#include "signal/fft.h"

#include <stdio.h>

enum {
    LENGTH_LEAST = 32,
    LENGTH_MOST = 1 << 23,
    LENGTH_DEFAULT = 1 << 18, /* what masks up to minutes are cut into */
};

struct tune_options {
    struct bench_common common; /* first: the words' takers know nothing else */
    size_t most;
    bool patient;
};

static enum status parse_most(void *context, const struct option_row *row, const char *value)
{
    return options_parse_number(row->name, value, LENGTH_LEAST, LENGTH_MOST,
                                &((struct tune_options *)context)->most);
}

static enum status parse_patient(void *context, const struct option_row *row, const char *value)
{
    (void)row, (void)value;
    ((struct tune_options *)context)->patient = true;
    return STATUS_OK;
}

static const struct option_row rows[] = {
    {"most", 0, "N", "longest transform, in points; 262144 by default", parse_most},
    {"patient", 0, NULL, "try far more plans: minutes instead of seconds", parse_patient},
    {"help", 'h', NULL, "print this", bench_parse_help},
    {0},
};

static void print_help(void)
{
    puts("usage: halo bench tune [options]\n\n"
         "Time the transforms that masks are convolved with, in many ways each, and keep\n"
         "the fastest ways in the user's cache folder ($XDG_CACHE_HOME/halo, ~/.cache/halo),\n"
         "where every later run finds them. Without it a run tries for half a second at most,\n"
         "and goes by estimates for the rest. On a busy machine the choices are poor.\n\noptions:");
    options_print(stdout, rows, sizeof rows / sizeof *rows);
    puts("\nexample: halo bench tune");
}

static enum status tune(size_t n, const struct tune_options *options)
{
    bool known;
    double start = monotonic_seconds();
    if (stop_requested())
        return STATUS_INTERRUPTED; /* what was found by now is kept */
    enum status status = fft_tune(n, options->patient, &known);
    if (status == STATUS_OK && known)
        printf("%8zu points: known\n", n);
    else if (status == STATUS_OK)
        printf("%8zu points: %.1f s\n", n, monotonic_seconds() - start);
    fflush(stdout);
    return status;
}

enum status bench_tune(int argc, char **argv)
{
    struct tune_options options = {.most = LENGTH_DEFAULT};
    enum status status = options_parse(argc, argv, "halo bench tune", rows, &options);
    if (status != STATUS_OK)
        return status;
    if (options.common.help) {
        print_help();
        return STATUS_OK;
    }
    stop_watch();
    /* Powers of two and 3/4 of them, as partition.c cuts masks. */
    for (size_t n = LENGTH_LEAST; n <= options.most && status == STATUS_OK; n *= 2) {
        if (n / 4 * 3 % PARTITION_LINE == 0)
            status = tune(n / 4 * 3, &options);
        if (status == STATUS_OK)
            status = tune(n, &options);
    }
    if (status == STATUS_OK)
        printf("kept in %s\n", fft_wisdom_file());
    return status;
}
