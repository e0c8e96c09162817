#include "bench/render_bench.h"

#include "base/laps.h"
#include "base/monotonic.h"
#include "base/noise.h"
#include "base/stop.h"
#include "base/workers.h"
#include "chain/stage_mask.h"
#include "convolve/partition.h"
#include "signal/audio.h"
#include "signal/fft.h"
#include "signal/fft_odd.h"
#include "signal/median.h"
#include "sound/engine.h"
#include "sound/port.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    NOISE_SAMPLES = 1 << 18, /* written at a time, of all channels */
    FLOAT_WAV = SF_FORMAT_WAV | SF_FORMAT_FLOAT,
    PIECE_BYTES = 1 << 20, /* copied at a time */
    TRANSFORMS_LEAST = 4,  /* timed per length, at least, if there are more */
};

static const double TRANSFORMS_SECONDS = 0.25; /* timed per length; the rest is extrapolated */

struct render_bench {
    const struct render_cell *cell;
    struct render_row *row;
    struct mask *mask;
    char *output;   /* written and removed in every round */
    int sound;      /* the noise, in an unlinked file */
    char alias[32]; /* its path in /proc */
    uint64_t frames;
    double wall[RENDER_ROUNDS_MOST], user[RENDER_ROUNDS_MOST], system[RENDER_ROUNDS_MOST];
    double copies[RENDER_ROUNDS_MOST];
};

/* ---- clocks ---- */

static double seconds_of(struct timeval time)
{
    return (double)time.tv_sec + 1e-6 * (double)time.tv_usec;
}

/* ---- memory ---- */

/* Reset the peak, and return freed memory to the system. */
static void reset_peak(void)
{
    malloc_trim(0);
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (!file)
        return;
    fputs("5", file);
    fclose(file);
}

static double peak_bytes(void)
{
    char line[128];
    double kib = NAN;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "VmHWM:", 6) == 0)
            kib = strtod(line + 6, NULL);
    if (file)
        fclose(file);
    return 1024 * kib;
}

/* ---- input and mask ---- */

static struct sink_settings sink_settings_of(const struct render_bench *bench, int64_t frames)
{
    return (struct sink_settings){
        .path = bench->output,
        .format = {.rate = bench->cell->rate, .channels = bench->cell->channels},
        .sound_format = FLOAT_WAV,
        .frames = frames,
    };
}

static enum status write_noise(const struct render_bench *bench, struct sink *sink)
{
    struct block block;
    uint64_t state = 1;
    size_t channels = bench->cell->channels, most = NOISE_SAMPLES / channels;
    enum status status = block_init(&block, channels, most, "noise");
    for (uint64_t done = 0; done < bench->frames && status == STATUS_OK;) {
        size_t count = bench->frames - done < most ? (size_t)(bench->frames - done) : most;
        for (size_t c = 0; c < channels; c++)
            for (size_t i = 0; i < count; i++)
                block.data[c][i] = noise_next(&state);
        status = stop_requested() ? STATUS_INTERRUPTED
                                  : sink_write(sink, (const float *const *)block.data, count);
        done += count;
    }
    block_free(&block);
    return status == STATUS_OK ? sink_commit(sink) : status;
}

static enum status make_sound(struct render_bench *bench)
{
    struct sink_settings settings = sink_settings_of(bench, (int64_t)bench->frames);
    struct sink *sink;
    TRY(sink_open_sound(&settings, &sink));
    enum status status = write_noise(bench, sink);
    sink_close(sink);
    bench->sound = open(bench->output, O_RDONLY | O_CLOEXEC);
    int error = errno;
    unlink(bench->output); /* it may be there although it could not be synced */
    TRY(status);
    if (bench->sound < 0)
        return fail(STATUS_FAILED, "cannot open %s: %s", bench->output, strerror(error));
    snprintf(bench->alias, sizeof bench->alias, "/proc/self/fd/%d", bench->sound);
    return STATUS_OK;
}

static enum status make_mask(struct render_bench *bench)
{
    size_t taps = bench->cell->taps, channels = bench->cell->channels;
    TRY(mask_create("noise", channels, taps, &bench->mask));
    uint64_t state = 2;
    for (size_t k = 0; k < channels * taps; k++)
        bench->mask->coefficients[k] = noise_next(&state) / sqrtf((float)taps);
    return mask_route(bench->mask, channels, MASK_ORDER_LL_LR_RL_RR, MASK_MAP_AUTO);
}

static enum status name_output(struct render_bench *bench)
{
    const char *folder = bench->cell->folder ? bench->cell->folder : getenv("TMPDIR");
    if (!folder || !*folder)
        folder = "/var/tmp";
    if (asprintf(&bench->output, "%s/halo-bench-%ld.wav", folder, (long)getpid()) < 0) {
        bench->output = NULL;
        return fail_memory("a name");
    }
    return STATUS_OK;
}

/* ---- a render, as in halo render ---- */

struct render {
    struct source *source;
    struct workers *workers;
    struct filter *chain;
    struct sink *sink;
    struct stage stage;
};

static enum status create_chain(const struct render_bench *bench, struct render *render)
{
    struct stage *stage = &render->stage;
    *stage = (struct stage){
        .ops = stage_ops_named("mask"),
        .settings.convolver = {.backend = bench->cell->backend, .frames = (int64_t)bench->frames},
        .inputs = bench->mask->inputs,
        .outputs = bench->mask->outputs,
    };
    (void)stage_mask_swap(stage, bench->mask); /* still owned by the bench */
    struct stage_list list = {.count = 1, .stages = stage};
    size_t block =
        stage_list_block(&list, stage->inputs, render->workers, bench->frames + bench->mask->taps);
    int64_t lap = lap_begin();
    TRY(stage_list_create(&list, stage->inputs, block, render->workers, &render->chain));
    lap_end(LAP_CHAIN, lap);
    return STATUS_OK;
}

static enum status render_to_end(const struct render_bench *bench, struct render *render)
{
    struct engine_run_settings run = {.tail = TAIL_FULL};
    struct engine_totals totals;
    TRY(source_open_sound(bench->alias, false, &render->source));
    TRY(workers_create(bench->cell->threads, &render->workers));
    TRY(create_chain(bench, render));
    struct sink_settings settings = sink_settings_of(
        bench, engine_frames_out(render->chain, (int64_t)bench->frames, run.tail, 0));
    TRY(sink_open_sound(&settings, &render->sink));
    TRY(engine_run(render->chain, render->source, render->sink, &run, &totals));
    return sink_commit(render->sink);
}

static void describe(const struct render *render, struct render_row *row)
{
    const struct filter *convolver = render->stage.filter;
    snprintf(row->backend, sizeof row->backend, "%s", convolver_backend(convolver));
    snprintf(row->algorithm, sizeof row->algorithm, "%s", convolver_algorithm(convolver));
    row->block = render->chain->block;
    row->threads = workers_count(render->workers);
}

static enum status time_render(struct render_bench *bench, size_t round)
{
    struct render render = {0};
    struct rusage before, after;
    reset_peak();
    laps_begin(false);
    double start = monotonic_seconds();
    getrusage(RUSAGE_SELF, &before);
    enum status status = render_to_end(bench, &render);
    bench->wall[round] = monotonic_seconds() - start;
    laps_note();
    getrusage(RUSAGE_SELF, &after);
    bench->user[round] = seconds_of(after.ru_utime) - seconds_of(before.ru_utime);
    bench->system[round] = seconds_of(after.ru_stime) - seconds_of(before.ru_stime);
    if (status == STATUS_OK) {
        bench->row->peak_bytes = fmax(bench->row->peak_bytes, peak_bytes());
        describe(&render, bench->row);
    }
    if (render.sink)
        unlink(bench->output);
    sink_close(render.sink);
    filter_destroy(render.chain);
    workers_destroy(render.workers);
    source_close(render.source);
    return status;
}

/* ---- the floor: a bare copy, and the transforms ---- */

static enum status refuse_write(const char *path, int error)
{
    return fail(STATUS_FAILED, "cannot write %s: %s", path, strerror(error));
}

static enum status copy_bytes(int from, int to, const char *path, uint64_t left, char *piece)
{
    size_t held = 0;
    for (off_t at = 0; left > 0 && !stop_requested();) {
        ssize_t got = pread(from, piece, PIECE_BYTES, at);
        if (got > 0)
            held = (size_t)got;
        if (got < 0 || held == 0)
            return fail(STATUS_FAILED, "cannot read the noise: %s", strerror(errno));
        at += got;
        ssize_t put = write(to, piece, left < held ? (size_t)left : held);
        if (put < 0 && errno != EINTR)
            return refuse_write(path, errno);
        left -= put > 0 ? (uint64_t)put : 0;
    }
    return stop_requested() ? STATUS_INTERRUPTED : STATUS_OK;
}

/* Seconds to copy `bytes` of the noise, the last ones repeated, to a new file, which is removed. */
static enum status time_copy(const struct render_bench *bench, uint64_t bytes, double *seconds)
{
    char *piece = malloc(PIECE_BYTES);
    if (!piece)
        return fail_memory("a copy");
    double start = monotonic_seconds();
    int to = open(bench->output, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (to < 0) {
        free(piece);
        return refuse_write(bench->output, errno);
    }
    unlink(bench->output); /* so that it is removed in any case */
    enum status status = copy_bytes(bench->sound, to, bench->output, bytes, piece);
    *seconds = monotonic_seconds() - start;
    close(to);
    free(piece);
    return status;
}

struct bench_transform {
    struct odd_fft *fft;
    size_t n;
    float *samples;
    float *spectrum;
    float *back;
    float *scratch;
};

static void transform_pair(const struct bench_transform *transform)
{
    /* Not in place: unscaled, the values would soon be infinite. */
    odd_fft_forward(transform->fft, transform->samples, transform->n, transform->scratch,
                    transform->spectrum);
    odd_fft_inverse(transform->fft, transform->spectrum, transform->scratch, 0, transform->n,
                    transform->back);
}

static enum status time_some(const struct bench_transform *transform, uint64_t count,
                             struct render_row *row)
{
    uint64_t done = 0;
    transform_pair(transform); /* touches its memory */
    double spent = 0, start = monotonic_seconds();
    while (done < count && (done < TRANSFORMS_LEAST || spent < TRANSFORMS_SECONDS)) {
        transform_pair(transform);
        done++;
        spent = monotonic_seconds() - start;
        if (stop_requested())
            return STATUS_INTERRUPTED;
    }
    row->transform_pairs += count;
    row->transforms += done > 0 ? spent / (double)done * (double)count : 0;
    return STATUS_OK;
}

/* Add `count` of length n, extrapolated from some. */
static enum status time_transforms(size_t n, uint64_t count, struct render_row *row)
{
    struct bench_transform transform = {.n = n,
                                        .samples = audio_alloc(n),
                                        .spectrum = audio_alloc(fft_spectrum_floats(n)),
                                        .back = audio_alloc(n),
                                        .scratch = audio_alloc(n)};
    enum status status = STATUS_OK;
    uint64_t state = 3;
    if (!transform.samples || !transform.spectrum || !transform.back || !transform.scratch)
        status = fail_memory("a transform");
    else
        status = odd_fft_create(n, &transform.fft);
    if (status != STATUS_OK)
        goto end;
    for (size_t i = 0; i < n; i++)
        transform.samples[i] = noise_next(&state);
    status = time_some(&transform, count, row);
end:
    odd_fft_destroy(transform.fft);
    free(transform.scratch);
    free(transform.back);
    free(transform.spectrum);
    free(transform.samples);
    return status;
}

/* ---- a cell ---- */

static uint64_t frames_out(const struct render_bench *bench)
{
    return bench->frames + bench->mask->taps - 1;
}

/* Those of the mask itself are excluded. */
static enum status measure_transforms(const struct render_bench *bench)
{
    struct render_row *row = bench->row;
    size_t block = row->block, channels = bench->cell->channels;
    const struct partition_job job = {bench->cell->taps, block,
                                      PARTITION_AVERAGE, channels,
                                      row->threads,      bench->mask->path_count / channels};
    struct partition_plan plan = partition_plan(&job);
    uint64_t blocks = (frames_out(bench) + block - 1) / block;
    row->transforms = 0;
    if (plan.algorithm == PARTITION_OVERLAP_SAVE)
        TRY(time_transforms(plan.fft, blocks * plan.chunks * channels, row));
    for (size_t s = 0; s < plan.segment_count; s++) {
        const struct partition_segment *cut = &plan.segments[s];
        TRY(time_transforms(cut->fft, blocks * block / cut->size * channels, row));
    }
    row->transforms /= (double)row->threads;
    return STATUS_OK;
}

static void sum_up(struct render_bench *bench)
{
    struct render_row *row = bench->row;
    size_t rounds = bench->cell->rounds;
    row->user = median_of(bench->user, rounds);
    row->system = median_of(bench->system, rounds);
    row->wall = median_of(bench->wall, rounds);
    row->wall_least = bench->wall[0]; /* sorted now */
    row->wall_most = bench->wall[rounds - 1];
    row->copy = median_of(bench->copies, rounds);
    row->distance = row->wall / (row->copy + row->transforms);
    row->speed = (double)row->frames / row->cell.rate / row->wall;
}

static enum status measure(struct render_bench *bench)
{
    size_t frame_bytes = bench->cell->channels * sizeof(float);
    TRY(name_output(bench));
    TRY(make_mask(bench));
    TRY(make_sound(bench));
    TRY(time_render(bench, 0)); /* warms the caches; overwritten below */
    for (size_t r = 0; r < bench->cell->rounds; r++) {
        TRY(time_render(bench, r));
        TRY(time_copy(bench, frames_out(bench) * frame_bytes, &bench->copies[r]));
    }
    if (strcmp(bench->row->backend, "cpu") == 0)
        TRY(measure_transforms(bench));
    sum_up(bench);
    return STATUS_OK;
}

enum status render_bench_measure(const struct render_cell *cell, struct render_row *row)
{
    struct render_bench *bench = calloc(1, sizeof *bench);
    if (!bench)
        return fail_memory("a measurement");
    bench->cell = cell;
    bench->row = row;
    bench->sound = -1;
    bench->frames = (uint64_t)fmax(1, round(cell->seconds * cell->rate));
    *row = (struct render_row){
        .cell = *cell, .frames = bench->frames, .peak_bytes = NAN, .transforms = NAN};
    enum status status = measure(bench);
    if (bench->sound >= 0)
        close(bench->sound);
    mask_destroy(bench->mask);
    free(bench->output);
    free(bench);
    return status;
}
