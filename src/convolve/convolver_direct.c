/* The reference backend: time domain, sums in double precision, one rounding at the end. All other
 * convolvers are tested against it. Compiled for each precision. */
#include "convolve/convolver_backend.h"

#include "base/realtime.h"
#include "convolve/history.h"
#include "signal/fir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct direct_convolution {
    struct convolver_shape shape;
    struct history history;
    size_t tiles; /* tiles per block; the last one may be short */
};

struct direct_mask {
    size_t taps;
    real *columns;
    struct path_table paths;
};

static void direct_destroy(struct convolution *base)
{
    struct direct_convolution *convolution = (struct direct_convolution *)base;
    history_free(&convolution->history);
    free(convolution);
}

static enum status direct_create(const struct convolver_shape *shape, struct convolution **result)
{
    struct direct_convolution *convolution = calloc(1, sizeof *convolution);
    if (!convolution)
        return fail_memory("a convolver");
    convolution->shape = *shape;
    /* workers take a lock, so a live step works alone */
    convolution->shape.workers = shape->live ? NULL : shape->workers;
    convolution->tiles = (shape->block + FIR_TILE - 1) / FIR_TILE;
    enum status status =
        history_init(&convolution->history, shape->inputs, shape->taps - 1, shape->block);
    if (status != STATUS_OK)
        direct_destroy((struct convolution *)convolution);
    else
        *result = (struct convolution *)convolution;
    return status;
}

static void direct_reset(struct convolution *base)
{
    history_reset(&((struct direct_convolution *)base)->history);
}

static void direct_describe(const struct convolution *convolution, char *text, size_t size)
{
    (void)convolution;
    snprintf(text, size, "direct");
}

static void direct_release(const struct convolution *convolution, struct prepared *base)
{
    struct direct_mask *prepared = (struct direct_mask *)base;
    (void)convolution;
    path_table_free(&prepared->paths);
    free(prepared->columns);
    free(prepared);
}

static enum status direct_prepare(const struct convolution *convolution, const struct mask *mask,
                                  struct prepared **result)
{
    struct direct_mask *prepared = calloc(1, sizeof *prepared);
    if (!prepared)
        return fail_memory("a mask");
    prepared->taps = mask->taps;
    prepared->columns = malloc(mask->columns * mask->taps * sizeof *prepared->columns);
    enum status status =
        prepared->columns ? path_table_init(&prepared->paths, mask) : fail_memory("a mask");
    if (status != STATUS_OK) {
        direct_release(convolution, (struct prepared *)prepared);
        return status;
    }
    for (size_t c = 0; c < mask->columns; c++)
        for (size_t k = 0; k < mask->taps; k++)
            prepared->columns[c * mask->taps + k] = (real)mask_column(mask, c)[k];
    *result = (struct prepared *)prepared;
    return STATUS_OK;
}

struct direct_job {
    const struct direct_convolution *convolution;
    const struct direct_mask *prepared;
    real *const *out;
};

/* Computes one tile of one output. */
static void direct_tile(void *context, size_t piece, size_t worker)
{
    (void)worker;
    const struct direct_job *job = context;
    const struct direct_convolution *convolution = job->convolution;
    const struct direct_mask *prepared = job->prepared;
    size_t output = piece / convolution->tiles;
    size_t start = piece % convolution->tiles * FIR_TILE;
    size_t left = convolution->shape.block - start;
    size_t frames = left < FIR_TILE ? left : FIR_TILE;
    double sum[FIR_TILE] = {0};
    for (size_t p = prepared->paths.first[output]; p < prepared->paths.first[output + 1]; p++) {
        const struct mask_path *path = &prepared->paths.paths[p];
        fir_add_exactly(sum, history_now(&convolution->history, path->input) + start, frames,
                        prepared->columns + path->column * prepared->taps, prepared->taps);
    }
    for (size_t i = 0; i < frames; i++)
        job->out[output][start + i] = (real)sum[i];
}

HALO_REALTIME static void direct_step(struct convolution *base, const real *const *in,
                                      const struct convolver_slot slots[CONVOLVER_SLOTS])
{
    struct direct_convolution *convolution = (struct direct_convolution *)base;
    const struct convolver_shape *shape = &convolution->shape;
    history_advance(&convolution->history, in);
    for (size_t v = 0; v < CONVOLVER_SLOTS; v++) {
        struct direct_job job = {convolution, (const struct direct_mask *)slots[v].prepared,
                                 slots[v].REAL(out)};
        if (job.prepared)
            workers_run(shape->workers, shape->outputs * convolution->tiles, direct_tile, &job);
    }
}

const struct convolver_backend REAL(convolver_direct) = {.name = "direct",
                                                         .in_double = &convolver_direct_in_double,
                                                         .create = direct_create,
                                                         .destroy = direct_destroy,
                                                         .reset = direct_reset,
                                                         .describe = direct_describe,
                                                         .prepare = direct_prepare,
                                                         .release = direct_release,
                                                         .REAL(step) = direct_step};
