/* Compiled for each precision. */
#include "convolve/arrays_plan.h"
#include "convolve/halves.h"
#include "convolve/near_bound.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    PRODUCTS_MOST = 4, /* products added in one pass */
    TILE = 1 << 12,    /* numbers of spectra; the sum of a tile stays cached */
    BLOCKS_SHARED = 4, /* blocks for each thread between two waits of all threads */
};

/* RMS of an output, relative to max|x| sum|h|; up to it, single precision keeps -124 dB. */
static const double NEAR = 0.5;

/* A thread's memory. */
struct arrays_lane {
    real *samples; /* a window, or frames of the direct form */
    real *sum;     /* a block's spectrum, or its frames */
};

struct part_sizes {
    double norm; /* sum |h| */
    double gain; /* largest magnitude of the spectrum */
};

/* Spectra of the mask's partitions, or its taps, and a ring of the spectra of windows. */
struct spectra {
    real *mask, *windows;
    struct part_sizes *parts; /* [partition] */
    const void *mask_of;      /* what `mask` was made of */
    const struct arrays_plan *plan;
};

struct run {
    const struct arrays_job *job;
    const struct arrays_plan *plans;
    struct real_odd_fft **ffts; /* [group] */
    size_t segment;             /* blocks that threads share; 1: threads take whole convolutions */
    struct arrays_lane *lanes;  /* [worker] */
    struct spectra *spectra;    /* [worker], or one */
    size_t lane_count, spectra_count;
    bool *are_left; /* [convolution] see arrays_plan.h */
};

/* One convolution. */
struct arrays_task {
    const struct run *run;
    const struct arrays_plan *plan;
    const struct real_odd_fft *fft;
    const struct arrays_lane *lanes; /* [worker] */
    const struct spectra *spectra;
    const char *signal, *mask;
    char *y;
    ptrdiff_t first_window;
    size_t first_block;
};

static size_t bytes_of(const struct run *run)
{
    return run->job->sample == ARRAYS_FLOAT64   ? sizeof(double)
           : run->job->sample == ARRAYS_FLOAT32 ? sizeof(float)
                                                : sizeof(uint16_t);
}

/* ---- samples of arrays ---- */

static void widen_floats(enum arrays_sample sample, const void *from, size_t count, float *to)
{
    if (sample == ARRAYS_FLOAT32)
        memcpy(to, from, count * sizeof *to);
    else if (sample == ARRAYS_FLOAT16)
        halves_widen(from, count, to);
    else
        bfloats_widen(from, count, to);
}

static void put_floats(enum arrays_sample sample, const float *from, size_t count, void *to)
{
    if (sample == ARRAYS_FLOAT32)
        memcpy(to, from, count * sizeof *from);
    else if (sample == ARRAYS_FLOAT16)
        halves_round(from, count, to);
    else
        bfloats_round(from, count, to);
}

#ifdef HALO_DOUBLE
enum { FEW = 256 }; /* samples converted at once */

static void widen(const struct run *run, const char *from, size_t count, double *to)
{
    if (run->job->sample == ARRAYS_FLOAT64) {
        memcpy(to, from, count * sizeof *to);
        return;
    }
    for (size_t at = 0, few; at < count; at += few) {
        float floats[FEW];
        few = count - at < FEW ? count - at : FEW;
        widen_floats(run->job->sample, from + at * bytes_of(run), few, floats);
        for (size_t i = 0; i < few; i++)
            to[at + i] = floats[i];
    }
}

static void put(const struct run *run, const double *from, size_t count, char *to)
{
    if (run->job->sample == ARRAYS_FLOAT64) {
        memcpy(to, from, count * sizeof *from);
        return;
    }
    for (size_t at = 0, few; at < count; at += few) {
        float floats[FEW];
        few = count - at < FEW ? count - at : FEW;
        for (size_t i = 0; i < few; i++)
            floats[i] = (float)from[at + i];
        put_floats(run->job->sample, floats, few, to + at * bytes_of(run));
    }
}
#else
static void widen(const struct run *run, const char *from, size_t count, float *to)
{
    widen_floats(run->job->sample, from, count, to);
}

static void put(const struct run *run, const float *from, size_t count, char *to)
{
    put_floats(run->job->sample, from, count, to);
}
#endif

static void reverse(real *samples, size_t count)
{
    for (size_t i = 0; i < count / 2; i++) {
        real sample = samples[i];
        samples[i] = samples[count - 1 - i];
        samples[count - 1 - i] = sample;
    }
}

/* Takes `count` samples from number `from` on; beyond the operand's ends they are 0. */
static void take(const struct run *run, const struct arrays_operand *operand, const char *array,
                 ptrdiff_t from, size_t count, real *to)
{
    ptrdiff_t length = (ptrdiff_t)operand->count, end = from + (ptrdiff_t)count;
    ptrdiff_t begin = from < 0 ? 0 : from < length ? from : length;
    end = end < begin ? begin : end < length ? end : length;
    size_t before = begin > from ? (size_t)(begin - from) : 0, there = (size_t)(end - begin);
    if (before > count)
        before = count;
    memset(to, 0, before * sizeof *to);
    size_t at = operand->from + (size_t)begin;
    if (operand->is_backwards)
        at = operand->length - at - there;
    if (there > 0)
        widen(run, array + at * bytes_of(run), there, to + before);
    if (operand->is_backwards)
        reverse(to + before, there);
    memset(to + before + there, 0, (count - before - there) * sizeof *to);
}

/* ---- one convolution ---- */

static real *window_at(const struct arrays_task *task, ptrdiff_t window)
{
    size_t depth = task->run->segment + task->plan->partitions - 1;
    size_t place = (size_t)(window + (ptrdiff_t)task->plan->partitions) % depth;
    return task->spectra->windows + place * fft_spectrum_floats(task->plan->fft);
}

static ptrdiff_t begin_of(const struct arrays_plan *plan, ptrdiff_t window)
{
    return plan->begin + window * (ptrdiff_t)plan->hop;
}

static bool is_silent(const struct arrays_plan *plan, ptrdiff_t window)
{
    ptrdiff_t begin = begin_of(plan, window);
    return begin >= (ptrdiff_t)plan->signal.count || begin + (ptrdiff_t)plan->fft <= 0;
}

static void transform_window(void *context, size_t piece, size_t worker)
{
    const struct arrays_task *task = context;
    const struct arrays_plan *plan = task->plan;
    ptrdiff_t window = task->first_window + (ptrdiff_t)piece;
    real *samples = task->lanes[worker].samples;
    if (is_silent(plan, window))
        return;
    take(task->run, &plan->signal, task->signal, begin_of(plan, window), plan->fft, samples);
    odd_fft_forward(task->fft, samples, plan->fft, samples, window_at(task, window));
}

static void transform_partition(void *context, size_t partition, size_t worker)
{
    const struct arrays_task *task = context;
    const struct arrays_plan *plan = task->plan;
    size_t from = partition * plan->taps, left = plan->mask.count - from;
    size_t taps = left < plan->taps ? left : plan->taps;
    real *samples = task->lanes[worker].samples, scale = 1 / (real)plan->fft;
    real *spectrum = task->spectra->mask + partition * fft_spectrum_floats(plan->fft);
    double norm = 0;
    take(task->run, &plan->mask, task->mask, (ptrdiff_t)from, taps, samples);
    for (size_t k = 0; k < taps; k++) {
        norm += fabs((double)samples[k]);
        samples[k] *= scale;
    }
    memset(samples + taps, 0, (plan->fft - taps) * sizeof *samples);
    odd_fft_forward(task->fft, samples, plan->fft, samples, spectrum);
    task->spectra->parts[partition] = (struct part_sizes){
        norm, sqrt(near_bound_largest(spectrum, plan->fft)) * (double)plan->fft};
}

/* Adds partitions [from, end) by their windows for a tile of the block's spectrum. */
static void add_products(const struct arrays_task *task, size_t block, size_t from, size_t end,
                         size_t tile, size_t numbers, real *sum)
{
    const real *windows[PRODUCTS_MOST], *masks[PRODUCTS_MOST];
    size_t floats = fft_spectrum_floats(task->plan->fft);
    for (size_t p = from; p < end; p++) {
        windows[p - from] = window_at(task, (ptrdiff_t)block - (ptrdiff_t)p) + tile;
        masks[p - from] = task->spectra->mask + p * floats + tile;
    }
    odd_fft_multiply_add(sum + tile, windows, masks, end - from, numbers);
}

static void multiply(const struct arrays_task *task, size_t block, real *sum)
{
    size_t n = task->plan->fft, from = 0, end = task->plan->partitions;
    while (from < end && is_silent(task->plan, (ptrdiff_t)block - (ptrdiff_t)from))
        from++;
    while (end > from && is_silent(task->plan, (ptrdiff_t)block - (ptrdiff_t)(end - 1)))
        end--;
    for (size_t tile = 0; tile < n; tile += TILE) {
        size_t numbers = n - tile < TILE ? n - tile : TILE;
        memset(sum + tile, 0, numbers * sizeof *sum);
        for (size_t p = from; p < end; p += PRODUCTS_MOST)
            add_products(task, block, p, end - p < PRODUCTS_MOST ? end : p + PRODUCTS_MOST, tile,
                         numbers, sum);
    }
}

static size_t frames_of(const struct arrays_plan *plan, size_t block)
{
    size_t left = plan->frames - block * plan->hop;
    return left < plan->hop ? left : plan->hop;
}

static void compute_block(void *context, size_t piece, size_t worker)
{
    const struct arrays_task *task = context;
    const struct arrays_plan *plan = task->plan;
    const struct arrays_lane *lane = &task->lanes[worker];
    size_t block = task->first_block + piece, frames = frames_of(plan, block);
    multiply(task, block, lane->sum);
    odd_fft_inverse(task->fft, lane->sum, lane->samples, 0, 0, lane->samples);
    put(task->run, lane->samples + plan->skip, frames,
        task->y + block * plan->hop * bytes_of(task->run));
}

static void compute_directly(void *context, size_t block, size_t worker)
{
    const struct arrays_task *task = context;
    const struct arrays_plan *plan = task->plan;
    const struct arrays_lane *lane = &task->lanes[worker];
    size_t frames = frames_of(plan, block);
    take(task->run, &plan->signal, task->signal, begin_of(plan, (ptrdiff_t)block),
         plan->skip + frames, lane->samples);
    for (size_t at = 0; at < frames; at += FIR_TILE) {
        size_t count = frames - at < FIR_TILE ? frames - at : FIR_TILE;
        double sum[FIR_TILE] = {0};
        fir_add(sum, lane->samples + plan->skip + at, count, task->spectra->mask, plan->taps);
        for (size_t i = 0; i < count; i++)
            lane->sum[at + i] = (real)sum[i];
    }
    put(task->run, lane->sum, frames, task->y + block * plan->hop * bytes_of(task->run));
}

/* Threads of the segment's workers share each step. */
static void compute_blocks(struct arrays_task *task, struct workers *workers)
{
    const struct arrays_plan *plan = task->plan;
    size_t segment = task->run->segment;
    task->first_window = 1 - (ptrdiff_t)plan->partitions;
    for (size_t end; task->first_block < plan->blocks; task->first_block = end) {
        end =
            plan->blocks - task->first_block < segment ? plan->blocks : task->first_block + segment;
        workers_run(workers, (size_t)((ptrdiff_t)end - task->first_window), transform_window, task);
        workers_run(workers, end - task->first_block, compute_block, task);
        task->first_window = (ptrdiff_t)end;
    }
}

/* Whether rounding in single precision may exceed what is promised. Uses the task's first lane. */
static bool is_near(const struct arrays_task *task)
{
    const struct arrays_plan *plan = task->plan;
    real *samples = task->lanes[0].samples;
    double norm = 0, gain = 0, energy = 0, peak = 0;
    for (size_t p = 0; plan->fft > 0 && p < plan->partitions; p++) {
        norm += task->spectra->parts[p].norm;
        gain += task->spectra->parts[p].gain;
    }
    if (REAL_IS_DOUBLE || gain <= NEAR * norm)
        return false;
    for (ptrdiff_t w = 1 - (ptrdiff_t)plan->partitions; w < (ptrdiff_t)plan->blocks; w++) {
        if (is_silent(plan, w))
            continue;
        take(task->run, &plan->signal, task->signal, begin_of(plan, w), plan->fft, samples);
        energy = fmax(energy, (double)near_bound_energy(samples, plan->fft));
        peak = fmax(peak, (double)audio_peak(samples, plan->fft));
    }
    double near = NEAR * norm * peak / gain;
    return energy > near * near * (double)plan->fft;
}

/* Makes the mask's spectra, or its taps, unless they are there. */
static void prepare_mask(struct arrays_task *task, struct spectra *spectra, struct workers *workers)
{
    const struct arrays_plan *plan = task->plan, *made = spectra->plan;
    task->spectra = spectra;
    if (spectra->mask_of == task->mask && made->fft == plan->fft && made->taps == plan->taps &&
        made->mask.from == plan->mask.from && made->mask.count == plan->mask.count &&
        made->mask.length == plan->mask.length &&
        made->mask.is_backwards == plan->mask.is_backwards)
        return;
    spectra->mask_of = task->mask;
    spectra->plan = plan;
    if (plan->fft == 0)
        take(task->run, &plan->mask, task->mask, 0, plan->taps, spectra->mask);
    else
        workers_run(workers, plan->partitions, transform_partition, task);
}

/* Computes convolution number `number` of the job. workers NULL: in lane `lane`. */
static void convolve(const struct run *run, size_t number, size_t lane, struct workers *workers)
{
    size_t g = 0, bytes = bytes_of(run);
    if (REAL_IS_DOUBLE && run->are_left && !run->are_left[number])
        return;
    while (number >= run->plans[g + 1].before)
        g++;
    const struct arrays_group *group = &run->job->groups[g];
    const struct arrays_plan *plan = &run->plans[g];
    ptrdiff_t j = (ptrdiff_t)(number - plan->before), each = (ptrdiff_t)bytes;
    char *y = (char *)group->y + j * group->y_step * each;
    if (plan->frames > 0) {
        struct arrays_task task = {.run = run, .plan = plan, .fft = run->ffts[g], .y = y};
        task.lanes = &run->lanes[lane];
        task.signal = (const char *)plan->signal.samples + j * plan->signal.step * each;
        task.mask = (const char *)plan->mask.samples + j * plan->mask.step * each;
        prepare_mask(&task, &run->spectra[lane], workers);
        if (is_near(&task)) {
            run->are_left[number] = true;
            return;
        }
        if (plan->fft > 0)
            compute_blocks(&task, workers);
        else
            workers_run(workers, plan->blocks, compute_directly, &task);
    }
    memset(y + plan->frames * bytes, 0, (group->out_frames - plan->frames) * bytes);
}

static void take_convolution(void *context, size_t number, size_t worker)
{
    convolve(context, number, worker, NULL);
}

/* ---- memory ---- */

struct sizes {
    size_t samples, sum, mask, windows, parts;
};

static void grow(size_t *size, size_t least)
{
    *size = *size > least ? *size : least;
}

static struct sizes sizes_of(const struct run *run)
{
    struct sizes sizes = {1, 1, 1, 1, 1};
    for (size_t g = 0; g < run->job->group_count; g++) {
        const struct arrays_plan *plan = &run->plans[g];
        size_t floats = fft_spectrum_floats(plan->fft);
        if (plan->frames == 0)
            continue;
        grow(&sizes.samples, plan->fft ? plan->fft : plan->skip + plan->hop);
        grow(&sizes.sum, plan->fft ? floats : plan->hop);
        grow(&sizes.mask, plan->fft ? plan->partitions * floats : plan->taps);
        if (plan->fft)
            grow(&sizes.windows, (run->segment + plan->partitions - 1) * floats);
        grow(&sizes.parts, plan->partitions);
    }
    return sizes;
}

static enum status allocate(struct run *run)
{
    const struct sizes sizes = sizes_of(run);
    bool is_there = run->lanes && run->spectra && run->ffts;
    for (size_t l = 0; is_there && l < run->lane_count; l++) {
        run->lanes[l].samples = audio_alloc_unset(sizes.samples);
        run->lanes[l].sum = audio_alloc_unset(sizes.sum);
        is_there = run->lanes[l].samples && run->lanes[l].sum;
    }
    for (size_t s = 0; is_there && s < run->spectra_count; s++) {
        run->spectra[s].mask = audio_alloc_unset(sizes.mask);
        run->spectra[s].windows = audio_alloc_unset(sizes.windows);
        run->spectra[s].parts = calloc(sizes.parts, sizeof *run->spectra[s].parts);
        is_there = run->spectra[s].mask && run->spectra[s].windows && run->spectra[s].parts;
    }
    return is_there ? STATUS_OK : fail_memory("arrays");
}

static enum status open_run(struct run *run)
{
    TRY(allocate(run));
    for (size_t g = 0; g < run->job->group_count; g++)
        if (run->plans[g].fft > 0)
            TRY(odd_fft_find(run->plans[g].fft, &run->ffts[g]));
    return STATUS_OK;
}

static void close_run(const struct run *run)
{
    for (size_t l = 0; run->lanes && l < run->lane_count; l++) {
        free(run->lanes[l].samples);
        free(run->lanes[l].sum);
    }
    for (size_t s = 0; run->spectra && s < run->spectra_count; s++) {
        free(run->spectra[s].mask);
        free(run->spectra[s].windows);
        free(run->spectra[s].parts);
    }
    free(run->lanes);
    free(run->spectra);
    free(run->ffts);
}

/* Blocks that threads share at a time: some for each of them, at most all of a convolution. */
static size_t segment_of(const struct arrays_job *job, const struct arrays_plan *plans,
                         size_t threads)
{
    size_t blocks = 1;
    for (size_t g = 0; g < job->group_count; g++)
        grow(&blocks, plans[g].blocks);
    return blocks < BLOCKS_SHARED * threads ? blocks : BLOCKS_SHARED * threads;
}

enum status arrays_run(const struct arrays_job *job, const struct arrays_plan *plans,
                       struct workers *workers, bool shares_each, bool *are_left)
{
    size_t count = plans[job->group_count].before, threads = workers_count(workers);
    struct run run = {.job = job,
                      .plans = plans,
                      .ffts = calloc(job->group_count, sizeof(struct real_odd_fft *)),
                      .segment = shares_each && workers ? segment_of(job, plans, threads) : 1,
                      .lanes = calloc(threads, sizeof *run.lanes),
                      .spectra = calloc(threads, sizeof *run.spectra),
                      .lane_count = threads,
                      .spectra_count = shares_each ? 1 : threads,
                      .are_left = are_left};
    enum status status = count > 0 ? open_run(&run) : STATUS_OK;
    for (size_t i = 0; status == STATUS_OK && shares_each && i < count; i++)
        convolve(&run, i, 0, workers);
    if (status == STATUS_OK && !shares_each)
        workers_run(workers, count, take_convolution, &run);
    close_run(&run);
    return status;
}
