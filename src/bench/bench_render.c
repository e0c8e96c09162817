/* halo bench render: the options of the render bench and its grid. */
#include "base/stop.h"
#include "bench/bench.h"
#include "bench/render_table.h"
#include "convolve/convolver.h"

enum {
    CHANNELS_MOST = 1024,
    TAPS_MOST = 1 << 24,
    RATE_LEAST = 1000,
    RATE_MOST = 1000000,
    THREADS_MOST = 1024,
};

struct bench_options {
    enum bench_form form;
    struct number_list channels;
    struct number_list taps;
    struct render_cell cell; /* but for those two */
};

/* ---- the grid ---- */

static enum status measure(void *context)
{
    const struct bench_options *options = context;
    struct render_table *table;
    struct render_cell cell = options->cell;
    stop_watch();
    enum status status = render_table_create(options->form, &table);
    for (size_t c = 0; c < options->channels.count; c++)
        for (size_t t = 0; t < options->taps.count && status == STATUS_OK; t++) {
            struct render_row row;
            cell.channels = options->channels.values[c];
            cell.taps = options->taps.values[t];
            status = render_bench_measure(&cell, &row);
            if (status == STATUS_OK)
                status = render_table_take(table, &row);
        }
    if (status == STATUS_OK)
        status = render_table_finish(table);
    render_table_destroy(table);
    return status;
}

static const struct option_row rows[] = {
    OPT_INTEGERS("taps", "LIST", struct bench_options, taps, 1, TAPS_MOST,
                 "mask lengths; 1024,96000,480000 by default"),
    OPT_INTEGERS("channels", "LIST", struct bench_options, channels, 1, CHANNELS_MOST,
                 "each with a mask of its own; 2 by default"),
    OPT_SECONDS("seconds", "S", struct bench_options, cell.seconds, 0.001, 100000,
                "of sound; 60 by default"),
    OPT_INTEGER("rate", "HZ", struct bench_options, cell.rate, RATE_LEAST, RATE_MOST,
                "frames a second; 48000 by default"),
    OPT_INTEGER("threads", "N", struct bench_options, cell.threads, 1, THREADS_MOST,
                "as halo render has it; all processors by default"),
    OPT_WORD("backend", "NAME", struct bench_options, cell.backend,
             "auto (default), cpu, cuda or direct", .name_at = convolver_choice_name),
    OPT_INTEGER("rounds", "N", struct bench_options, cell.rounds, 1, RENDER_ROUNDS_MOST,
                "times to render, after one that is not timed; 5 by default"),
    OPT_FILE("folder", "DIR", struct bench_options, cell.folder,
             "where the files lie meanwhile; TMPDIR or /var/tmp by default"),
    BENCH_FORMS(struct bench_options, form),
    {0},
};

static const struct option_group groups[] = {{.heading = "options", .rows = rows}, {0}};

const struct command bench_render = {
    .name = "halo bench render",
    .summary = "times sound files, file to file, beside their floor",
    .usage = "usage: halo bench render [options]\n\n"
             "Render a float WAV of noise through masks of noise, file to file, as halo render\n"
             "does, and print how long it takes, its processor time and its memory, beside the\n"
             "floor: the time that merely reading and writing those bytes takes, and that of the\n"
             "transforms alone, shared out to all threads without loss. The last column is how\n"
             "many times that floor the render takes. Lists, separated by commas, make a grid, a\n"
             "row a cell. The files are removed again, also on Ctrl-C.",
    .ending = "The time is from opening the sound to the output being whole, plans and the mask's\n"
              "spectra included. A GPU's transforms are not told.\n\n"
              "example: halo bench render --taps 1024,480000 --channels 2,8 --seconds 600",
    .groups = groups,
    .size = sizeof(struct bench_options),
    .defaults =
        &(const struct bench_options){
            .channels = {1, {2}},
            .taps = {3, {1024, 96000, 480000}},
            .cell = {.backend = "auto", .seconds = 60, .rounds = 5, .rate = 48000},
        },
    .run = measure,
};
