#include "bench/render_lab.h"

#include "base/monotonic.h"
#include "base/noise.h"
#include "base/stop.h"
#include "base/workers.h"
#include "bench/render_floor.h"
#include "chain/stage_mask.h"
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
};

struct times {
    double wall;
    double user;
    double system;
};

struct lab {
    const struct render_cell *cell;
    struct render_row *row;
    struct mask *mask;
    char *output;   /* the file that comes and goes in every round */
    int sound;      /* the noise; its file has no name, so nobody can leave it behind */
    char alias[32]; /* by which it is opened all the same */
    uint64_t frames;
    struct times renders[RENDER_ROUNDS_MOST];
    double copies[RENDER_ROUNDS_MOST];
};

double render_row_distance(const struct render_row *row)
{
    return row->wall / (row->copy + row->transforms);
}

double render_row_speed(const struct render_row *row)
{
    return (double)row->frames / row->cell.rate / row->wall;
}

/* ---- clocks ---- */

static double seconds_of(struct timeval time)
{
    return (double)time.tv_sec + 1e-6 * (double)time.tv_usec;
}

static struct times now(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (struct times){monotonic_seconds(), seconds_of(usage.ru_utime),
                          seconds_of(usage.ru_stime)};
}

static struct times since(struct times start)
{
    struct times end = now();
    return (struct times){end.wall - start.wall, end.user - start.user, end.system - start.system};
}

/* ---- memory ---- */

/* Forget earlier peaks, and give back what earlier rounds have freed. */
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

/* ---- what is rendered ---- */

static struct sink_settings sink_settings_of(const struct lab *lab, int64_t frames)
{
    return (struct sink_settings){
        .path = lab->output,
        .format = {.rate = lab->cell->rate, .channels = lab->cell->channels},
        .sound_format = FLOAT_WAV,
        .frames = frames,
    };
}

static enum status write_noise(const struct lab *lab, struct sink *sink)
{
    struct block block;
    uint64_t state = 1;
    size_t channels = lab->cell->channels, most = NOISE_SAMPLES / channels;
    enum status status = block_init(&block, channels, most, "noise");
    for (uint64_t done = 0; done < lab->frames && status == STATUS_OK;) {
        size_t part = lab->frames - done < most ? (size_t)(lab->frames - done) : most;
        for (size_t c = 0; c < channels; c++)
            for (size_t i = 0; i < part; i++)
                block.data[c][i] = noise_next(&state);
        status = stop_requested() ? STATUS_INTERRUPTED
                                  : sink_write(sink, (const float *const *)block.data, part);
        done += part;
    }
    block_free(&block);
    return status == STATUS_OK ? sink_commit(sink) : status;
}

static enum status make_sound(struct lab *lab)
{
    struct sink_settings settings = sink_settings_of(lab, (int64_t)lab->frames);
    struct sink *sink;
    enum status status = sink_open_sound(&settings, &sink);
    if (status != STATUS_OK)
        return status;
    status = write_noise(lab, sink);
    sink_close(sink);
    if (status != STATUS_OK)
        return status;
    lab->sound = open(lab->output, O_RDONLY | O_CLOEXEC);
    int error = errno;
    unlink(lab->output);
    if (lab->sound < 0)
        return fail(STATUS_FAILED, "cannot open %s: %s", lab->output, strerror(error));
    snprintf(lab->alias, sizeof lab->alias, "/proc/self/fd/%d", lab->sound);
    return STATUS_OK;
}

static enum status make_mask(struct lab *lab)
{
    size_t taps = lab->cell->taps, channels = lab->cell->channels;
    enum status status = mask_create("noise", channels, taps, &lab->mask);
    if (status != STATUS_OK)
        return status;
    uint64_t state = 2;
    for (size_t k = 0; k < channels * taps; k++)
        lab->mask->coefficients[k] = noise_next(&state) / sqrtf((float)taps);
    return mask_route(lab->mask, channels, MASK_ORDER_LL_LR_RL_RR, MASK_MAP_AUTO);
}

static enum status name_output(struct lab *lab)
{
    const char *folder = lab->cell->folder ? lab->cell->folder : getenv("TMPDIR");
    if (!folder || !*folder)
        folder = "/var/tmp";
    if (asprintf(&lab->output, "%s/halo-bench-%ld.wav", folder, (long)getpid()) < 0) {
        lab->output = NULL;
        return fail_memory("a name");
    }
    return STATUS_OK;
}

/* ---- a render, as halo render has it ---- */

struct render {
    struct source *source;
    struct workers *workers;
    struct filter *chain;
    struct sink *sink;
    struct stage stage;
};

static enum status create_chain(const struct lab *lab, struct render *render)
{
    struct stage *stage = &render->stage;
    *stage = (struct stage){
        .ops = stage_ops_named("mask"),
        .settings.convolver = {.backend = lab->cell->backend, .frames = (int64_t)lab->frames},
        .inputs = lab->mask->inputs,
        .outputs = lab->mask->outputs,
    };
    (void)stage_mask_swap(stage, lab->mask); /* and stays ours */
    struct stage_list list = {.count = 1, .stages = stage};
    size_t block =
        stage_list_block(&list, stage->inputs, render->workers, lab->frames + lab->mask->taps);
    return stage_list_create(&list, stage->inputs, block, render->workers, &render->chain);
}

static enum status render_to_end(const struct lab *lab, struct render *render)
{
    struct engine_run_settings run = {.tail = TAIL_FULL};
    struct engine_totals totals;
    enum status status = source_open_sound(lab->alias, false, &render->source);
    if (status == STATUS_OK)
        status = workers_create(lab->cell->threads, &render->workers);
    if (status == STATUS_OK)
        status = create_chain(lab, render);
    if (status != STATUS_OK)
        return status;
    struct sink_settings settings =
        sink_settings_of(lab, engine_frames_out(render->chain, (int64_t)lab->frames, run.tail));
    status = sink_open_sound(&settings, &render->sink);
    if (status == STATUS_OK)
        status = engine_run(render->chain, render->source, render->sink, &run, &totals);
    return status == STATUS_OK ? sink_commit(render->sink) : status;
}

static void describe(const struct render *render, struct render_row *row)
{
    const struct filter *convolver = render->stage.filter;
    snprintf(row->backend, sizeof row->backend, "%s", convolver_backend(convolver));
    snprintf(row->algorithm, sizeof row->algorithm, "%s", convolver_algorithm(convolver));
    row->block = render->chain->block;
    row->threads = workers_count(render->workers);
}

static enum status time_render(struct lab *lab, struct times *times)
{
    struct render render = {0};
    reset_peak();
    struct times start = now();
    enum status status = render_to_end(lab, &render);
    *times = since(start);
    if (status == STATUS_OK) {
        lab->row->peak_bytes = fmax(lab->row->peak_bytes, peak_bytes());
        describe(&render, lab->row);
        unlink(lab->output);
    }
    sink_close(render.sink);
    filter_destroy(render.chain);
    workers_destroy(render.workers);
    source_close(render.source);
    return status;
}

/* ---- a cell ---- */

static uint64_t frames_out(const struct lab *lab)
{
    return lab->frames + lab->mask->taps - 1;
}

static uint64_t output_bytes(const struct lab *lab)
{
    return frames_out(lab) * lab->cell->channels * sizeof(float);
}

static enum status measure_transforms(const struct lab *lab)
{
    struct render_row *row = lab->row;
    double seconds;
    enum status status =
        render_floor_transforms(lab->cell->taps, row->block, frames_out(lab), lab->cell->channels,
                                &row->transform_pairs, &seconds);
    if (status == STATUS_OK)
        row->transforms = seconds / (double)row->threads;
    return status;
}

static void sum_up(struct lab *lab)
{
    struct render_row *row = lab->row;
    size_t rounds = lab->cell->rounds;
    double values[RENDER_ROUNDS_MOST];
    for (size_t r = 0; r < rounds; r++)
        values[r] = lab->renders[r].user;
    row->user = median_of(values, rounds);
    for (size_t r = 0; r < rounds; r++)
        values[r] = lab->renders[r].system;
    row->system = median_of(values, rounds);
    for (size_t r = 0; r < rounds; r++)
        values[r] = lab->renders[r].wall;
    row->wall = median_of(values, rounds);
    row->wall_least = values[0]; /* sorted by now */
    row->wall_most = values[rounds - 1];
    row->copy = median_of(lab->copies, rounds);
}

static enum status measure(struct lab *lab)
{
    struct times ignored;
    enum status status = name_output(lab);
    if (status == STATUS_OK)
        status = make_mask(lab);
    if (status == STATUS_OK)
        status = make_sound(lab);
    if (status == STATUS_OK)
        status = time_render(lab, &ignored); /* warms the caches */
    for (size_t r = 0; r < lab->cell->rounds && status == STATUS_OK; r++) {
        status = time_render(lab, &lab->renders[r]);
        if (status == STATUS_OK)
            status = render_floor_copy(lab->sound, lab->output, output_bytes(lab), &lab->copies[r]);
    }
    if (status == STATUS_OK && strcmp(lab->row->backend, "cpu") == 0)
        status = measure_transforms(lab);
    if (status == STATUS_OK)
        sum_up(lab);
    return status;
}

enum status render_lab_measure(const struct render_cell *cell, struct render_row *row)
{
    struct lab *lab = calloc(1, sizeof *lab);
    if (!lab)
        return fail_memory("a measurement");
    lab->cell = cell;
    lab->row = row;
    lab->sound = -1;
    lab->frames = (uint64_t)fmax(1, round(cell->seconds * cell->rate));
    *row = (struct render_row){
        .cell = *cell, .frames = lab->frames, .peak_bytes = NAN, .transforms = NAN};
    enum status status = measure(lab);
    if (lab->sound >= 0)
        close(lab->sound);
    mask_destroy(lab->mask);
    free(lab->output);
    free(lab);
    return status;
}
