/* halo bench calibrate: measure this machine for `--backend auto`. */
#include "base/laps.h"
#include "base/stop.h"
#include "bench/bench.h"
#include "bench/render_bench.h"
#include "convolve/backend_cost.h"
#include "convolve/convolver.h"

#include <stdio.h>

enum {
    CHANNELS = 32,
    TAPS = 480000,
    SECONDS = 20,
    RATE = 48000,
    ROUNDS = 4,
};

struct calibrate_options {
    const char *folder;
};

/* It is made once in a process. */
static void measure_context(struct machine_speed *speed)
{
    const struct convolver_settings settings = {.backend = "cuda"};
    const struct backend_job job = {.taps = TAPS};
    laps_begin(false);
    convolver_expect(&settings, &job);
    convolver_settle();
    (void)machine_speed_add(speed, SPEED_CONTEXT,
                            lap_seconds(LAP_CONTEXT) + lap_seconds(LAP_LIBRARY));
}

static enum status measure_renders(const char *backend, const char *folder,
                                   struct machine_speed *speed)
{
    struct render_row row;
    const struct render_cell cell = {.backend = backend,
                                     .channels = CHANNELS,
                                     .taps = TAPS,
                                     .rate = RATE,
                                     .seconds = SECONDS,
                                     .rounds = ROUNDS,
                                     .folder = folder,
                                     .speed = speed};
    TRY(render_bench_measure(&cell, &row));
    printf("%-4s  %.3f s for %d channels of %d s and %d taps\n", backend, row.wall, CHANNELS,
           SECONDS, TAPS);
    return STATUS_OK;
}

static void print_figures(const struct machine_speed *before, const struct machine_speed *now)
{
    printf("%-8s  %11s  %11s\n", "figure", "measured", "before");
    for (enum machine_figure f = 0; f < SPEED_FIGURES; f++) {
        printf("%-8s  ", machine_speed_figure(f));
        if (now->measured[f] > 0)
            printf("%11.3g", now->value[f]);
        else
            printf("%11s", "-");
        printf("  %11.3g%s\n", before->value[f], before->measured[f] > 0 ? "" : " (default)");
    }
}

static enum status calibrate(void *context)
{
    const struct calibrate_options *options = context;
    struct machine_speed measured = {0};
    const struct machine_speed before = *machine_speed_now();
    stop_watch();
    measure_context(&measured);
    TRY(measure_renders("cuda", options->folder, &measured));
    TRY(measure_renders("cpu", options->folder, &measured));
    print_figures(&before, &measured);
    machine_speed_keep(&measured, true);
    return STATUS_OK;
}

static const struct option_row rows[] = {
    OPT_FILE("folder", "DIR", struct calibrate_options, folder,
             "folder for the files; default TMPDIR or /var/tmp"),
    {0},
};

const struct command bench_calibrate = {
    .name = "halo bench calibrate",
    .summary = "measure this machine's CPU and GPU, for backend auto",
    .usage = "usage: halo bench calibrate [options]\n\n"
             "Render noise on the GPU and on the CPU, and keep how fast both are in the user's\n"
             "cache folder ($XDG_CACHE_HOME/halo, ~/.cache/halo), for as many processors as this\n"
             "process may use. `--backend auto` then estimates by that which of them renders a\n"
             "file sooner. Without it the first renders measure the same. On a busy machine the\n"
             "results are poor.",
    .ending = "example: halo bench calibrate",
    .groups = OPTION_GROUP(rows),
    .size = sizeof(struct calibrate_options),
    .defaults = &(const struct calibrate_options){0},
    .run = calibrate,
};
