/* halo bench batch: options and report of the batch bench. */
#include "base/machine.h"
#include "base/stop.h"
#include "bench/batch_bench.h"
#include "bench/bench.h"
#include "bench/bench_columns.h"

#include <math.h>
#include <stdio.h>

enum { SOUNDS_MOST = 1 << 24, ROOMS_MOST = 1 << 16, RATE_MOST = 1000000, THREADS_MOST = 1024 };

struct bench_batch_options {
    enum bench_form form;
    struct number_list devices;
    struct batch_bench_settings settings;
};

#define ROW(field) offsetof(struct batch_bench_row, field)

static const struct bench_column columns[] = {
    {"devices", ROW(devices), COLUMN_COUNT, IN_BOTH},
    {"memory", ROW(memory), COLUMN_TEXT, IN_BOTH},
    {"sounds_per_second", ROW(sounds), 9, IN_BOTH},
    {"seconds_of_sound_per_second", ROW(seconds), 9, IN_BOTH},
    {"samples_per_second", ROW(samples), 9, IN_BOTH},
    {"least", ROW(least), 9, IN_BOTH},
    {"most", ROW(most), 9, IN_BOTH},
    {"of_copies", ROW(of_copies), 9, IN_BOTH},
    {"error_db", ROW(error_db), COLUMN_DECIBELS, IN_BOTH},
    {0},
};

static void print_table_row(const struct bench_batch_options *options,
                            const struct batch_bench_row *row, bool first)
{
    const struct batch_bench_settings *settings = &options->settings;
    char error[32] = "";
    if (first)
        printf("%zu sounds of %g to %g s at %zu Hz through %zu rooms of up to %g s, %zu threads\n\n"
               "| GPUs | memory | sounds/s | s of sound/s | Gsamples/s | spread | of the copies | "
               "error dB |\n|---|---|---|---|---|---|---|---|\n",
               settings->sounds, settings->shortest, settings->longest, settings->rate,
               settings->rooms, settings->room, settings->threads);
    if (isfinite(row->error_db))
        snprintf(error, sizeof error, "%.1f", row->error_db);
    printf("| %zu | %s | %.0f | %.0f | %.3f | %.3f..%.3f | %.2f | %s |\n", row->devices,
           row->memory, row->sounds, row->seconds, row->samples / 1e9, row->least / 1e9,
           row->most / 1e9, row->of_copies, error);
}

static enum status measure_devices(const struct bench_batch_options *options, size_t devices,
                                   struct bench_rows *report)
{
    struct batch_bench *bench = NULL;
    TRY(batch_bench_create(&options->settings, devices, &bench));
    enum status status = STATUS_OK;
    for (enum batch_bench_memory m = 0; m < BENCH_MEMORIES && status == STATUS_OK; m++) {
        struct batch_bench_row row;
        status = batch_bench_measure(bench, m, &row);
        if (status == STATUS_OK && report->form == BENCH_TABLE)
            print_table_row(options, &row, report->count == 0);
        if (status == STATUS_OK)
            status = bench_rows_add(report, columns, &row);
    }
    batch_bench_destroy(bench);
    return status;
}

static enum status measure(void *context)
{
    struct bench_batch_options *options = context;
    struct batch_bench_settings *settings = &options->settings;
    struct bench_rows report = {.form = options->form};
    enum status status = STATUS_OK;
    if (settings->shortest > settings->longest)
        return fail(STATUS_USAGE, "--shortest %g s is longer than --longest %g s",
                    settings->shortest, settings->longest);
    settings->kind = settings->kind ? settings->kind : &gather_cuda;
    settings->threads = settings->threads ? settings->threads : 4 * machine_processors();
    stop_watch();
    for (size_t d = 0; d < options->devices.count && status == STATUS_OK; d++)
        status = measure_devices(options, options->devices.values[d], &report);
    if (status == STATUS_OK)
        status = bench_rows_finish(&report);
    json_decref(report.cells);
    return status;
}

static const struct option_row rows[] = {
    OPT_INTEGERS("gpus", "LIST", struct bench_batch_options, devices, 1, BATCH_BENCH_DEVICES,
                 "numbers of GPUs that share the sounds; default 1"),
    OPT_INTEGER("sounds", "N", struct bench_batch_options, settings.sounds, 1, SOUNDS_MOST,
                "sounds in a round; default 20000"),
    OPT_SECONDS("shortest", "S", struct bench_batch_options, settings.shortest, 0.001, 200,
                "length of the shortest sound; default 5"),
    OPT_SECONDS("longest", "S", struct bench_batch_options, settings.longest, 0.001, 200,
                "length of the longest; default 15"),
    OPT_INTEGER("rooms", "N", struct bench_batch_options, settings.rooms, 1, ROOMS_MOST,
                "masks, of which each sound gets one; default 100"),
    OPT_SECONDS("room", "S", struct bench_batch_options, settings.room, 0.001, 20,
                "length of the longest room, the shortest has a fifth;\ndefault 1"),
    OPT_INTEGER("rate", "HZ", struct bench_batch_options, settings.rate, 1000, RATE_MOST,
                "frames per second; default 16000"),
    OPT_INTEGER("threads", "N", struct bench_batch_options, settings.threads, 1, THREADS_MOST,
                "that hand sounds over from ordinary memory; default: four\nper processor"),
    OPT_INTEGER("rounds", "N", struct bench_batch_options, settings.rounds, 1, BATCH_BENCH_ROUNDS,
                "timed rounds, after one that is not timed; default 5"),
    BENCH_FORMS(struct bench_batch_options, form),
    {0},
};

const struct command bench_batch = {
    .name = "halo bench batch",
    .summary = "time many sounds at once on GPUs, from memory",
    .usage = "usage: halo bench batch [options]\n\n"
             "Convolve sounds of noise with rooms of noise on GPUs, as halo batch does, from\n"
             "memory: without files. Sounds and rooms have random lengths. Compare with copies\n"
             "of the sounds to the GPUs and back. Some frames of each result are checked against\n"
             "double precision.",
    .ending =
        "device: sounds and results stay on the GPU. pinned: in memory of the host that\n"
        "GPUs read. gathered: in ordinary memory; threads copy sounds, and wait for results.\n\n"
        "example: halo bench batch --gpus 1,2 --sounds 100000",
    .groups = OPTION_GROUP(rows),
    .size = sizeof(struct bench_batch_options),
    .defaults =
        &(const struct bench_batch_options){
            .devices = {1, {1}},
            .settings = {.sounds = 20000,
                         .rooms = 100,
                         .rate = 16000,
                         .shortest = 5,
                         .longest = 15,
                         .room = 1,
                         .rounds = 5},
        },
    .run = measure,
};
