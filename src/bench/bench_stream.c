/* halo bench stream: options and grid of the stream bench. */
#include "base/stop.h"
#include "bench/bench.h"
#include "bench/bench_columns.h"
#include "bench/stream_bench.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    BLOCK_MOST = 1 << 16,
    CHANNELS_MOST = 1024,
    TAPS_MOST = 1 << 24,
    RATE_LEAST = 1000,
    RATE_MOST = 1000000,
    THREADS_MOST = 1024,
    BLOCKS_MOST = 10000000,
    BACK_TO_BACK_BLOCKS = 100000,
    STRETCH_SECONDS = 20, /* of a cell, by default */
    HOPELESS = 2,         /* times its duration: a paced cell this slow never catches up */
};

struct stream_options {
    enum bench_form form;
    enum verbosity verbosity;
    struct number_list backends; /* indices for convolver_backend_name */
    struct number_list modes;
    struct number_list blocks;
    struct number_list channels;
    struct number_list taps;
    struct number_list paces;
    size_t rate;    /* Hz */
    size_t threads; /* the step's */
    size_t count;   /* blocks per cell; 0: by the pace */
    double seconds; /* at most, per cell; 0: by the pace */
    double warm_up; /* seconds */
};

/* By enum stream_pace; by enum gpu_mode. */
static const char *const pace_names[] = {"paced", "spun", "back-to-back", NULL};
static const char *const mode_names[] = {"auto", "resident", "graph", NULL};

/* ---- the report ---- */

#define ROW(field) offsetof(struct stream_row, field)

static const struct bench_column columns[] = {
    {"backend", ROW(cell.backend), COLUMN_TEXT, IN_BOTH},
    {"gpu_mode", ROW(mode_name), COLUMN_TEXT, IN_BOTH},
    {"algorithm", ROW(algorithm), COLUMN_QUOTED, IN_BOTH},
    {"pace", ROW(pace_name), COLUMN_TEXT, IN_BOTH},
    {"block", ROW(cell.block), COLUMN_COUNT, IN_BOTH},
    {"channels", ROW(cell.channels), COLUMN_COUNT, IN_BOTH},
    {"taps", ROW(cell.taps), COLUMN_COUNT, IN_BOTH},
    {"rate", ROW(cell.rate), COLUMN_RATE, IN_BOTH},
    {"threads", ROW(cell.threads), COLUMN_COUNT, IN_BOTH},
    {"blocks", ROW(blocks), COLUMN_COUNT, IN_BOTH},
    {"deadline_us", ROW(period), COLUMN_MICROSECONDS, IN_BOTH},
    {"p50_us", ROW(p50), COLUMN_MICROSECONDS, IN_BOTH},
    {"p99_us", ROW(p99), COLUMN_MICROSECONDS, IN_BOTH},
    {"p999_us", ROW(p999), COLUMN_MICROSECONDS, IN_BOTH},
    {"p9999_us", ROW(p9999), COLUMN_MICROSECONDS, IN_BOTH},
    {"max_us", ROW(most), COLUMN_MICROSECONDS, IN_BOTH},
    {"share", ROW(share), 6, IN_BOTH},
    {"missed", ROW(missed), COLUMN_COUNT, IN_BOTH},
    {"late", ROW(late), COLUMN_COUNT, IN_BOTH},
    {"blocks_per_second", ROW(blocks_per_second), 9, IN_BOTH},
    {"times_real_time", ROW(times_real_time), 9, IN_BOTH},
    {"cpu_per_second", ROW(cpu_per_second), 9, IN_BOTH},
    {"error_db", ROW(error_db), COLUMN_DECIBELS, IN_BOTH},
    {"realtime", ROW(realtime), COLUMN_FLAG, IN_BOTH},
    {"locked", ROW(locked), COLUMN_FLAG, IN_BOTH},
    {0},
};

static void print_table_row(const struct stream_row *row, bool first)
{
    const struct stream_cell *cell = &row->cell;
    char backend[32], late[24] = "", speed[48] = " | ", error[24] = "exact";
    if (first)
        printf("%u Hz, %zu thread%s; times in microseconds\n\n"
               "| backend | pace | block | channels | taps | algorithm | blocks | deadline | p50 | "
               "p99 | p99.9 | p99.99 | max | p50 of deadline | missed | late | x real time | "
               "cpu s per s | error dB |\n"
               "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
               cell->rate, cell->threads, cell->threads == 1 ? "" : "s");
    snprintf(backend, sizeof backend, "%s%s%s", cell->backend, cell->gpu_mode ? " " : "",
             cell->gpu_mode ? mode_names[cell->gpu_mode] : "");
    if (row->late != SIZE_MAX)
        snprintf(late, sizeof late, "%zu", row->late);
    else
        snprintf(speed, sizeof speed, "%.1f | %.5f", row->times_real_time, row->cpu_per_second);
    if (isfinite(row->error_db))
        snprintf(error, sizeof error, "%.0f", row->error_db);
    printf("| %s | %s | %zu | %zu | %zu | %s | %zu | %.1f | %.1f | %.1f | %.1f | %.1f | %.1f | "
           "%.2f %% | %zu | %s | %s | %s |\n",
           backend, row->pace_name, cell->block, cell->channels, cell->taps, row->algorithm,
           row->blocks, 1e6 * row->period, 1e6 * row->p50, 1e6 * row->p99, 1e6 * row->p999,
           1e6 * row->p9999, 1e6 * row->most, 100 * row->share, row->missed, late, speed, error);
}

/* ---- the grid ---- */

/* The number of a cell has one digit per list. */
static size_t next_digit(const struct number_list *list, size_t *number)
{
    size_t digit = *number % list->count;
    *number /= list->count;
    return digit;
}

static size_t next_value(const struct number_list *list, size_t *number)
{
    return list->values[next_digit(list, number)];
}

static void limit_cell(const struct stream_options *options, struct stream_cell *cell)
{
    double period = (double)cell->block / cell->rate;
    bool paced = cell->pace != STREAM_BACK_TO_BACK;
    cell->blocks = options->count;
    if (!cell->blocks)
        cell->blocks = paced ? (size_t)ceil(STRETCH_SECONDS / period) : BACK_TO_BACK_BLOCKS;
    cell->seconds = options->seconds;
    if (cell->seconds == 0)
        cell->seconds = paced ? HOPELESS * (double)cell->blocks * period : STRETCH_SECONDS;
}

/* False for a repeated cell: only a GPU has modes. */
static bool cell_at(const struct stream_options *options, size_t number, struct stream_cell *cell)
{
    *cell = (struct stream_cell){
        .rate = (uint32_t)options->rate, .threads = options->threads, .warm_up = options->warm_up};
    cell->pace = (enum stream_pace)next_value(&options->paces, &number);
    cell->block = next_value(&options->blocks, &number);
    cell->channels = next_value(&options->channels, &number);
    cell->taps = next_value(&options->taps, &number);
    size_t mode = next_digit(&options->modes, &number);
    cell->backend = convolver_backend_name(next_value(&options->backends, &number));
    limit_cell(options, cell);
    if (strcmp(cell->backend, "cuda") != 0)
        return mode == 0;
    cell->gpu_mode = (enum gpu_mode)options->modes.values[mode];
    return true;
}

static enum status measure_cell(const struct stream_cell *cell, struct bench_rows *report,
                                bool *disturbed)
{
    struct stream_row row;
    TRY(stream_bench_measure(cell, &row));
    row.pace_name = pace_names[cell->pace];
    row.mode_name = strcmp(cell->backend, "cuda") == 0 ? mode_names[cell->gpu_mode] : NULL;
    if (report->form == BENCH_TABLE)
        print_table_row(&row, report->count == 0);
    *disturbed |= cell->pace == STREAM_PACED && !row.realtime;
    return bench_rows_add(report, columns, &row);
}

static enum status measure_all(const struct stream_options *options, struct bench_rows *report)
{
    bool disturbed = false; /* a paced row without the priority */
    size_t cells = options->paces.count * options->blocks.count * options->channels.count *
                   options->taps.count * options->modes.count * options->backends.count;
    for (size_t n = 0; n < cells; n++) {
        struct stream_cell cell;
        if (cell_at(options, n, &cell))
            TRY(measure_cell(&cell, report, &disturbed));
    }
    if (report->form == BENCH_TABLE && disturbed)
        puts("\nThe system granted no real-time priority (ulimit -r): other programs may have "
             "delayed the blocks.");
    return bench_rows_finish(report);
}

static enum status measure(void *context)
{
    const struct stream_options *options = context;
    struct bench_rows report = {.form = options->form};
    note_verbosity(options->verbosity);
    stop_watch();
    enum status status = measure_all(options, &report);
    json_decref(report.cells);
    return status;
}

#define SECONDS_MOST 1e6

static const struct option_row rows[] = {
    OPT_CHOICES("backend", "LIST", struct stream_options, backends, "cpu (default), cuda, direct",
                .name_at = convolver_backend_name),
    OPT_CHOICES("gpu-mode", "LIST", struct stream_options, modes,
                "how cuda runs: auto (default), resident, graph", .names = mode_names),
    OPT_INTEGERS("block", "LIST", struct stream_options, blocks, 1, BLOCK_MOST,
                 "frames per block; default 64"),
    OPT_INTEGERS("channels", "LIST", struct stream_options, channels, 1, CHANNELS_MOST,
                 "channels, each with its own mask; default 2"),
    OPT_INTEGERS("taps", "LIST", struct stream_options, taps, 1, TAPS_MOST,
                 "mask lengths; default 1024"),
    OPT_INTEGER("rate", "HZ", struct stream_options, rate, RATE_LEAST, RATE_MOST,
                "frames per second; default 48000"),
    OPT_CHOICES("pace", "LIST", struct stream_options, paces,
                "paced, spun, back-to-back; default: paced,back-to-back", .names = pace_names),
    OPT_INTEGER("blocks", "N", struct stream_options, count, 1, BLOCKS_MOST,
                "blocks to time per cell; default: 20 seconds of sound\n"
                "paced, 100000 back to back"),
    OPT_SECONDS("seconds", "S", struct stream_options, seconds, 0.001, SECONDS_MOST,
                "time limit per cell; default: twice the duration of its\n"
                "blocks paced, 20 back to back"),
    OPT_SECONDS("warm-up", "S", struct stream_options, warm_up, 0, SECONDS_MOST,
                "seconds to run before timing; default 0.5"),
    OPT_INTEGER("threads", "N", struct stream_options, threads, 1, THREADS_MOST,
                "threads; from 2 a worker computes long partitions on the\nCPU; default 1"),
    BENCH_FORMS(struct stream_options, form),
    OPT_VALUE("verbose", struct stream_options, verbosity, VERBOSITY_VERBOSE,
              "print which priority and memory the system granted", .letter = 'v'),
    {0},
};

const struct command bench_stream = {
    .name = "halo bench stream",
    .summary = "time single blocks, as in live sound",
    .usage = "usage: halo bench stream [options]\n\n"
             "Pass blocks of noise one by one to a convolver, as in live sound, and time each\n"
             "block: the median, the 99th, 99.9th and 99.99th percentile and the maximum,\n"
             "compared with the deadline, which is the duration of a block. Lists separated by\n"
             "commas make a grid, one row per cell. Outputs are compared with double precision;\n"
             "a wrong one ends the bench.",
    .ending =
        "paced: one block per period, as with a sound card, with real-time priority and\n"
        "locked memory where the system allows it. `missed` blocks took longer than their\n"
        "period; `late` ones were not complete at its end, perhaps because of an earlier one.\n"
        "spun: the same at ordinary priority, with a thread that never sleeps, so that the\n"
        "times exclude waking up.\n"
        "back-to-back: each block as soon as the previous one is done. Only this pace reports\n"
        "processor time (cpu s per s: of all threads, per second of sound), as waiting spins.\n\n"
        "example: halo bench stream --backend cpu,cuda --taps 1024,480000 --channels 2,64",
    .groups = OPTION_GROUP(rows),
    .size = sizeof(struct stream_options),
    .defaults =
        &(const struct stream_options){
            .verbosity = VERBOSITY_NORMAL,
            .backends = {1, {0}},
            .modes = {1, {GPU_MODE_AUTO}},
            .blocks = {1, {64}},
            .channels = {1, {2}},
            .taps = {1, {1024}},
            .paces = {2, {STREAM_PACED, STREAM_BACK_TO_BACK}},
            .rate = 48000,
            .threads = 1,
            .warm_up = 0.5,
        },
    .run = measure,
};
