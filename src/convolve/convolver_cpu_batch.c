/* The CPU's convolver for files, set up: buffers, the transform and the spectra of masks. */
#include "convolve/convolver_cpu_batch.h"

#include "signal/audio.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const size_t CACHE_FLOATS = 1 << 18; /* of masks' spectra that an output may need at once */

static void batch_destroy(struct convolution *convolution)
{
    size_t workers = workers_count(convolution->shape.workers);
    history_free(&convolution->history);
    fft_destroy(convolution->fft);
    rows_free(convolution->spectra, convolution->shape.inputs);
    rows_free(convolution->sums, workers);
    rows_free(convolution->samples, workers);
    free(convolution);
}

static enum status init_spectra(struct convolution *convolution)
{
    const struct convolver_shape *shape = &convolution->shape;
    const struct partition_plan *plan = &convolution->plan;
    size_t workers = workers_count(shape->workers);
    convolution->floats = fft_spectrum_floats(plan->fft);
    convolution->depth = plan->chunks + plan->partitions - 1;
    /* With many paths a mask's spectra come from far: once for several chunks, then. */
    bool far = shape->inputs * plan->partitions * convolution->floats > CACHE_FLOATS;
    size_t group = far ? (plan->chunks + workers - 1) / workers : 1;
    convolution->group = group < GROUP_MOST ? group : GROUP_MOST;
    convolution->spectra = rows_alloc(shape->inputs, convolution->depth * convolution->floats);
    convolution->sums = rows_alloc(workers, convolution->group * convolution->floats);
    convolution->samples = rows_alloc(workers, plan->fft);
    if (!convolution->spectra || !convolution->sums || !convolution->samples)
        return fail_memory("a convolver");
    return fft_create(plan->fft, &convolution->fft);
}

static enum status fill(struct convolution *convolution)
{
    const struct convolver_shape *shape = &convolution->shape;
    const struct partition_plan *plan = &convolution->plan;
    double floats = 2.0 * (double)plan->history_frames + 3.0 * (double)shape->block;
    floats += (double)plan->fft * (double)(plan->chunks + 2 * plan->partitions);
    enum status status = check_memory(shape, floats);
    size_t history_frames = plan->algorithm == PARTITION_DIRECT ? shape->taps - 1 : plan->history_frames;
    if (status == STATUS_OK)
        status = history_init(&convolution->history, shape->inputs, history_frames, shape->block);
    if (status == STATUS_OK && plan->algorithm == PARTITION_OVERLAP_SAVE)
        status = init_spectra(convolution);
    return status;
}

static enum status batch_create(const struct convolver_shape *shape, struct convolution **result)
{
    struct convolution *convolution = calloc(1, sizeof *convolution);
    if (!convolution)
        return fail_memory("a convolver");
    convolution->shape = *shape;
    convolution->plan = cpu_plan(shape);
    enum status status = fill(convolution);
    if (status != STATUS_OK) {
        batch_destroy(convolution);
        return status;
    }
    *result = convolution;
    return STATUS_OK;
}

static void batch_reset(struct convolution *convolution)
{
    history_reset(&convolution->history);
    convolution->newest = 0;
    for (size_t c = 0; convolution->spectra && c < convolution->shape.inputs; c++)
        memset(convolution->spectra[c], 0,
               convolution->depth * convolution->floats * sizeof(float));
}

static void batch_describe(const struct convolution *convolution, char *text, size_t size)
{
    snprintf(text, size, "%s", partition_algorithm_name(convolution->plan.algorithm));
}

/* ---- masks ---- */

static void batch_release(const struct convolution *convolution, struct prepared *prepared)
{
    (void)convolution;
    path_table_free(&prepared->paths);
    free(prepared->head);
    free(prepared->spectra);
    free(prepared);
}

static enum status prepare_spectra(const struct convolution *convolution, const struct mask *mask,
                                   struct prepared *prepared)
{
    const struct partition_plan *plan = &convolution->plan;
    size_t floats = convolution->floats, partition = plan->partitions > 1 ? plan->hop : mask->taps;
    prepared->partitions = (mask->taps + partition - 1) / partition;
    prepared->spectra = audio_alloc(mask->columns * prepared->partitions * floats);
    float *samples = audio_alloc(plan->fft);
    for (size_t i = 0; prepared->spectra && samples && i < mask->columns * prepared->partitions; i++)
        transform_taps(convolution->fft, mask, i / prepared->partitions, i % prepared->partitions * partition,
                       partition, samples, prepared->spectra + i * floats);
    bool made = prepared->spectra && samples;
    free(samples);
    return made ? STATUS_OK : fail_memory("a mask");
}

static enum status batch_prepare(const struct convolution *convolution, const struct mask *mask,
                                 struct prepared **result)
{
    struct prepared *prepared = calloc(1, sizeof *prepared);
    if (!prepared)
        return fail_memory("a mask");
    enum status status = path_table_init(&prepared->paths, mask);
    if (status == STATUS_OK && convolution->plan.algorithm == PARTITION_OVERLAP_SAVE)
        status = prepare_spectra(convolution, mask, prepared);
    else if (status == STATUS_OK && !(prepared->head = copy_head(mask, convolution->plan.head)))
        status = fail_memory("a mask");
    if (status != STATUS_OK) {
        batch_release(convolution, prepared);
        return status;
    }
    *result = prepared;
    return STATUS_OK;
}

const struct convolver_backend convolver_cpu_batch = {
    .name = "cpu",
    .create = batch_create,
    .destroy = batch_destroy,
    .reset = batch_reset,
    .describe = batch_describe,
    .prepare = batch_prepare,
    .release = batch_release,
    .step = cpu_batch_step,
};
