/* Masks of the CPU's live convolver: prepared and freed, on the control thread while the step and
 * the workers run. */
#include "convolve/convolver_cpu_live.h"

#include "signal/audio.h"

#include <stdlib.h>
#include <string.h>

static atomic_uint_fast64_t masks_prepared;

size_t cpu_live_longest_transform(const struct partition_plan *plan)
{
    size_t longest = 2;
    for (size_t s = 0; s < plan->segment_count; s++)
        if (plan->segments[s].fft > longest)
            longest = plan->segments[s].fft;
    return longest;
}

static void mask_free(struct cpu_live_mask *prepared)
{
    if (!prepared)
        return;
    path_table_free(&prepared->paths);
    free(prepared->head);
    for (size_t s = 0; s < PARTITION_SEGMENTS_MOST; s++) {
        free(prepared->spectra[s]);
        for (size_t i = 0; i <= LANE_ARMING; i++)
            fft_double_destroy(prepared->precise[i][s]);
    }
    free(prepared);
}

/* A job may still use the mask: remove it from all of them. */
static void leave_out(struct segment *segment, const struct cpu_live_mask *prepared)
{
    for (size_t i = 0; i < segment->lane_count; i++)
        job_lock(&segment->lanes[i]);
    for (size_t v = 0; v < CONVOLVER_SLOTS; v++)
        if (atomic_load(&segment->wanted[v]) == prepared)
            atomic_store(&segment->wanted[v], NULL);
    for (size_t i = 0; i < segment->lane_count; i++)
        job_release(&segment->lanes[i]);
}

void cpu_live_release(const struct convolution *base, struct prepared *prepared)
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
    return STATUS_OK;
}

/* If the mask's outputs may come near the bound. */
static enum status prepare_precise(const struct cpu_live_convolution *convolution,
                                   const struct mask *mask, real *samples,
                                   struct cpu_live_mask *prepared)
{
    struct near_bound_spectra sets[PARTITION_SEGMENTS_MOST];
    size_t count = convolution->plan.segment_count;
    for (size_t s = 0; s < count; s++)
        sets[s] = (struct near_bound_spectra){prepared->spectra[s], prepared->partitions[s],
                                              convolution->segments[s].cut.fft};
    if (convolution->shape.alike)
        return STATUS_OK;
    TRY(near_bound_measure(&prepared->bound, mask, sets, count, NULL));
    if (!near_bound_is_possible(&prepared->bound))
        return STATUS_OK;
    for (size_t s = 0; s < convolution->plan.segment_count; s++) {
        const struct segment *segment = &convolution->segments[s];
        for (size_t i = 0; i <= segment->lane_count; i++) {
            size_t lane = i < segment->lane_count ? i : LANE_ARMING;
            TRY(fft_double_create_odd(segment->cut.fft, &prepared->precise[lane][s]));
        }
        transform_segment(convolution, s, mask, samples, prepared);
    }
    return STATUS_OK;
}

enum status cpu_live_prepare(const struct convolution *base, const struct mask *mask,
                             struct prepared **result)
{
    const struct cpu_live_convolution *convolution = (const struct cpu_live_convolution *)base;
    const struct partition_plan *plan = &convolution->plan;
    struct cpu_live_mask *prepared = calloc(1, sizeof *prepared);
    real *samples = audio_alloc(cpu_live_longest_transform(plan));
    enum status status = prepared && samples ? STATUS_OK : fail_memory("a mask");
    if (status != STATUS_OK)
        goto fail;
    prepared->number = 1 + atomic_fetch_add(&masks_prepared, 1);
    prepared->head = copy_head(mask, plan->head);
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
