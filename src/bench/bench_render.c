/* halo bench render: the render bench's words and its grid. */
#include "base/stop.h"
#include "bench/bench_common.h"
#include "bench/cmd_bench.h"
#include "bench/render_table.h"
#include "convolve/convolver.h"

#include <stdio.h>

enum {
    CHANNELS_MOST = 1024,
    TAPS_MOST = 1 << 24,
    RATE_LEAST = 1000,
    RATE_MOST = 1000000,
    THREADS_MOST = 1024,
    SECONDS_MOST = 100000,
};

struct bench_options {
    struct bench_common common; /* first: the words' takers know nothing else */
    struct number_list channels;
    struct number_list taps;
    struct render_cell cell; /* but for those two */
    size_t rate;
};

/* ---- words ---- */

static enum status parse_taps(void *context, const struct option_row *row, const char *value)
{
    return options_parse_list(row->name, value, 1, TAPS_MOST,
                              &((struct bench_options *)context)->taps);
}

static enum status parse_channels(void *context, const struct option_row *row, const char *value)
{
    return options_parse_list(row->name, value, 1, CHANNELS_MOST,
                              &((struct bench_options *)context)->channels);
}

static enum status parse_seconds(void *context, const struct option_row *row, const char *value)
{
    return options_parse_seconds(row->name, value, 0.001, SECONDS_MOST,
                                 &((struct bench_options *)context)->cell.seconds);
}

static enum status parse_rate(void *context, const struct option_row *row, const char *value)
{
    return options_parse_number(row->name, value, RATE_LEAST, RATE_MOST,
                                &((struct bench_options *)context)->rate);
}

static enum status parse_threads(void *context, const struct option_row *row, const char *value)
{
    return options_parse_number(row->name, value, 1, THREADS_MOST,
                                &((struct bench_options *)context)->cell.threads);
}

static enum status parse_backend(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    if (!convolver_backend_exists(value))
        return fail(STATUS_USAGE, "there is no backend '%s'; halo bench render --help lists them",
                    value);
    ((struct bench_options *)context)->cell.backend = value;
    return STATUS_OK;
}

static enum status parse_rounds(void *context, const struct option_row *row, const char *value)
{
    return options_parse_number(row->name, value, 1, RENDER_ROUNDS_MOST,
                                &((struct bench_options *)context)->cell.rounds);
}

static enum status parse_folder(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    ((struct bench_options *)context)->cell.folder = value;
    return STATUS_OK;
}

static const struct option_row rows[] = {
    {"taps", 0, "LIST", "mask lengths; 1024,96000,480000 by default", parse_taps},
    {"channels", 0, "LIST", "each with a mask of its own; 2 by default", parse_channels},
    {"seconds", 0, "S", "of sound; 60 by default", parse_seconds},
    {"rate", 0, "HZ", "frames a second; 48000 by default", parse_rate},
    {"threads", 0, "N", "as halo render has it; all processors by default", parse_threads},
    {"backend", 0, "NAME", "auto (default), cpu, cuda or direct", parse_backend},
    {"rounds", 0, "N", "times to render, after one that is not timed; 5 by default", parse_rounds},
    {"folder", 0, "DIR", "where the files lie meanwhile; TMPDIR or /var/tmp by default",
     parse_folder},
    {"csv", 0, NULL, "print comma-separated values", bench_parse_csv},
    {"json", 0, NULL, "print one JSON object", bench_parse_json},
    {"help", 'h', NULL, "print this", bench_parse_help},
    {0},
};

static void print_help(void)
{
    puts("usage: halo bench render [options]\n\n"
         "Render a float WAV of noise through masks of noise, file to file, as halo render\n"
         "does, and print how long it takes, its processor time and its memory, beside the\n"
         "floor: the time that merely reading and writing those bytes takes, and that of the\n"
         "transforms alone, shared out to all threads without loss. The last column is how\n"
         "many times that floor the render takes. Lists, separated by commas, make a grid, a\n"
         "row a cell. The files are removed again, also on Ctrl-C.\n\noptions:");
    options_print(stdout, rows, sizeof rows / sizeof *rows);
    puts("\nThe time is from opening the sound to the output being whole, plans and the mask's\n"
         "spectra included. A GPU's transforms are not told.\n\n"
         "example: halo bench render --taps 1024,480000 --channels 2,8 --seconds 600");
}

/* ---- the grid ---- */

static enum status measure(const struct bench_options *options)
{
    struct render_table *table;
    struct render_cell cell = options->cell;
    cell.rate = (uint32_t)options->rate;
    enum status status = render_table_create(options->common.form, &table);
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

enum status bench_render(int argc, char **argv)
{
    struct bench_options options = {
        .channels = {1, {2}},
        .taps = {3, {1024, 96000, 480000}},
        .cell = {.backend = "auto", .seconds = 60, .rounds = 5},
        .rate = 48000,
    };
    enum status status = options_parse(argc, argv, "halo bench render", rows, &options);
    if (status != STATUS_OK)
        return status;
    if (options.common.help) {
        print_help();
        return STATUS_OK;
    }
    stop_watch();
    return measure(&options);
}
