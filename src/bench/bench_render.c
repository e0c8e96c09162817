/* halo bench render: options, grid and report of the render bench. */
#include "base/plural.h"
#include "base/stop.h"
#include "bench/bench.h"
#include "bench/bench_columns.h"
#include "bench/render_bench.h"
#include "convolve/convolver.h"

#include <math.h>
#include <stdio.h>

enum {
    CHANNELS_MOST = 1024,
    TAPS_MOST = 1 << 24,
    RATE_LEAST = 1000,
    RATE_MOST = 1000000,
    THREADS_MOST = 1024,
};

struct bench_render_options {
    enum bench_form form;
    struct number_list channels;
    struct number_list taps;
    struct render_cell cell; /* except those two */
};

/* ---- rows ---- */

#define ROW(field) offsetof(struct render_row, field)

static const struct bench_column columns[] = {
    {"channels", ROW(cell.channels), COLUMN_COUNT, IN_BOTH},
    {"taps", ROW(cell.taps), COLUMN_COUNT, IN_BOTH},
    {"rate", ROW(cell.rate), COLUMN_RATE, IN_BOTH},
    {"seconds", ROW(cell.seconds), 9, IN_BOTH},
    {"rounds", ROW(cell.rounds), COLUMN_COUNT, IN_BOTH},
    {"threads", ROW(threads), COLUMN_COUNT, IN_BOTH},
    {"backend", ROW(backend), COLUMN_CHARS, IN_BOTH},
    {"algorithm", ROW(algorithm), COLUMN_QUOTED, IN_BOTH},
    {"block", ROW(block), COLUMN_COUNT, IN_BOTH},
    {"wall_s", ROW(wall), 9, IN_BOTH},
    {"wall_least_s", ROW(wall_least), 9, IN_BOTH},
    {"wall_most_s", ROW(wall_most), 9, IN_BOTH},
    {"user_s", ROW(user), 9, IN_BOTH},
    {"system_s", ROW(system), 9, IN_BOTH},
    {"times_real_time", ROW(speed), 9, IN_BOTH},
    {"peak_bytes", ROW(peak_bytes), 9, IN_BOTH},
    {"copy_s", ROW(copy), 9, IN_BOTH},
    {"transforms_s", ROW(transforms), 9, IN_BOTH},
    {"transform_pairs", ROW(transform_pairs), COLUMN_COUNT, IN_BOTH},
    {"distance", ROW(distance), 9, IN_BOTH},
    {0},
};

enum { NUMBER_CAPACITY = 32 };

/* Empty if unknown. */
static const char *fixed_text(char *text, int decimals, double value)
{
    text[0] = '\0';
    if (isfinite(value))
        snprintf(text, NUMBER_CAPACITY, "%.*f", decimals, value);
    return text;
}

static void print_table_row(const struct render_row *row, bool first)
{
    const struct render_cell *cell = &row->cell;
    char peak[NUMBER_CAPACITY], transforms[NUMBER_CAPACITY], distance[NUMBER_CAPACITY];
    if (first)
        printf("%g s of %u Hz float WAV, %zu thread%s, %zu round%s; seconds are medians\n\n"
               "| channels | taps | backend | algorithm | block | wall s | spread | user s | "
               "system s | x real time | peak MB | copy s | transforms s | "
               "wall / (copy + transforms) |\n"
               "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
               cell->seconds, cell->rate, row->threads, plural_s(row->threads), cell->rounds,
               plural_s(cell->rounds));
    printf("| %zu | %zu | %s | %s | %zu | %.3f | %.3f..%.3f | %.3f | %.3f | %.0f | %s | %.3f | %s "
           "| %s |\n",
           cell->channels, cell->taps, row->backend, row->algorithm, row->block, row->wall,
           row->wall_least, row->wall_most, row->user, row->system, row->speed,
           fixed_text(peak, 1, row->peak_bytes / 1e6), row->copy,
           fixed_text(transforms, 3, row->transforms), fixed_text(distance, 2, row->distance));
}

/* ---- the grid ---- */

static enum status measure_all(const struct bench_render_options *options,
                               struct bench_rows *report)
{
    struct render_cell cell = options->cell;
    for (size_t c = 0; c < options->channels.count; c++)
        for (size_t t = 0; t < options->taps.count; t++) {
            struct render_row row;
            cell.channels = options->channels.values[c];
            cell.taps = options->taps.values[t];
            TRY(render_bench_measure(&cell, &row));
            if (report->form == BENCH_TABLE)
                print_table_row(&row, report->count == 0);
            TRY(bench_rows_add(report, columns, &row));
        }
    return bench_rows_finish(report);
}

static enum status measure(void *options)
{
    struct bench_rows report = {.form = ((const struct bench_render_options *)options)->form};
    stop_watch();
    enum status status = measure_all(options, &report);
    json_decref(report.cells);
    return status;
}

static const struct option_row rows[] = {
    OPT_INTEGERS("taps", "LIST", struct bench_render_options, taps, 1, TAPS_MOST,
                 "mask lengths; default 1024,96000,480000"),
    OPT_INTEGERS("channels", "LIST", struct bench_render_options, channels, 1, CHANNELS_MOST,
                 "channels, each with its own mask; default 2"),
    OPT_SECONDS("seconds", "S", struct bench_render_options, cell.seconds, 0.001, 100000,
                "duration of the sound; default 60"),
    OPT_INTEGER("rate", "HZ", struct bench_render_options, cell.rate, RATE_LEAST, RATE_MOST,
                "frames per second; default 48000"),
    OPT_INTEGER("threads", "N", struct bench_render_options, cell.threads, 1, THREADS_MOST,
                "threads; default: one per processor"),
    OPT_WORD("backend", "NAME", struct bench_render_options, cell.backend,
             "auto (default), cpu, cuda or direct", .name_at = convolver_choice_name),
    OPT_INTEGER("rounds", "N", struct bench_render_options, cell.rounds, 1, RENDER_ROUNDS_MOST,
                "timed rounds, after one that is not timed; default 5"),
    OPT_FILE("folder", "DIR", struct bench_render_options, cell.folder,
             "folder for the files; default TMPDIR or /var/tmp"),
    BENCH_FORMS(struct bench_render_options, form),
    {0},
};

const struct command bench_render = {
    .name = "halo bench render",
    .summary = "time rendering of sound files, file to file",
    .usage = "usage: halo bench render [options]\n\n"
             "Render a float WAV of noise through masks of noise, as halo render does, and print\n"
             "the wall time, processor time and memory. Compare them with the floor: the time to\n"
             "read and write those bytes plus the time of the transforms alone, divided evenly\n"
             "among the threads. The last column is wall time / floor. Lists separated by commas\n"
             "make a grid, one row per cell. The files are removed afterwards, also on Ctrl-C.",
    .ending =
        "The wall time starts when the sound is opened and ends when the output is complete; it\n"
        "includes plans and the spectra of the mask. Transforms of a GPU are not measured.\n\n"
        "example: halo bench render --taps 1024,480000 --channels 2,8 --seconds 600",
    .groups = OPTION_GROUP(rows),
    .size = sizeof(struct bench_render_options),
    .defaults =
        &(const struct bench_render_options){
            .channels = {1, {2}},
            .taps = {3, {1024, 96000, 480000}},
            .cell = {.backend = "auto", .seconds = 60, .rounds = 5, .rate = 48000},
        },
    .run = measure,
};
