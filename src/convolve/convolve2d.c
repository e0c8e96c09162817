#include "convolve/convolve2d.h"

#include "base/realtime.h"
#include "base/simd.h"
#include "convolve/convolver.h"
#include "signal/audio.h"

#include <stdlib.h>
#include <string.h>

/* 2-D convolution on the CPU. Rows are divided into bands, which threads share. A separable mask
 * takes two passes. A worker first copies its rows with their extension, to read whole vectors. */

typedef float floats __attribute__((vector_size(64)));

enum {
    FLOATS = 16,
    VECTORS = 4,
    TILE = FLOATS * VECTORS, /* columns computed at a time, in registers */
    RUN = 32,                /* products per partial sum; short sums limit rounding errors */
    BAND = 16,               /* rows per task */
};

/* A mask, or one pass of a separable one. */
struct pass {
    size_t rows;
    size_t columns;
    const float *taps;
};

struct convolve2d_on_cpu {
    struct convolve2d convolve;
    size_t rows; /* rows of the whole mask */
    size_t columns;
    float *taps; /* the whole mask; if separable, the vertical taps, then the horizontal ones */
    bool is_separable;
    size_t width;    /* width of a picture row with its extension */
    size_t pitch;    /* floats from one such row to the next */
    float **scratch; /* one buffer for each worker */
    size_t workers;
};

/* Computes an output row. x: the sample that the first tap meets first. Reads whole TILEs. */
SIMD_CLONES
static void convolve_row(const float *x, size_t pitch, struct pass pass, float *y, size_t columns)
{
    for (size_t at = 0; at < columns; at += TILE) {
        floats total[VECTORS] = {0}, sum[VECTORS] = {0};
        size_t run = 0;
        for (size_t i = 0; i < pass.rows; i++) {
            const float *row = x + at - i * pitch, *taps = pass.taps + i * pass.columns;
            for (size_t j = 0, end; j < pass.columns; j = end) {
                end = pass.columns - j < RUN - run ? pass.columns : j + RUN - run;
                run += end - j;
                for (size_t k = j; k < end; k++)
                    for (size_t v = 0; v < VECTORS; v++) {
                        floats now;
                        memcpy(&now, row - k + v * FLOATS, sizeof now);
                        sum[v] += now * taps[k];
                    }
                if (run < RUN)
                    continue;
                run = 0;
                for (size_t v = 0; v < VECTORS; v++) {
                    total[v] += sum[v];
                    sum[v] = (floats){0};
                }
            }
        }
        for (size_t v = 0; v < VECTORS; v++)
            total[v] += sum[v];
        memcpy(y + at, total, (columns - at < TILE ? columns - at : TILE) * sizeof *y);
    }
}

struct rows_job {
    const struct convolve2d_on_cpu *cpu;
    const float *const *in;
    size_t in_pitch;
    float *const *out;
    size_t out_pitch;
    size_t rows;
    size_t bands; /* bands per channel */
};

/* Copy a row and its extension. */
static void lay_out(const struct convolve2d_on_cpu *cpu, const float *row, float *laid)
{
    const struct convolve2d_settings *settings = &cpu->convolve.settings;
    size_t left = cpu->columns - 1 - cpu->columns / 2, columns = settings->columns;
    memcpy(laid + left, row, columns * sizeof *row);
    for (size_t k = 0; k < cpu->columns - 1; k++) {
        size_t to = k < left ? k : k + columns;
        ptrdiff_t from =
            convolve2d_column(settings->boundary, (ptrdiff_t)to - (ptrdiff_t)left, columns);
        laid[to] = from < 0 ? 0 : row[from];
    }
}

/* Convolves a band. laid: rows of the picture; the first result's newest row is row `rows - 1`. */
static void convolve_band(const struct convolve2d_on_cpu *cpu, const float *laid, float *between,
                          float *out, size_t out_pitch, size_t count)
{
    size_t width = cpu->convolve.settings.columns, last = cpu->columns - 1;
    struct pass whole = {cpu->rows, cpu->columns, cpu->taps};
    struct pass down = {cpu->rows, 1, cpu->taps}, across = {1, cpu->columns, cpu->taps + cpu->rows};
    for (size_t r = 0; r < count; r++) {
        const float *row = laid + (cpu->rows - 1 + r) * cpu->pitch;
        if (cpu->is_separable) {
            convolve_row(row, cpu->pitch, down, between, cpu->width);
            convolve_row(between + last, 0, across, out + r * out_pitch, width);
        } else {
            convolve_row(row + last, cpu->pitch, whole, out + r * out_pitch, width);
        }
    }
}

static void process_band(void *context, size_t piece, size_t worker)
{
    const struct rows_job *job = context;
    const struct convolve2d_on_cpu *cpu = job->cpu;
    size_t channel = piece / job->bands, first = piece % job->bands * BAND;
    size_t count = job->rows - first < BAND ? job->rows - first : BAND;
    float *laid = cpu->scratch[worker];
    float *between = laid + (BAND + cpu->rows - 1) * cpu->pitch;
    const float *in = job->in[channel] + first * job->in_pitch;
    in -= cpu->convolve.before * job->in_pitch;
    for (size_t r = 0; r < count + cpu->rows - 1; r++)
        lay_out(cpu, in + r * job->in_pitch, laid + r * cpu->pitch);
    convolve_band(cpu, laid, between, job->out[channel] + first * job->out_pitch, job->out_pitch,
                  count);
}

HALO_REALTIME static void cpu_process(struct convolve2d *convolve, const float *const *in,
                                      size_t in_pitch, float *const *out, size_t out_pitch,
                                      size_t rows)
{
    const struct convolve2d_settings *settings = &convolve->settings;
    size_t bands = (rows + BAND - 1) / BAND, pieces = bands * settings->channels;
    struct rows_job job = {
        (struct convolve2d_on_cpu *)convolve, in, in_pitch, out, out_pitch, rows, bands};
    workers_run(settings->workers, pieces, process_band, &job);
}

static void cpu_destroy(struct convolve2d *convolve)
{
    struct convolve2d_on_cpu *cpu = (struct convolve2d_on_cpu *)convolve;
    for (size_t w = 0; cpu->scratch && w < cpu->workers; w++)
        free(cpu->scratch[w]);
    free(cpu->scratch);
    free(cpu->taps);
    free(cpu);
}

static enum status cpu_create(const struct convolve2d_settings *settings, const struct mask2d *mask,
                              struct convolve2d **result)
{
    struct convolve2d_on_cpu *cpu = calloc(1, sizeof *cpu);
    if (!cpu)
        return fail_memory("a mask");
    size_t all = mask->rows * mask->columns, passes = mask->rows + mask->columns;
    cpu->rows = mask->rows;
    cpu->columns = mask->columns;
    cpu->is_separable = mask->is_separable && passes < all;
    cpu->width = settings->columns + mask->columns - 1;
    cpu->pitch = (cpu->width + TILE + FLOATS - 1) / FLOATS * FLOATS;
    cpu->workers = workers_count(settings->workers);
    cpu->taps = calloc(all > passes ? all : passes, sizeof *cpu->taps);
    cpu->scratch = calloc(cpu->workers, sizeof *cpu->scratch);
    bool complete = cpu->taps && cpu->scratch;
    for (size_t w = 0; w < cpu->workers && complete; w++)
        complete = (cpu->scratch[w] = audio_alloc((BAND + mask->rows) * cpu->pitch)) != NULL;
    if (!complete) {
        cpu_destroy(&cpu->convolve);
        return fail_memory("a mask");
    }
    if (cpu->is_separable) {
        memcpy(cpu->taps, mask->down, mask->rows * sizeof *cpu->taps);
        memcpy(cpu->taps + mask->rows, mask->across, mask->columns * sizeof *cpu->taps);
    } else {
        memcpy(cpu->taps, mask->taps, all * sizeof *cpu->taps);
    }
    *result = &cpu->convolve;
    return STATUS_OK;
}

const struct convolve2d_kind convolve2d_cpu = {
    .name = "cpu", .create = cpu_create, .destroy = cpu_destroy, .process = cpu_process};

#ifdef HALO_NO_CUDA
/* without `create` the kind is refused */
const struct convolve2d_kind convolve2d_cuda = {.name = "cuda"};
#endif

/* In auto's order of preference. */
static const struct convolve2d_kind *const kinds[] = {&convolve2d_cuda, &convolve2d_cpu};
enum { KINDS = sizeof kinds / sizeof *kinds };

size_t convolve2d_before(const struct mask2d *mask)
{
    return mask->rows - 1 - mask->rows / 2;
}

static ptrdiff_t reflect(ptrdiff_t at, ptrdiff_t count)
{
    ptrdiff_t period = 2 * (count - 1);
    if (period == 0)
        return 0;
    at = (at % period + period) % period;
    return at < count ? at : period - at;
}

ptrdiff_t convolve2d_column(enum convolve2d_boundary boundary, ptrdiff_t at, size_t columns)
{
    ptrdiff_t count = (ptrdiff_t)columns;
    if (at >= 0 && at < count)
        return at;
    switch (boundary) {
    case CONVOLVE2D_REPLICATE:
        return at < 0 ? 0 : count - 1;
    case CONVOLVE2D_REFLECT:
        return reflect(at, count);
    case CONVOLVE2D_ZERO:
        break;
    }
    return -1;
}

static const struct convolve2d_kind *choose(const struct convolve2d_settings *settings,
                                            const struct mask2d *mask)
{
    bool is_auto = strcmp(settings->backend, "auto") == 0;
    for (size_t k = 0; k < KINDS; k++)
        if (is_auto ? kinds[k]->create && (!kinds[k]->suits || kinds[k]->suits(settings, mask))
                    : strcmp(kinds[k]->name, settings->backend) == 0)
            return kinds[k];
    return NULL;
}

enum status convolve2d_create(const struct convolve2d_settings *settings, const struct mask2d *mask,
                              struct convolve2d **result)
{
    const struct convolve2d_kind *kind = choose(settings, mask);
    if (!kind)
        return fail(CAUSE_USAGE, "no backend '%s' for 2-D masks", settings->backend);
    if (!kind->create)
        return fail_no_cuda();
    struct convolve2d *convolve;
    bool free_to_choose = strcmp(settings->backend, "auto") == 0 && kind != &convolve2d_cpu;
    log_as_notes(free_to_choose);
    enum status status = kind->create(settings, mask, &convolve);
    log_as_notes(false);
    if (status != STATUS_OK && free_to_choose) {
        kind = &convolve2d_cpu;
        status = kind->create(settings, mask, &convolve);
    }
    if (status != STATUS_OK)
        return status;
    convolve->kind = kind;
    convolve->settings = *settings;
    convolve->before = convolve2d_before(mask);
    convolve->after = mask->rows / 2;
    *result = convolve;
    return STATUS_OK;
}

void convolve2d_destroy(struct convolve2d *convolve)
{
    if (convolve)
        convolve->kind->destroy(convolve);
}
