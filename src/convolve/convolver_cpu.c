/* The backend "cpu": the choice of a variant, and what both variants share. */
#include "convolve/convolver_cpu.h"

#include "base/machine.h"
#include "base/plural.h"
#include "base/realtime.h"
#include "signal/audio.h"
#include "signal/fir.h"

#include <stdlib.h>
#include <string.h>

/* Late partitions are light if they take less than this part of a block's time. The estimate is
 * low. Below it, waking a worker takes longer than the work. */
static const double LIGHT = 0.01;

enum { ROW_FLOATS = 16 }; /* each row begins at a multiple of so many floats, a cache line */

static struct partition_plan plan_for(const struct convolver_shape *shape, enum partition_pace pace)
{
    size_t rows = shape->inputs < shape->outputs ? shape->inputs : shape->outputs;
    struct partition_job job = {.taps = shape->taps,
                                .block = shape->block,
                                .pace = pace,
                                .channels = rows,
                                .paths =
                                    partition_paths(shape->inputs, shape->outputs, shape->paths)};
    return partition_plan(&job);
}

/* The most ns of a block that a spread plan's late partitions take: an even share of their jobs,
 * plus one undivided transform of each length. */
static double late_cost(const struct convolver_shape *shape, const struct partition_plan *plan)
{
    double cost = 0;
    for (size_t s = 0; s < plan->segment_count; s++) {
        const struct partition_segment *cut = &plan->segments[s];
        double transform = partition_fft_cost(cut->fft);
        double products = (double)(shape->paths * cut->partitions);
        double job = (double)(shape->inputs + shape->outputs) * transform +
                     products * partition_multiply_cost(cut->fft);
        if (cut->size > shape->block)
            cost += transform + job * (double)shape->block / (double)cut->size;
    }
    return cost;
}

/* Plans without a worker if the step has the time for late partitions. */
struct partition_plan cpu_plan(const struct convolver_shape *shape)
{
    if (!shape->live)
        return plan_for(shape, PARTITION_AVERAGE);
    const struct partition_plan spread = plan_for(shape, PARTITION_SPREAD);
    double period = shape->rate ? 1e9 * (double)shape->block / shape->rate : 0;
    if (workers_count(shape->workers) == 1 || late_cost(shape, &spread) < LIGHT * period)
        return spread;
    return plan_for(shape, PARTITION_WORKER);
}

static const struct convolver_backend *cpu_variant(const struct convolver_shape *shape,
                                                   const struct mask *mask)
{
    (void)mask;
    struct partition_plan plan = cpu_plan(shape);
    return plan.algorithm == PARTITION_PARTITIONED ? &REAL(convolver_cpu_live)
                                                   : &REAL(convolver_cpu_batch);
}

const struct convolver_backend REAL(convolver_cpu) = {
    .name = "cpu", .variant = cpu_variant, .in_double = &convolver_cpu_in_double};

static real **rows_by(real *(*alloc)(size_t), size_t rows, size_t floats)
{
    size_t stride = (floats + ROW_FLOATS - 1) / ROW_FLOATS * ROW_FLOATS;
    real **row = calloc(rows ? rows : 1, sizeof *row);
    real *first = row && rows <= SIZE_MAX / (stride + 1) ? alloc(rows * stride) : NULL;
    if (!first) {
        free(row);
        return NULL;
    }
    for (size_t r = 0; r < rows; r++)
        row[r] = first + r * stride;
    if (rows == 0)
        free(first);
    return row;
}

real **rows_alloc(size_t rows, size_t floats)
{
    return rows_by(audio_alloc, rows, floats);
}

real **rows_alloc_unset(size_t rows, size_t floats)
{
    return rows_by(audio_alloc_unset, rows, floats);
}

void rows_free(real **rows, size_t count)
{
    if (rows && count > 0)
        free(rows[0]);
    free(rows);
}

void transform_taps(const struct real_odd_fft *fft, const struct fft_double *precise,
                    const struct mask *mask, size_t column, size_t from, size_t count,
                    real *samples, real *spectrum)
{
    size_t n = odd_fft_size(fft), there = from >= mask->taps ? 0 : mask->taps - from;
    if (count > there)
        count = there;
    const double *taps = mask_column(mask, column) + from;
    real *scaled = precise ? samples : spectrum;
    for (size_t k = 0; k < count; k++)
        scaled[k] = (real)taps[k] / (real)n;
    if (!precise) {
        odd_fft_forward(fft, scaled, count, samples, spectrum);
        return;
    }
    near_bound_forward(precise, samples, count, spectrum);
}

real *copy_head(const struct mask *mask, size_t head)
{
    real *heads = audio_alloc(mask->columns * head);
    size_t count = head < mask->taps ? head : mask->taps;
    for (size_t c = 0; heads && c < mask->columns; c++)
        for (size_t k = 0; k < count; k++)
            heads[c * head + k] = (real)mask_column(mask, c)[k];
    return heads;
}

HALO_REALTIME void add_head(const struct convolver_shape *shape, const struct history *history,
                            const struct path_table *table, const real *heads, size_t head,
                            size_t output, real *out)
{
    for (size_t start = 0; start < shape->block; start += FIR_TILE) {
        size_t left = shape->block - start, frames = left < FIR_TILE ? left : FIR_TILE;
        double sum[FIR_TILE] = {0};
        for (size_t p = table->first[output]; p < table->first[output + 1]; p++) {
            const real *x = history_now(history, table->paths[p].input) + start;
            const real *h = heads + table->paths[p].column * head;
            fir_add(sum, x, frames, h, head);
        }
        for (size_t i = 0; i < frames; i++)
            out[start + i] += (real)sum[i];
    }
}

HALO_REALTIME real peak_with(real peak, const struct convolver_shape *shape, const real *const *in)
{
    for (size_t c = 0; c < shape->inputs; c++) {
        real own = audio_peak(in[c], shape->block);
        peak = own > peak ? own : peak;
    }
    return peak;
}

enum status check_memory(const struct convolver_shape *shape, double floats)
{
    double bytes = floats * (double)(shape->inputs + shape->outputs) * (double)sizeof(real);
    if (bytes < (double)memory_limit())
        return STATUS_OK;
    return fail(
        CAUSE_NO_MEMORY,
        "cannot convolve with %zu taps on %zu channel%s: not enough memory for about %.0f GB; "
        "use a shorter mask",
        shape->taps, shape->inputs, plural_s(shape->inputs), bytes / 1e9);
}
