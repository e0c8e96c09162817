/* halo bench stream: its options and its grid of cells. */
#include "base/stop.h"
#include "bench/bench.h"
#include "bench/stream_report.h"

#include <math.h>
#include <string.h>

enum {
    BLOCK_MOST = 1 << 16,
    CHANNELS_MOST = 1 << 16,
    MATRIX_MOST = 1 << 8, /* channels of a matrix */
    TAPS_MOST = 1 << 24,
    RATE_LEAST = 1000,
    RATE_MOST = 1000000,
    THREADS_MOST = 1024,
    BLOCKS_MOST = 10000000,
    BACK_TO_BACK_BLOCKS = 100000,
    STRETCH_SECONDS = 20, /* seconds of a cell, by default */
    HOPELESS = 2,         /* a paced cell is ended after so many times its duration */
};

struct stream_options {
    enum bench_form form;
    enum verbosity verbosity;
    struct number_list backends; /* indices for convolver_backend_name */
    struct number_list modes;
    struct gpu_devices devices;
    struct number_list blocks;
    struct number_list channels;
    struct number_list paths; /* 0: a path per channel, 1: a matrix */
    struct number_list taps;
    struct number_list paces;
    size_t rate;    /* Hz */
    size_t threads; /* threads of the step */
    size_t count;   /* blocks per cell; 0: depends on the pace */
    double seconds; /* most seconds per cell; 0: depends on the pace */
    double warm_up; /* seconds */
};

/* ---- the grid ---- */

/* Takes the next digit of a cell's number. The number has one digit per list of values. */
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
           options->paths.count * options->taps.count * options->modes.count *
           options->backends.count;
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

/* Sets the cell of a number. Returns false if it repeats another one: only a GPU has modes. */
static bool cell_at(const struct stream_options *options, size_t number, struct stream_cell *cell)
{
    *cell = (struct stream_cell){
        .rate = (uint32_t)options->rate, .threads = options->threads, .warm_up = options->warm_up};
    cell->pace = (enum stream_pace)next_value(&options->paces, &number);
    cell->block = next_value(&options->blocks, &number);
    cell->channels = next_value(&options->channels, &number);
    cell->matrix = next_value(&options->paths, &number);
    cell->taps = next_value(&options->taps, &number);
    size_t mode = next_digit(&options->modes, &number);
    cell->backend = convolver_backend_name(next_value(&options->backends, &number));
    limit_cell(options, cell);
    if (strcmp(cell->backend, "cuda") != 0)
        return mode == 0;
    cell->gpu_mode = (enum gpu_mode)options->modes.values[mode];
    cell->devices = options->devices;
    return true;
}

static enum status measure(void *context)
{
    const struct stream_options *options = context;
    struct stream_report *report;
    note_verbosity(options->verbosity);
    stop_watch();
    enum status status = stream_report_create(options->form, &report);
    for (size_t n = 0; n < cell_count(options) && status == STATUS_OK; n++) {
        struct stream_cell cell;
        struct stream_row row;
        if (!cell_at(options, n, &cell))
            continue;
        if (cell.matrix && cell.channels > MATRIX_MOST)
            status = fail(CAUSE_USAGE, "--paths matrix takes at most %d channels", MATRIX_MOST);
        else
            status = stream_bench_measure(&cell, &row);
        if (status == STATUS_OK)
            status = stream_report_take(report, &row);
    }
    if (status == STATUS_OK)
        status = stream_report_finish(report);
    stream_report_destroy(report);
    return status;
}

static enum status parse_devices(void *options, const struct option_row *row, const char *value)
{
    struct gpu_devices *devices = &((struct stream_options *)options)->devices;
    TRY(gpu_devices_parse(row->name, value, devices));
    return gpu_devices_check_one(devices);
}

#define SECONDS_MOST 1e6

static const struct option_row rows[] = {
    OPT_CHOICES("backend", "LIST", struct stream_options, backends, "cpu (default), cuda, direct",
                .name_at = convolver_backend_name),
    OPT_CHOICES("gpu-mode", "LIST", struct stream_options, modes,
                "how cuda runs: auto (default), resident, graph", .names = stream_mode_names),
    OPT_PARSE("devices", "N", parse_devices, "the GPU to use; default: 0"),
    OPT_INTEGERS("block", "LIST", struct stream_options, blocks, 1, BLOCK_MOST,
                 "frames per block; default 64"),
    OPT_INTEGERS("channels", "LIST", struct stream_options, channels, 1, CHANNELS_MOST,
                 "channels, each with its own mask; default 2"),
    OPT_CHOICES("paths", "LIST", struct stream_options, paths,
                "separate (default), matrix: from each channel to each",
                .names = stream_paths_names),
    OPT_INTEGERS("taps", "LIST", struct stream_options, taps, 1, TAPS_MOST,
                 "mask lengths; default 1024"),
    OPT_INTEGER("rate", "HZ", struct stream_options, rate, RATE_LEAST, RATE_MOST,
                "frames per second; default 48000"),
    OPT_CHOICES("pace", "LIST", struct stream_options, paces,
                "paced, spun, back-to-back; default: paced,back-to-back",
                .names = stream_pace_names),
    OPT_INTEGER("blocks", "N", struct stream_options, count, 1, BLOCKS_MOST,
                "blocks to time per cell; default: 20 seconds of sound\n"
                "paced, 100000 back to back"),
    OPT_SECONDS("seconds", "S", struct stream_options, seconds, 0.001, SECONDS_MOST,
                "time limit per cell; default: twice the duration of its\n"
                "blocks paced, 20 back to back"),
    OPT_SECONDS("warm-up", "S", struct stream_options, warm_up, 0, SECONDS_MOST,
                "seconds to run before timing; default 0.5"),
    OPT_INTEGER(
        "threads", "N", struct stream_options, threads, 1, THREADS_MOST,
        "threads; from 2 workers compute long partitions on the\nCPU, as many as the channels need, or share the copies\nof large blocks to and from a GPU; default 1"),
    BENCH_FORMS(struct stream_options, form),
    OPT_VALUE("verbose", struct stream_options, verbosity, VERBOSITY_VERBOSE,
              "print which priority and memory the system granted, and\n"
              "which GPU is used",
              .letter = 'v'),
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
        "With --json and --csv `worker_late` counts blocks in which the step did what a worker\n"
        "should have done.\n"
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
            .paths = {1, {0}},
            .taps = {1, {1024}},
            .paces = {2, {STREAM_PACED, STREAM_BACK_TO_BACK}},
            .rate = 48000,
            .threads = 1,
            .warm_up = 0.5,
        },
    .run = measure,
};
