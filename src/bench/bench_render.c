/* halo bench render: options, grid and report of the render bench. */
#include "base/json_text.h"
#include "base/stop.h"
#include "bench/bench.h"
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

enum { NUMBER_CAPACITY = 32 };

/* Empty if unknown. */
static const char *fixed_text(char *text, int decimals, double value)
{
    text[0] = '\0';
    if (isfinite(value))
        snprintf(text, NUMBER_CAPACITY, "%.*f", decimals, value);
    return text;
}

static const char *exact_text(char *text, double value)
{
    text[0] = '\0';
    if (isfinite(value))
        snprintf(text, NUMBER_CAPACITY, "%.9g", value);
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
               cell->seconds, cell->rate, row->threads, row->threads == 1 ? "" : "s", cell->rounds,
               cell->rounds == 1 ? "" : "s");
    printf("| %zu | %zu | %s | %s | %zu | %.3f | %.3f..%.3f | %.3f | %.3f | %.0f | %s | %.3f | %s "
           "| %s |\n",
           cell->channels, cell->taps, row->backend, row->algorithm, row->block, row->wall,
           row->wall_least, row->wall_most, row->user, row->system, render_row_speed(row),
           fixed_text(peak, 1, row->peak_bytes / 1e6), row->copy,
           fixed_text(transforms, 3, row->transforms),
           fixed_text(distance, 2, render_row_distance(row)));
}

/* An empty field: unknown, or not the CPU's. */
static void print_csv_row(const struct render_row *row, bool first)
{
    const struct render_cell *cell = &row->cell;
    char peak[NUMBER_CAPACITY], transforms[NUMBER_CAPACITY], distance[NUMBER_CAPACITY];
    if (first)
        puts("channels,taps,rate,seconds,rounds,threads,backend,algorithm,block,wall_s,"
             "wall_least_s,wall_most_s,user_s,system_s,times_real_time,peak_bytes,copy_s,"
             "transforms_s,transform_pairs,distance");
    printf("%zu,%zu,%u,%.9g,%zu,%zu,%s,\"%s\",%zu,%.9g,%.9g,%.9g,%.9g,%.9g,%.9g,%s,%.9g,%s,%llu,"
           "%s\n",
           cell->channels, cell->taps, cell->rate, cell->seconds, cell->rounds, row->threads,
           row->backend, row->algorithm, row->block, row->wall, row->wall_least, row->wall_most,
           row->user, row->system, render_row_speed(row), exact_text(peak, row->peak_bytes),
           row->copy, exact_text(transforms, row->transforms),
           (unsigned long long)row->transform_pairs,
           exact_text(distance, render_row_distance(row)));
}

static json_t *number_or_null(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *cell_object(const struct render_row *row)
{
    const struct render_cell *cell = &row->cell;
    json_t *object = json_pack(
        "{s:I, s:I, s:I, s:f, s:I, s:I, s:s, s:s, s:I}", "channels", (json_int_t)cell->channels,
        "taps", (json_int_t)cell->taps, "rate", (json_int_t)cell->rate, "seconds", cell->seconds,
        "rounds", (json_int_t)cell->rounds, "threads", (json_int_t)row->threads, "backend",
        row->backend, "algorithm", row->algorithm, "block", (json_int_t)row->block);
    json_t *numbers = json_pack(
        "{s:f, s:f, s:f, s:f, s:f, s:f, s:o, s:f, s:o, s:I, s:o}", "wall_s", row->wall,
        "wall_least_s", row->wall_least, "wall_most_s", row->wall_most, "user_s", row->user,
        "system_s", row->system, "times_real_time", render_row_speed(row), "peak_bytes",
        number_or_null(row->peak_bytes), "copy_s", row->copy, "transforms_s",
        number_or_null(row->transforms), "transform_pairs", (json_int_t)row->transform_pairs,
        "distance", number_or_null(render_row_distance(row)));
    json_object_update(object, numbers);
    json_decref(numbers);
    return object;
}

/* Tables and CSV grow row by row; JSON is printed at the end. */
static void print_row(const struct render_row *row, enum bench_form form, bool first, json_t *cells)
{
    if (form == BENCH_TABLE)
        print_table_row(row, first);
    else if (form == BENCH_CSV)
        print_csv_row(row, first);
    else
        json_array_append_new(cells, cell_object(row));
    fflush(stdout);
}

/* ---- the grid ---- */

static enum status measure(void *context)
{
    const struct bench_render_options *options = context;
    struct render_cell cell = options->cell;
    enum status status = STATUS_OK;
    json_t *cells = json_array();
    stop_watch();
    for (size_t c = 0; c < options->channels.count; c++)
        for (size_t t = 0; t < options->taps.count && status == STATUS_OK; t++) {
            struct render_row row;
            cell.channels = options->channels.values[c];
            cell.taps = options->taps.values[t];
            status = render_bench_measure(&cell, &row);
            if (status == STATUS_OK)
                print_row(&row, options->form, c == 0 && t == 0, cells);
        }
    json_t *root = json_pack("{s:o}", "cells", cells);
    if (status == STATUS_OK && options->form == BENCH_JSON)
        return json_print(root, JSON_REAL_PRECISION(9), "the report");
    json_decref(root);
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
    .ending = "The wall time starts when the sound is opened and ends when the output is complete; it\n"
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
