#include "bench/stream_bench.h"

#include "base/monotonic.h"
#include "base/noise.h"
#include "base/realtime.h"
#include "base/stop.h"
#include "base/workers.h"
#include "bench/stream_mask.h"
#include "signal/audio.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum {
    /* blocks of input, used in turn; a prime, so not a multiple of any ring of partitions */
    ROTATION = 13,
    PLACES = 32,   /* outputs that a check compares */
    SPIN = 200000, /* ns to spin before a block is due: a sleep may last that much too long */
};

static_assert((int)STREAM_FIRST_BLOCKS > (int)ROTATION, "all input is used before the first check");

static const double ERROR_MOST_DB = -130;

struct stream {
    const struct stream_cell *cell;
    struct stream_mask of_noise;
    const struct mask *mask; /* mask of `of_noise` */
    struct workers *workers;
    struct filter *filter;
    struct block input; /* ROTATION blocks one after the other */
    struct block output;
    const float **in; /* channels of the current block */
    int64_t *times;   /* ns per block */
    double period;    /* ns */
    size_t handed;    /* blocks processed since the filter was made */
    uint64_t random;
    struct stream_row *row;
};

/* ---- sound ---- */

static enum status make_sound(struct stream *stream)
{
    const struct stream_cell *cell = stream->cell;
    TRY(block_init(&stream->input, cell->channels, ROTATION * cell->block, "a stream"));
    TRY(block_init(&stream->output, cell->channels, cell->block, "a stream"));
    for (size_t c = 0; c < cell->channels; c++)
        for (size_t i = 0; i < stream->input.frames; i++)
            stream->input.data[c][i] = noise_next(&stream->random);
    stream->in = calloc(cell->channels, sizeof *stream->in);
    stream->times = malloc(cell->blocks * sizeof *stream->times);
    if (!stream->in || !stream->times)
        return fail_memory("a stream");
    memset(stream->times, 0xFF, cell->blocks * sizeof *stream->times); /* no page faults later */
    return STATUS_OK;
}

/* ---- real-time priority and locked memory ---- */

static void report_grants(const struct stream_row *row, int lock_error)
{
    static bool reported = false;
    if (!reported)
        note_detail(
            "real-time priority %s; memory %s%s", row->realtime ? "granted" : "refused",
            row->locked ? "locked" : "not locked: ", row->locked ? "" : strerror(lock_error));
    reported = true;
}

/* ---- setting up ---- */

static void stream_close(struct stream *stream)
{
    filter_destroy(stream->filter);
    workers_destroy(stream->workers);
    stream_mask_destroy(&stream->of_noise);
    block_free(&stream->input);
    block_free(&stream->output);
    free(stream->in);
    free(stream->times);
}

static enum status make_convolver(const struct stream_cell *cell, const struct mask *mask,
                                  struct workers *workers, struct filter **filter)
{
    struct convolver_settings settings = {
        .backend = cell->backend,
        .rate = cell->rate,
        .block = cell->block,
        .live = true,
        .alone = true,
        .gpu = {.mode = cell->gpu_mode, .devices = cell->devices},
        .workers = workers,
    };
    return convolver_create(&settings, mask, filter);
}

/* Makes the filter. halo's convolver creates its threads with the priority of the step. */
static enum status make_filter(struct stream *stream)
{
    const struct stream_cell *cell = stream->cell;
    struct realtime_before before;
    bool raised =
        !cell->make && cell->pace == STREAM_PACED && realtime_raise(REALTIME_PRIORITY, &before);
    stream_make *make = cell->make ? cell->make : make_convolver;
    enum status status = workers_create(cell->threads, &stream->workers);
    if (status == STATUS_OK)
        status = make(cell, stream->mask, stream->workers, &stream->filter);
    if (!cell->make)
        stream_mask_fold(&stream->of_noise);
    if (raised)
        realtime_restore(&before);
    return status;
}

/* ---- blocks; nothing here allocates ---- */

static void wait_until(int64_t due, bool spun)
{
    int64_t wake = due - SPIN;
    if (!spun && wake > monotonic_ns())
        monotonic_sleep_until(wake);
    while (monotonic_ns() < due && !stop_requested())
        ;
}

static void select_input(struct stream *stream)
{
    size_t from = stream->handed % ROTATION * stream->cell->block;
    for (size_t c = 0; c < stream->cell->channels; c++)
        stream->in[c] = stream->input.data[c] + from;
}

static enum status fail_cell(const struct stream_cell *cell, const char *problem)
{
    return fail(CAUSE_OTHER, "backend %s, %zu channels, %zu taps, blocks of %zu: %s", cell->backend,
                cell->channels, cell->taps, cell->block, problem);
}

/* Checks quickly that the filter works: one channel per block. check_result reads all. */
static enum status check_block(const struct stream *stream)
{
    const struct filter *filter = stream->filter;
    size_t block = stream->cell->block, channel = stream->handed % stream->cell->channels;
    if (stop_requested()) /* workers stop early then */
        return STATUS_INTERRUPTED;
    if (filter->failure || filter->notice)
        return fail_cell(stream->cell, filter->failure ? filter->failure : filter->notice);
    if (audio_find_nonfinite(stream->output.data[channel], block) < block)
        return fail_cell(stream->cell, "an output is not a finite number");
    return STATUS_OK;
}

/* A run of blocks; the last three members are results. */
struct stretch {
    size_t blocks;  /* most blocks */
    double seconds; /* most seconds */
    bool paced;
    bool spun;
    int64_t *times; /* ns per block; NULL: not recorded */
    size_t ran;
    size_t late;
    size_t worker_late;
};

static enum status run(struct stream *stream, struct stretch *stretch)
{
    int64_t limit = (int64_t)(1e9 * stretch->seconds);
    int64_t origin = monotonic_ns() + (int64_t)(stretch->paced ? stream->period : 0);
    enum status status = STATUS_OK;
    for (size_t n = 0; n < stretch->blocks && status == STATUS_OK; n++) {
        double due = (double)n * stream->period; /* ns since the origin */
        select_input(stream);
        if (stretch->paced)
            wait_until(origin + (int64_t)ceil(due), stretch->spun);
        int64_t begin = monotonic_ns();
        if (n > 0 && begin - origin >= limit)
            break;
        filter_process(stream->filter, stream->in, stream->output.data);
        int64_t end = monotonic_ns();
        if (stretch->times)
            stretch->times[n] = end - begin;
        stretch->late += stretch->paced && (double)(end - origin) > due + stream->period;
        stretch->worker_late += (stream->filter->held_up & FILTER_WORKER_LATE) != 0;
        stretch->ran++;
        status = check_block(stream);
        stream->handed++;
    }
    return status;
}

/* ---- checking results ---- */

static double true_path(const struct stream *stream, const struct mask_path *path, size_t frame)
{
    const float *input = stream->input.data[path->input];
    const double *column = mask_column(stream->mask, path->column);
    size_t length = stream->input.frames, at = frame % length;
    double sum = 0;
    for (size_t k = 0; k < stream->mask->taps && k <= frame; k++) {
        sum += (double)input[at] * column[k];
        at = at ? at - 1 : length - 1;
    }
    return sum;
}

static double true_output(const struct stream *stream, size_t channel, size_t frame)
{
    double sum = 0;
    for (size_t p = 0; p < stream->mask->path_count; p++)
        if (stream->mask->paths[p].output == channel)
            sum += true_path(stream, &stream->mask->paths[p], frame);
    return sum;
}

static size_t random_below(uint64_t *state, size_t count)
{
    double at = (0.5 + 0.5 * (double)noise_next(state)) * (double)count;
    return at < (double)count ? (size_t)at : count - 1;
}

/* Compares outputs of the last block with the reference: its ends, the outer channels, and random
 * places. Errors are relative to max|x| sum|h|, which is 1. */
static enum status check_result(struct stream *stream)
{
    const struct stream_cell *cell = stream->cell;
    double largest = 0;
    for (size_t c = 0; c < cell->channels; c++)
        if (audio_find_nonfinite(stream->output.data[c], cell->block) < cell->block)
            return fail_cell(cell, "an output is not a finite number");
    for (size_t p = 0; p < PLACES; p++) {
        size_t channel = p == 0   ? 0
                         : p == 1 ? cell->channels - 1
                                  : random_below(&stream->random, cell->channels);
        size_t i = p % 4 == 0   ? 0
                   : p % 4 == 1 ? cell->block - 1
                                : random_below(&stream->random, cell->block);
        size_t frame = (stream->handed - 1) * cell->block + i;
        double error =
            (double)stream->output.data[channel][i] - true_output(stream, channel, frame);
        largest = fmax(largest, fabs(error));
    }
    stream->row->error_db = fmax(stream->row->error_db, audio_to_db(largest));
    if (stream->row->error_db <= ERROR_MOST_DB)
        return STATUS_OK;
    char problem[64];
    snprintf(problem, sizeof problem, "the result is wrong: error %.1f dB", stream->row->error_db);
    return fail_cell(cell, problem);
}

/* ---- measuring ---- */

/* User and system time of all threads of the process. */
static double process_cpu_seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static enum status run_all(struct stream *stream)
{
    const struct stream_cell *cell = stream->cell;
    bool paced = cell->pace != STREAM_BACK_TO_BACK, spun = cell->pace == STREAM_SPUN;
    struct stretch first = {.blocks = STREAM_FIRST_BLOCKS, .seconds = cell->seconds};
    struct stretch warm_up = {
        .blocks = SIZE_MAX, .seconds = cell->warm_up, .paced = paced, .spun = spun};
    struct stretch timed = warm_up;
    timed.blocks = cell->blocks;
    timed.seconds = cell->seconds;
    timed.times = stream->times;
    TRY(run(stream, &first));
    TRY(check_result(stream));
    if (cell->warm_up > 0)
        TRY(run(stream, &warm_up));
    double cpu = process_cpu_seconds();
    TRY(run(stream, &timed));
    stream->row->cpu = process_cpu_seconds() - cpu;
    stream->row->blocks = timed.ran;
    stream->row->late = timed.late;
    stream->row->worker_late = timed.worker_late;
    return check_result(stream);
}

static enum status run_with_grants(struct stream *stream)
{
    struct stream_row *row = stream->row;
    struct realtime_before before;
    if (stream->cell->pace == STREAM_BACK_TO_BACK)
        return run_all(stream);
    /* Only mapped memory: if future pages were locked, allocations would fail at the limit. */
    row->locked = realtime_lock_memory();
    int lock_error = errno;
    row->realtime =
        stream->cell->pace == STREAM_PACED && realtime_raise(REALTIME_PRIORITY, &before);
    report_grants(row, lock_error);
    enum status status = run_all(stream);
    if (row->realtime)
        realtime_restore(&before);
    if (row->locked)
        munlockall();
    return status;
}

static int by_value(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

/* The time that `share` of all blocks do not exceed. */
static double quantile(const struct stream *stream, double share)
{
    double rank = ceil(share * (double)stream->row->blocks - 1e-6); /* 0.999 is inexact */
    return 1e-9 * (double)stream->times[rank > 1 ? (size_t)rank - 1 : 0];
}

static void sum_up(struct stream *stream)
{
    struct stream_row *row = stream->row;
    qsort(stream->times, row->blocks, sizeof *stream->times, by_value);
    row->p50 = quantile(stream, 0.5);
    row->p99 = quantile(stream, 0.99);
    row->p999 = quantile(stream, 0.999);
    row->p9999 = quantile(stream, 0.9999);
    row->most = quantile(stream, 1);
    for (size_t n = 0; n < row->blocks; n++) {
        row->sum += 1e-9 * (double)stream->times[n];
        row->missed += (double)stream->times[n] > stream->period;
    }
    row->share = row->p50 / row->period;
    row->blocks_per_second = row->times_real_time = row->cpu_per_second = NAN;
    if (row->cell.pace == STREAM_BACK_TO_BACK) {
        row->late = SIZE_MAX;
        row->blocks_per_second = (double)row->blocks / row->sum;
        row->times_real_time = (double)row->blocks * row->period / row->sum;
        row->cpu_per_second = row->cpu / ((double)row->blocks * row->period);
    }
    snprintf(row->algorithm, sizeof row->algorithm, "%s",
             row->cell.make ? stream->filter->kind->name : convolver_algorithm(stream->filter));
}

enum status stream_bench_measure(const struct stream_cell *cell, struct stream_row *row)
{
    double period = (double)cell->block / cell->rate;
    *row = (struct stream_row){.cell = *cell, .period = period, .error_db = -INFINITY};
    struct stream stream = {.cell = cell, .period = 1e9 * period, .random = 1, .row = row};
    enum status status;
    status = stream_mask_create(cell->channels, cell->matrix, cell->taps, &stream.random,
                                &stream.of_noise);
    stream.mask = stream.of_noise.mask;
    if (!status && !(status = make_sound(&stream)) && !(status = make_filter(&stream)) &&
        !(status = run_with_grants(&stream)))
        sum_up(&stream);
    stream_close(&stream);
    return status;
}
