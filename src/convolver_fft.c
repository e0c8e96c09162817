/* The CPU's convolver, set up: buffers, transforms and the spectra of masks. */
#include "convolver_fft.h"

#include "audio.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- history and scratch memory ---- */

static float **rows_alloc(size_t rows, size_t floats)
{
    float **row = calloc(rows ? rows : 1, sizeof *row);
    for (size_t r = 0; row && r < rows; r++) {
        row[r] = audio_alloc(floats);
        if (!row[r]) {
            while (r-- > 0)
                free(row[r]);
            free(row);
            return NULL;
        }
    }
    return row;
}

static void rows_free(float **row, size_t rows)
{
    for (size_t r = 0; row && r < rows; r++)
        free(row[r]);
    free(row);
}

static void fft_convolution_destroy(struct convolution *convolution)
{
    const struct convolver_shape *shape = &convolution->shape;
    size_t workers = workers_count(shape->workers);
    history_free(&convolution->history);
    fft_destroy(convolution->chunk_fft);
    rows_free(convolution->chunk_spectra, shape->inputs);
    for (size_t s = 0; s < convolution->plan.segment_count; s++) {
        fft_destroy(convolution->rings[s].fft);
        rows_free(convolution->rings[s].spectra, shape->inputs);
    }
    for (size_t v = 0; v < CONVOLVER_VOICES; v++)
        rows_free(convolution->due[v], shape->outputs);
    rows_free(convolution->scratch_spectrum, workers);
    rows_free(convolution->scratch_samples, workers);
    free(convolution);
}

static enum status init_ring(struct convolution *convolution, size_t s)
{
    const struct partition_segment *segment = &convolution->plan.segments[s];
    struct spectra_ring *ring = &convolution->rings[s];
    ring->segment = segment;
    ring->floats = fft_spectrum_floats(2 * segment->size);
    /* A mask that begins later looks back by as many partitions as are still due. */
    ring->late = segment->offset / segment->size + 2;
    ring->depth = segment->parts + ring->late;
    ring->spectra = rows_alloc(convolution->shape.inputs, ring->depth * ring->floats);
    if (!ring->spectra)
        return fail_memory("a convolver");
    size_t due = segment->offset + convolution->shape.block;
    if (due > convolution->due_length)
        convolution->due_length = due;
    return fft_create(2 * segment->size, &ring->fft);
}

static size_t longest_fft(const struct partition_plan *plan)
{
    size_t longest = plan->fft;
    for (size_t s = 0; s < plan->segment_count; s++)
        if (2 * plan->segments[s].size > longest)
            longest = 2 * plan->segments[s].size;
    return longest;
}

static enum status check_memory(const struct convolver_shape *shape,
                                const struct partition_plan *plan)
{
    /* History twice the mask, spectra another two to four times, for every input. */
    double floats = 2.0 * (double)shape->taps + 3.0 * (double)shape->block;
    floats += 2.0 * (double)plan->fft * (double)plan->chunks;
    for (size_t s = 0; s < plan->segment_count; s++)
        floats += 2.0 * (double)(plan->segments[s].size * (plan->segments[s].parts + 4));
    double bytes = floats * (double)(shape->inputs + shape->outputs) * (double)sizeof(float);
    if (bytes < (double)audio_memory_limit())
        return STATUS_OK;
    return fail(STATUS_FAILED,
                "a mask of %zu taps on %zu channels needs about %.0f GB of memory, "
                "more than this machine has; use a shorter one",
                shape->taps, shape->inputs, bytes / 1e9);
}

static enum status fill(struct convolution *convolution)
{
    const struct convolver_shape *shape = &convolution->shape;
    const struct partition_plan *plan = &convolution->plan;
    size_t longest = longest_fft(plan), workers = workers_count(shape->workers);
    enum status status = check_memory(shape, plan);
    if (status == STATUS_OK)
        status = history_init(&convolution->history, shape->inputs, shape->taps - 1, shape->block);
    for (size_t s = 0; s < plan->segment_count && status == STATUS_OK; s++)
        status = init_ring(convolution, s);
    if (status == STATUS_OK && plan->algorithm == PARTITION_OVERLAP_SAVE)
        status = fft_create(plan->fft, &convolution->chunk_fft);
    if (status != STATUS_OK)
        return status;
    if (plan->algorithm == PARTITION_OVERLAP_SAVE) {
        convolution->chunk_floats = fft_spectrum_floats(plan->fft);
        convolution->chunk_spectra =
            rows_alloc(shape->inputs, plan->chunks * convolution->chunk_floats);
        if (!convolution->chunk_spectra)
            return fail_memory("a convolver");
    }
    for (size_t v = 0; v < CONVOLVER_VOICES; v++) {
        convolution->due[v] = rows_alloc(shape->outputs, convolution->due_length);
        if (!convolution->due[v])
            return fail_memory("a convolver");
    }
    convolution->scratch_spectrum = rows_alloc(workers, fft_spectrum_floats(longest));
    convolution->scratch_samples = rows_alloc(workers, longest);
    if (!convolution->scratch_spectrum || !convolution->scratch_samples)
        return fail_memory("a convolver");
    return STATUS_OK;
}

static enum status fft_convolution_create(const struct convolver_shape *shape,
                                          struct convolution **result)
{
    struct convolution *convolution = calloc(1, sizeof *convolution);
    if (!convolution)
        return fail_memory("a convolver");
    convolution->shape = *shape;
    convolution->plan = partition_plan(shape->taps, shape->block);
    enum status status = fill(convolution);
    if (status != STATUS_OK) {
        fft_convolution_destroy(convolution);
        return status;
    }
    *result = convolution;
    return STATUS_OK;
}

static void fft_convolution_reset(struct convolution *convolution)
{
    const struct convolver_shape *shape = &convolution->shape;
    history_reset(&convolution->history);
    convolution->end = 0;
    for (size_t s = 0; s < convolution->plan.segment_count; s++) {
        struct spectra_ring *ring = &convolution->rings[s];
        for (size_t c = 0; c < shape->inputs; c++)
            memset(ring->spectra[c], 0, ring->depth * ring->floats * sizeof(float));
    }
    for (size_t v = 0; v < CONVOLVER_VOICES; v++)
        for (size_t c = 0; c < shape->outputs; c++)
            memset(convolution->due[v][c], 0, convolution->due_length * sizeof(float));
}

static void fft_describe(const struct convolution *convolution, char *text, size_t size)
{
    snprintf(text, size, "%s", partition_algorithm_name(convolution->plan.algorithm));
}

/* ---- masks ---- */

static void fft_release(const struct convolution *convolution, struct prepared *prepared)
{
    (void)convolution;
    path_table_free(&prepared->paths);
    free(prepared->head);
    free(prepared->chunk_spectra);
    for (size_t s = 0; s < PARTITION_SEGMENTS_MOST; s++)
        free(prepared->part_spectra[s]);
    free(prepared);
}

/* The spectrum of taps [from, from + count) of a column, scaled for the way back. */
static void transform_taps(const struct fft *fft, const struct mask *mask, size_t column,
                           size_t from, size_t count, float *samples, float *spectrum)
{
    size_t n = fft_length(fft);
    size_t there = from >= mask->taps ? 0 : mask->taps - from;
    if (count > there)
        count = there;
    memset(samples, 0, n * sizeof *samples);
    for (size_t k = 0; k < count; k++)
        samples[k] = mask_column(mask, column)[from + k] / (float)n;
    fft_forward(fft, samples, spectrum);
}

static enum status prepare_chunks(const struct convolution *convolution, const struct mask *mask,
                                  float *samples, struct prepared *prepared)
{
    size_t floats = convolution->chunk_floats;
    prepared->chunk_spectra = audio_alloc(mask->columns * floats);
    if (!prepared->chunk_spectra)
        return fail_memory("a mask");
    for (size_t c = 0; c < mask->columns; c++)
        transform_taps(convolution->chunk_fft, mask, c, 0, mask->taps, samples,
                       prepared->chunk_spectra + c * floats);
    return STATUS_OK;
}

static enum status prepare_segment(const struct convolution *convolution, size_t s,
                                   const struct mask *mask, float *samples,
                                   struct prepared *prepared)
{
    const struct spectra_ring *ring = &convolution->rings[s];
    const struct partition_segment *segment = ring->segment;
    size_t left = mask->taps > segment->offset ? mask->taps - segment->offset : 0;
    size_t parts = (left + segment->size - 1) / segment->size;
    if (parts > segment->parts)
        parts = segment->parts;
    prepared->parts[s] = parts;
    prepared->part_spectra[s] = audio_alloc(mask->columns * parts * ring->floats);
    if (!prepared->part_spectra[s])
        return fail_memory("a mask");
    for (size_t c = 0; c < mask->columns; c++)
        for (size_t p = 0; p < parts; p++)
            transform_taps(ring->fft, mask, c, segment->offset + p * segment->size, segment->size,
                           samples, prepared->part_spectra[s] + (c * parts + p) * ring->floats);
    return STATUS_OK;
}

static enum status prepare_head(const struct convolution *convolution, const struct mask *mask,
                                struct prepared *prepared)
{
    size_t head = convolution->plan.head;
    prepared->head = audio_alloc(mask->columns * head);
    if (!prepared->head)
        return fail_memory("a mask");
    size_t count = head < mask->taps ? head : mask->taps;
    for (size_t c = 0; c < mask->columns; c++)
        memcpy(prepared->head + c * head, mask_column(mask, c), count * sizeof(float));
    return STATUS_OK;
}

static enum status fft_prepare(const struct convolution *convolution, const struct mask *mask,
                               struct prepared **result)
{
    const struct partition_plan *plan = &convolution->plan;
    struct prepared *prepared = calloc(1, sizeof *prepared);
    float *samples = audio_alloc(longest_fft(plan));
    enum status status = prepared && samples ? STATUS_OK : fail_memory("a mask");
    if (status == STATUS_OK) {
        status = path_table_init(&prepared->paths, mask);
    }
    if (status == STATUS_OK)
        status = prepare_head(convolution, mask, prepared);
    if (status == STATUS_OK && plan->algorithm == PARTITION_OVERLAP_SAVE)
        status = prepare_chunks(convolution, mask, samples, prepared);
    for (size_t s = 0; s < plan->segment_count && status == STATUS_OK; s++)
        status = prepare_segment(convolution, s, mask, samples, prepared);
    free(samples);
    if (status != STATUS_OK) {
        if (prepared)
            fft_release(convolution, prepared);
        return status;
    }
    *result = prepared;
    return STATUS_OK;
}

const struct convolver_backend convolver_fft = {
    .name = "cpu",
    .create = fft_convolution_create,
    .destroy = fft_convolution_destroy,
    .reset = fft_convolution_reset,
    .describe = fft_describe,
    .prepare = fft_prepare,
    .release = fft_release,
    .step = fft_step,
};
