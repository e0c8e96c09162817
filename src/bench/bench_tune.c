/* halo bench tune: find and store the fastest plans of the transforms that convolvers use. */
#include "base/monotonic.h"
#include "base/printable.h"
#include "base/stop.h"
#include "bench/bench.h"
#include "convolve/partition.h"
#include "signal/fft.h"

#include <stdio.h>

enum {
    LENGTH_LEAST = 32,
    LENGTH_MOST = 1 << 23,
    LENGTH_DEFAULT = 1 << 18, /* partitions of masks of up to minutes */
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
        return STATUS_INTERRUPTED; /* results so far are stored */
    TRY(fft_tune(n, options->patient, &known));
    if (known)
        printf("%8zu points: known\n", n);
    else
        printf("%8zu points: %.1f s\n", n, monotonic_seconds() - start);
    fflush(stdout);
    return STATUS_OK;
}

static enum status tune_all(void *context)
{
    const struct tune_options *options = context;
    stop_watch();
    /* Powers of two and 3/4 of them, as partition.c cuts masks. */
    for (size_t n = LENGTH_LEAST; n <= options->most; n *= 2) {
        if (n / 4 * 3 % PARTITION_LINE == 0)
            TRY(tune(n / 4 * 3, options));
        TRY(tune(n, options));
    }
    printf("stored in %s\n", printable(fft_wisdom_file()));
    return STATUS_OK;
}

static const struct option_row rows[] = {
    OPT_INTEGER("most", "N", struct tune_options, most, LENGTH_LEAST, LENGTH_MOST,
                "longest transform, in points; default 262144"),
    OPT_FLAG("patient", struct tune_options, patient,
             "try far more plans: minutes instead of seconds"),
    {0},
};

const struct command bench_tune = {
    .name = "halo bench tune",
    .summary = "find the fastest transforms on this machine and store them",
    .usage = "usage: halo bench tune [options]\n\n"
             "Time many plans of FFTW's transforms, which pictures and the feedback guard use,\n"
             "and store the fastest in the user's cache folder ($XDG_CACHE_HOME/halo,\n"
             "~/.cache/halo), where later runs find them. Convolution has transforms of its own.\n"
             "Without stored plans a run searches for at most half a second and then estimates.\n"
             "On a busy machine the results are poor.",
    .ending = "example: halo bench tune",
    .groups = OPTION_GROUP(rows),
    .size = sizeof(struct tune_options),
    .defaults = &(const struct tune_options){.most = LENGTH_DEFAULT},
    .run = tune_all,
};
