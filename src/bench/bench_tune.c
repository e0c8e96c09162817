/* halo bench tune: find and keep the fastest plans of the transforms that convolvers use. */
#include "base/monotonic.h"
#include "base/stop.h"
#include "bench/bench.h"
#include "convolve/partition.h"
#include "signal/fft.h"

#include <stdio.h>

enum {
    LENGTH_LEAST = 32,
    LENGTH_MOST = 1 << 23,
    LENGTH_DEFAULT = 1 << 18, /* what masks up to minutes are cut into */
};

struct tune_options {
    size_t most;
    bool patient;
};

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

static enum status tune_all(void *context)
{
    const struct tune_options *options = context;
    enum status status = STATUS_OK;
    stop_watch();
    /* Powers of two and 3/4 of them, as partition.c cuts masks. */
    for (size_t n = LENGTH_LEAST; n <= options->most && status == STATUS_OK; n *= 2) {
        if (n / 4 * 3 % PARTITION_LINE == 0)
            status = tune(n / 4 * 3, options);
        if (status == STATUS_OK)
            status = tune(n, options);
    }
    if (status == STATUS_OK)
        printf("kept in %s\n", fft_wisdom_file());
    return status;
}

static const struct option_row rows[] = {
    OPT_INTEGER("most", "N", struct tune_options, most, LENGTH_LEAST, LENGTH_MOST,
                "longest transform, in points; 262144 by default"),
    OPT_FLAG("patient", struct tune_options, patient,
             "try far more plans: minutes instead of seconds"),
    {0},
};

static const struct option_group groups[] = {{.heading = "options", .rows = rows}, {0}};

const struct command bench_tune = {
    .name = "halo bench tune",
    .summary = "finds the fastest transforms on this machine and keeps them",
    .usage = "usage: halo bench tune [options]\n\n"
             "Time the transforms that masks are convolved with, in many ways each, and keep\n"
             "the fastest ways in the user's cache folder ($XDG_CACHE_HOME/halo, ~/.cache/halo),\n"
             "where every later run finds them. Without it a run tries for half a second at most,\n"
             "and goes by estimates for the rest. On a busy machine the choices are poor.",
    .ending = "example: halo bench tune",
    .groups = groups,
    .size = sizeof(struct tune_options),
    .defaults = &(const struct tune_options){.most = LENGTH_DEFAULT},
    .run = tune_all,
};
