/* halo bench stream: the stream bench's words and its grid. */
#include "base/stop.h"
#include "bench/bench_common.h"
#include "bench/cmd_bench.h"
#include "bench/stream_report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BLOCK_MOST = 1 << 16,
    CHANNELS_MOST = 1024,
    TAPS_MOST = 1 << 24,
    RATE_LEAST = 1000,
    RATE_MOST = 1000000,
    THREADS_MOST = 1024,
    BLOCKS_MOST = 10000000,
    SECONDS_MOST = 1000000,
    BACKENDS_MOST = 8,
    BACK_TO_BACK_BLOCKS = 100000,
    STRETCH_SECONDS = 20, /* of a cell, where nothing else is asked for */
    HOPELESS = 2,         /* times its length: a paced cell so slow will not catch up */
};

struct stream_options {
    struct bench_common common;    /* first: the words' takers know nothing else */
    struct number_list backends; /* indices, as convolver_backend_name has them */
    struct number_list modes;
    struct number_list blocks;
    struct number_list channels;
    struct number_list taps;
    struct number_list paces;
    size_t rate;    /* Hz */
    size_t threads; /* the step's */
    size_t count;   /* blocks a cell; 0: as the pace has it */
    double seconds; /* at most, a cell; 0: likewise */
    double warm_up; /* seconds */
};

/* ---- words ---- */

static enum status parse_backend(void *context, const struct option_row *row, const char *value)
{
    const char *names[BACKENDS_MOST + 1] = {0};
    for (size_t i = 0; i < BACKENDS_MOST && convolver_backend_name(i); i++)
        names[i] = convolver_backend_name(i);
    return options_choose_list(row->name, value, names,
                               &((struct stream_options *)context)->backends);
}

static enum status parse_mode(void *context, const struct option_row *row, const char *value)
{
    return options_choose_list(row->name, value, stream_mode_names,
                               &((struct stream_options *)context)->modes);
}

static enum status parse_pace(void *context, const struct option_row *row, const char *value)
{
    return options_choose_list(row->name, value, stream_pace_names,
                               &((struct stream_options *)context)->paces);
}

static enum status parse_block(void *context, const struct option_row *row, const char *value)
{
    return options_parse_list(row->name, value, 1, BLOCK_MOST,
                              &((struct stream_options *)context)->blocks);
}

static enum status parse_channels(void *context, const struct option_row *row, const char *value)
{
    return options_parse_list(row->name, value, 1, CHANNELS_MOST,
                              &((struct stream_options *)context)->channels);
}

static enum status parse_taps(void *context, const struct option_row *row, const char *value)
{
    return options_parse_list(row->name, value, 1, TAPS_MOST,
                              &((struct stream_options *)context)->taps);
}

static enum status parse_rate(void *context, const struct option_row *row, const char *value)
{
    return options_parse_number(row->name, value, RATE_LEAST, RATE_MOST,
                                &((struct stream_options *)context)->rate);
}

static enum status parse_threads(void *context, const struct option_row *row, const char *value)
{
    return options_parse_number(row->name, value, 1, THREADS_MOST,
                                &((struct stream_options *)context)->threads);
}

static enum status parse_count(void *context, const struct option_row *row, const char *value)
{
    return options_parse_number(row->name, value, 1, BLOCKS_MOST,
                                &((struct stream_options *)context)->count);
}

static enum status parse_seconds(void *context, const struct option_row *row, const char *value)
{
    return options_parse_seconds(row->name, value, 0.001, SECONDS_MOST,
                                 &((struct stream_options *)context)->seconds);
}

static enum status parse_warm_up(void *context, const struct option_row *row, const char *value)
{
    return options_parse_seconds(row->name, value, 0, SECONDS_MOST,
                                 &((struct stream_options *)context)->warm_up);
}

static enum status parse_verbose(void *context, const struct option_row *row, const char *value)
{
    (void)context, (void)row, (void)value;
    note_verbosity(VERBOSITY_VERBOSE);
    return STATUS_OK;
}

static const struct option_row rows[] = {
    {"backend", 0, "LIST", "cpu (default), cuda, direct", parse_backend},
    {"gpu-mode", 0, "LIST", "how cuda goes about it: auto (default), resident, graph", parse_mode},
    {"block", 0, "LIST", "frames a block; 64 by default", parse_block},
    {"channels", 0, "LIST", "each with a mask of its own; 2 by default", parse_channels},
    {"taps", 0, "LIST", "mask lengths; 1024 by default", parse_taps},
    {"rate", 0, "HZ", "frames a second; 48000 by default", parse_rate},
    {"pace", 0, "LIST", "paced, spun, back-to-back; the first and last by default", parse_pace},
    {"blocks", 0, "N",
     "blocks to time in a cell; by default 20 seconds' worth\npaced, 100000 back to back",
     parse_count},
    {"seconds", 0, "S",
     "time a cell may take, however many blocks that makes; by\n"
     "default twice its blocks' own length paced, 20 back to back",
     parse_seconds},
    {"warm-up", 0, "S", "seconds before, not timed; 0.5 by default", parse_warm_up},
    {"threads", 0, "N", "from 2 on a helper has long partitions on the CPU; 1 by\ndefault",
     parse_threads},
    {"csv", 0, NULL, "print comma-separated values", bench_parse_csv},
    {"json", 0, NULL, "print one JSON object", bench_parse_json},
    {"verbose", 'v', NULL, "say what priority and memory the system granted", parse_verbose},
    {"help", 'h', NULL, "print this", bench_parse_help},
    {0},
};

static void print_help(void)
{
    puts("usage: halo bench stream [options]\n\n"
         "Hand blocks of noise one by one to a convolver, as live sound comes, and time\n"
         "each from handing it in to having its output: the median, the 99th, the 99.9th\n"
         "and the 99.99th percentile and the longest, against the deadline, which is a\n"
         "block's own length.\n"
         "Lists, separated by commas, make a grid, a row a cell. Outputs are compared with\n"
         "double precision; a wrong one ends the bench.\n\noptions:");
    options_print(stdout, rows, sizeof rows / sizeof *rows);
    puts("\npaced: a block every period, as a sound card has it, with real-time priority\n"
         "and locked memory where the system allows that. `missed` blocks took longer than\n"
         "their period; `late` ones were not there at its end, be it for one before them.\n"
         "spun: the same at ordinary priority, the thread never sleeping, so that no waking is\n"
         "in the times.\n"
         "back-to-back: each as soon as the one before is done. Only here is the processors'\n"
         "time told (cpu s per s: of all threads, for a second of sound), since waiting spins.\n\n"
         "example: halo bench stream --backend cpu,cuda --taps 1024,480000 --channels 2,64");
}

/* ---- the grid ---- */

/* A cell's number has a digit for each list. */
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

static size_t cell_count(const struct stream_options *options)
{
    return options->paces.count * options->blocks.count * options->channels.count *
           options->taps.count * options->modes.count * options->backends.count;
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

/* False for one that repeats another: only a GPU has modes. */
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

static enum status measure(const struct stream_options *options)
{
    struct stream_report *report;
    enum status status = stream_report_create(options->common.form, &report);
    for (size_t n = 0; n < cell_count(options) && status == STATUS_OK; n++) {
        struct stream_cell cell;
        struct stream_row row;
        if (!cell_at(options, n, &cell))
            continue;
        status = stream_bench_measure(&cell, &row);
        if (status == STATUS_OK)
            status = stream_report_take(report, &row);
    }
    if (status == STATUS_OK)
        status = stream_report_finish(report);
    stream_report_destroy(report);
    return status;
}

enum status bench_stream(int argc, char **argv)
{
    struct stream_options options = {
        .backends = {1, {0}},
        .modes = {1, {GPU_MODE_AUTO}},
        .blocks = {1, {64}},
        .channels = {1, {2}},
        .taps = {1, {1024}},
        .paces = {2, {STREAM_PACED, STREAM_BACK_TO_BACK}},
        .rate = 48000,
        .threads = 1,
        .warm_up = 0.5,
    };
    enum status status = options_parse(argc, argv, "halo bench stream", rows, &options);
    if (status != STATUS_OK)
        return status;
    if (options.common.help) {
        print_help();
        return STATUS_OK;
    }
    stop_watch();
    return measure(&options);
}
