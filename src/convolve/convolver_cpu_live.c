/* Set-up of the CPU's live convolver: buffers, transforms and the spectra of masks. */
#include "convolve/convolver_cpu_live.h"

#include "base/thread.h"
#include "signal/audio.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static atomic_uint_fast64_t masks_prepared;

static size_t longest_transform(const struct partition_plan *plan)
{
    size_t longest = 2;
    for (size_t s = 0; s < plan->segment_count; s++)
        if (2 * plan->segments[s].size > longest)
            longest = 2 * plan->segments[s].size;
    return longest;
}

static void live_destroy(struct convolution *base)
{
    struct cpu_live_convolution *convolution = (struct cpu_live_convolution *)base;
    const struct convolver_shape *shape = &convolution->shape;
    atomic_store(&convolution->leave, true);
    if (convolution->has_worker)
        pthread_join(convolution->worker, NULL);
    history_free(&convolution->history);
    for (size_t s = 0; s < convolution->plan.segment_count; s++) {
        struct segment *segment = &convolution->segments[s];
        fft_destroy(segment->fft);
        rows_free(segment->spectra, shape->inputs);
        free(segment->job.sum);
        free(segment->job.samples);
        free(segment->job.ends);
    }
    free(convolution->arming.job.sum);
    free(convolution->arming.job.samples);
    for (size_t r = 0; r < RINGS; r++)
        for (size_t v = 0; v < CONVOLVER_SLOTS; v++)
            rows_free(convolution->due[r][v], shape->outputs);
    free(convolution);
}

static enum status init_segment(struct cpu_live_convolution *convolution, size_t s)
{
    const struct convolver_shape *shape = &convolution->shape;
    const struct partition_segment *cut = &convolution->plan.segments[s];
    struct segment *segment = &convolution->segments[s];
    segment->cut = *cut;
    segment->floats = fft_spectrum_floats(2 * cut->size);
    /* A mask that is armed later needs all partitions that are still due. */
    segment->depth = cut->partitions + cut->offset / cut->size + 2;
    segment->spectra = rows_alloc(shape->inputs, segment->depth * segment->floats);
    segment->job.sum = audio_alloc(segment->floats);
    segment->job.samples = audio_alloc(2 * cut->size);
    segment->job.ends = calloc(shape->inputs, sizeof *segment->job.ends);
    if (!segment->spectra || !segment->job.sum || !segment->job.samples || !segment->job.ends)
        return fail_memory("a convolver");
    bool helped = shape->live && workers_count(shape->workers) > 1 &&
                  partition_is_helped(cut->size, shape->block);
    segment->ring = helped ? WORKER_RING : STEPS_RING;
    atomic_flag_clear(&segment->lock);
    atomic_store(&segment->deadline, UINT64_MAX);
    size_t due = cut->offset + shape->block;
    if (due > convolution->due_length)
        convolution->due_length = due;
    return fft_create(2 * cut->size, &segment->fft);
}

static size_t history_needed(const struct partition_plan *plan)
{
    size_t frames = plan->head > 0 ? plan->head - 1 : 0;
    for (size_t s = 0; s < plan->segment_count; s++)
        if (3 * plan->segments[s].size > frames)
            frames = 3 * plan->segments[s].size;
    return frames;
}

static int64_t jobs_period(const struct cpu_live_convolution *convolution)
{
    size_t shortest = SIZE_MAX;
    for (size_t s = 0; s < convolution->plan.segment_count; s++) {
        const struct segment *segment = &convolution->segments[s];
        if (segment->ring == WORKER_RING && segment->cut.size < shortest)
            shortest = segment->cut.size;
    }
    return (int64_t)(1e9 * (double)shortest / live_rate(convolution));
}

static enum status start_worker(struct cpu_live_convolution *convolution)
{
    convolution->worker_period = jobs_period(convolution);
    if (thread_start(&convolution->worker, "halo long masks", THREAD_BELOW_CALLER, live_work,
                     convolution) != 0)
        return fail(STATUS_FAILED, "cannot start a thread; try --threads 1");
    convolution->has_worker = true;
    return STATUS_OK;
}

static enum status init_due(struct cpu_live_convolution *convolution)
{
    const struct convolver_shape *shape = &convolution->shape;
    bool helped = false;
    for (size_t s = 0; s < convolution->plan.segment_count; s++)
        helped = helped || convolution->segments[s].ring == WORKER_RING;
    for (size_t r = 0; r < (helped ? RINGS : WORKER_RING); r++)
        for (size_t v = 0; v < CONVOLVER_SLOTS; v++) {
            convolution->due[r][v] = rows_alloc(shape->outputs, convolution->due_length);
            if (!convolution->due[r][v])
                return fail_memory("a convolver");
        }
    return helped ? start_worker(convolution) : STATUS_OK;
}

static enum status init_arming(struct cpu_live_convolution *convolution)
{
    size_t longest = longest_transform(&convolution->plan);
    struct segment_job *job = &convolution->arming.job;
    job->sum = audio_alloc(fft_spectrum_floats(longest));
    job->samples = audio_alloc(longest);
    return job->sum && job->samples ? STATUS_OK : fail_memory("a convolver");
}

static enum status live_create(const struct convolver_shape *shape, struct convolution **result)
{
    struct cpu_live_convolution *convolution = calloc(1, sizeof *convolution);
    if (!convolution)
        return fail_memory("a convolver");
    convolution->shape = *shape;
    convolution->plan = cpu_plan(shape);
    const struct partition_plan *plan = &convolution->plan;
    size_t kept = history_needed(plan);
    double floats = 2.0 * (double)kept + (double)shape->taps;
    for (size_t s = 0; s < plan->segment_count; s++)
        floats += 3.0 * (double)(plan->segments[s].size * (plan->segments[s].partitions + 4));
    enum status status;
    if ((status = check_memory(shape, floats)) ||
        (status = history_init(&convolution->history, shape->inputs, kept, shape->block)))
        goto fail;
    for (size_t s = 0; s < plan->segment_count; s++)
        if ((status = init_segment(convolution, s)))
            goto fail;
    if ((status = init_arming(convolution)) || (status = init_due(convolution)))
        goto fail;
    *result = (struct convolution *)convolution;
    return STATUS_OK;
fail:
    live_destroy((struct convolution *)convolution);
    return status;
}

static void live_reset(struct convolution *base)
{
    struct cpu_live_convolution *convolution = (struct cpu_live_convolution *)base;
    const struct convolver_shape *shape = &convolution->shape;
    convolution->end = 0;
    convolution->peak = 0;
    convolution->arming.number = 0;
    for (size_t v = 0; v < CONVOLVER_SLOTS; v++)
        cpu_live_leave(convolution, v);
    for (size_t s = 0; s < convolution->plan.segment_count; s++) {
        struct segment *segment = &convolution->segments[s];
        job_lock(segment);
        segment->job.full = 0;
        atomic_store(&segment->deadline, UINT64_MAX);
        job_release(segment);
    }
    history_reset(&convolution->history);
    for (size_t s = 0; s < convolution->plan.segment_count; s++) {
        struct segment *segment = &convolution->segments[s];
        segment->newest = 0;
        segment->near_until = 0;
        for (size_t c = 0; c < shape->inputs; c++)
            memset(segment->spectra[c], 0, segment->depth * segment->floats * sizeof(real));
    }
    for (size_t r = 0; r < RINGS; r++)
        for (size_t v = 0; v < CONVOLVER_SLOTS; v++)
            for (size_t o = 0; convolution->due[r][v] && o < shape->outputs; o++)
                memset(convolution->due[r][v][o], 0, convolution->due_length * sizeof(real));
}

static void live_describe(const struct convolution *base, char *text, size_t size)
{
    const struct cpu_live_convolution *convolution = (const struct cpu_live_convolution *)base;
    const struct partition_plan *plan = &convolution->plan;
    size_t used = (size_t)snprintf(text, size, "partitioned");
    if (plan->head > 0 && used < size)
        used += (size_t)snprintf(text + used, size - used, ": direct %zu", plan->head);
    for (size_t s = 0; s < plan->segment_count && used < size; s++)
        used += (size_t)snprintf(text + used, size - used, "%s %zu x %zu",
                                 s > 0 || plan->head > 0 ? "," : ":", plan->segments[s].partitions,
                                 plan->segments[s].size);
    if (convolution->has_worker && used < size)
        snprintf(text + used, size - used, ", with a worker");
}

static void mask_free(struct cpu_live_mask *prepared)
{
    if (!prepared)
        return;
    path_table_free(&prepared->paths);
    free(prepared->head);
    for (size_t s = 0; s < PARTITION_SEGMENTS_MOST; s++) {
        free(prepared->spectra[s]);
        fft_double_destroy(prepared->precise[0][s]);
        fft_double_destroy(prepared->precise[1][s]);
    }
    free(prepared);
}

/* A job may still use the mask: remove it from all of them. */
static void leave_out(struct segment *segment, const struct cpu_live_mask *prepared)
{
    job_lock(segment);
    for (size_t v = 0; v < CONVOLVER_SLOTS; v++)
        if (atomic_load(&segment->wanted[v]) == prepared)
            atomic_store(&segment->wanted[v], NULL);
    job_release(segment);
}

static void live_release(const struct convolution *base, struct prepared *prepared)
{
    struct cpu_live_convolution *convolution = (struct cpu_live_convolution *)base;
    for (size_t s = 0; s < convolution->plan.segment_count; s++)
        leave_out(&convolution->segments[s], (struct cpu_live_mask *)prepared);
    mask_free((struct cpu_live_mask *)prepared);
}

static void transform_segment(const struct cpu_live_convolution *convolution, size_t s,
                              const struct mask *mask, real *samples,
                              struct cpu_live_mask *prepared)
{
    const struct segment *segment = &convolution->segments[s];
    size_t size = segment->cut.size, partitions = prepared->partitions[s];
    for (size_t i = 0; i < mask->columns * partitions; i++)
        transform_taps(segment->fft, prepared->precise[0][s], mask, i / partitions,
                       segment->cut.offset + i % partitions * size, size, samples,
                       prepared->spectra[s] + i * segment->floats);
}

static enum status prepare_segment(const struct cpu_live_convolution *convolution, size_t s,
                                   const struct mask *mask, real *samples,
                                   struct cpu_live_mask *prepared)
{
    const struct segment *segment = &convolution->segments[s];
    size_t size = segment->cut.size, offset = segment->cut.offset;
    size_t left = mask->taps > offset ? mask->taps - offset : 0;
    size_t partitions = (left + size - 1) / size;
    if (partitions > segment->cut.partitions)
        partitions = segment->cut.partitions;
    prepared->partitions[s] = partitions;
    prepared->spectra[s] = audio_alloc(mask->columns * partitions * segment->floats);
    if (!prepared->spectra[s])
        return fail_memory("a mask");
    transform_segment(convolution, s, mask, samples, prepared);
    near_bound_include(&prepared->bound, mask, prepared->spectra[s], partitions, 2 * size);
    return STATUS_OK;
}

/* If the mask's outputs may come near the bound. */
static enum status prepare_precise(const struct cpu_live_convolution *convolution,
                                   const struct mask *mask, real *samples,
                                   struct cpu_live_mask *prepared)
{
    if (!near_bound_is_possible(&prepared->bound))
        return STATUS_OK;
    for (size_t s = 0; s < convolution->plan.segment_count; s++) {
        for (size_t i = 0; i < 2; i++)
            TRY(fft_double_create(2 * convolution->segments[s].cut.size, &prepared->precise[i][s]));
        transform_segment(convolution, s, mask, samples, prepared);
    }
    return STATUS_OK;
}

static enum status live_prepare(const struct convolution *base, const struct mask *mask,
                                struct prepared **result)
{
    const struct cpu_live_convolution *convolution = (const struct cpu_live_convolution *)base;
    const struct partition_plan *plan = &convolution->plan;
    struct cpu_live_mask *prepared = calloc(1, sizeof *prepared);
    real *samples = audio_alloc(longest_transform(plan));
    enum status status = prepared && samples ? STATUS_OK : fail_memory("a mask");
    if (status != STATUS_OK)
        goto fail;
    prepared->number = 1 + atomic_fetch_add(&masks_prepared, 1);
    prepared->head = copy_head(mask, plan->head);
    near_bound_init(&prepared->bound, mask);
    if ((status = path_table_init(&prepared->paths, mask)) ||
        (status = prepared->head ? STATUS_OK : fail_memory("a mask")))
        goto fail;
    for (size_t s = 0; s < plan->segment_count; s++)
        if ((status = prepare_segment(convolution, s, mask, samples, prepared)))
            goto fail;
    if ((status = prepare_precise(convolution, mask, samples, prepared)))
        goto fail;
    free(samples);
    *result = (struct prepared *)prepared;
    return STATUS_OK;
fail:
    free(samples);
    mask_free(prepared);
    return status;
}

const struct convolver_backend REAL(convolver_cpu_live) = {
    .name = "cpu",
    .create = live_create,
    .destroy = live_destroy,
    .reset = live_reset,
    .describe = live_describe,
    .prepare = live_prepare,
    .release = live_release,
    .arm = cpu_live_arm,
    .is_worker_late = cpu_live_is_worker_late,
    .REAL(step) = cpu_live_step};
