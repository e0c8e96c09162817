/* Set-up of the CPU's convolver for long blocks, and its masks. */
#include "convolve/convolver_cpu_batch.h"

#include "mask/mask_share.h"
#include "signal/audio.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GROUP_MOST = 8 }; /* chunks of an output that share one pass over a mask's spectra */

static const size_t CACHE_FLOATS = 1 << 18; /* of masks' spectra per output that stay cached */

static const double NS_TAKEN = 0.4; /* a sample of the input: copied and measured */

/* Rows in one piece of memory. */
static void free_spectra(const struct cpu_batch_convolution *convolution)
{
    size_t rows = convolution->shape.inputs, each = convolution->depth * convolution->floats;
    if (convolution->spectra)
        audio_free(convolution->spectra[0], rows * each, batch_workers(convolution));
    free(convolution->spectra);
}

static void batch_destroy(struct convolution *base)
{
    struct cpu_batch_convolution *convolution = (struct cpu_batch_convolution *)base;
    size_t workers = workers_count(convolution->shape.workers);
    history_free(&convolution->history);
    odd_fft_destroy(convolution->fft);
    free_spectra(convolution);
    free(convolution->silent);
    free(convolution->peaks);
    rows_free(convolution->sums, workers);
    rows_free(convolution->samples, workers);
    free(convolution);
}

/* A ring of spectra that are all written anew in each block needs no zeros, but for what follows
 * the last bin up to a whole cache line, which is multiplied as well. */
static real **make_spectra(const struct cpu_batch_convolution *convolution)
{
    size_t rows = convolution->shape.inputs, each = convolution->floats;
    size_t bins = 2 * (convolution->plan.fft / 2 + 1);
    bool stays = convolution->plan.partitions > 1;
    real **spectra = rows_alloc_unset(rows, convolution->depth * each);
    if (spectra && stays)
        audio_clear_rows(spectra, rows, convolution->depth * each, batch_workers(convolution));
    for (size_t r = 0; spectra && !stays && r < rows; r++)
        for (size_t i = 0; i < convolution->depth; i++)
            memset(spectra[r] + i * each + bins, 0, (each - bins) * sizeof **spectra);
    return spectra;
}

static enum status init_spectra(struct cpu_batch_convolution *convolution)
{
    const struct convolver_shape *shape = &convolution->shape;
    const struct partition_plan *plan = &convolution->plan;
    size_t workers = workers_count(shape->workers);
    convolution->floats = fft_spectrum_floats(plan->fft);
    convolution->depth = plan->chunks + plan->partitions - 1;
    /* Spectra beyond the cache are read once for several chunks. */
    bool far = shape->inputs * plan->partitions * convolution->floats > CACHE_FLOATS;
    size_t parts = (workers + shape->outputs - 1) / shape->outputs;
    size_t group = far ? (plan->chunks + parts - 1) / parts : 1;
    convolution->group = group < GROUP_MOST ? group : GROUP_MOST;
    convolution->spectra = make_spectra(convolution);
    convolution->sums = rows_alloc_unset(workers, convolution->group * convolution->floats);
    convolution->samples = rows_alloc_unset(workers, plan->fft);
    convolution->silent = calloc(shape->inputs * convolution->depth, sizeof *convolution->silent);
    if (convolution->silent)
        memset(convolution->silent, true, shape->inputs * convolution->depth);
    convolution->peaks = calloc(shape->inputs, sizeof *convolution->peaks);
    if (!convolution->spectra || !convolution->silent || !convolution->sums ||
        !convolution->samples || !convolution->peaks)
        return fail_memory("a convolver");
    return odd_fft_create(plan->fft, &convolution->fft);
}

/* Of the two jobs of a step: transforms of inputs, then products and transforms back. */
static struct workers *sharers_of(const struct cpu_batch_convolution *convolution)
{
    const struct convolver_shape *shape = &convolution->shape;
    double step = partition_step_cost(&convolution->plan, shape->inputs, shape->outputs,
                                      shape->paths, shape->block);
    bool direct = convolution->plan.algorithm == PARTITION_DIRECT;
    return workers_worth(batch_workers(convolution), direct ? step : step / 2);
}

static enum status batch_create(const struct convolver_shape *shape, struct convolution **result)
{
    struct cpu_batch_convolution *convolution = calloc(1, sizeof *convolution);
    if (!convolution)
        return fail_memory("a convolver");
    convolution->shape = *shape;
    convolution->plan = cpu_plan(shape);
    convolution->sharers = sharers_of(convolution);
    convolution->takers = workers_worth(batch_workers(convolution),
                                        NS_TAKEN * (double)shape->inputs * (double)shape->block);
    const struct partition_plan *plan = &convolution->plan;
    double floats = 2.0 * (double)plan->history_frames + 3.0 * (double)shape->block;
    floats += (double)plan->fft * (double)(plan->chunks + 2 * plan->partitions);
    bool direct = plan->algorithm == PARTITION_DIRECT;
    size_t kept = direct ? shape->taps - 1 : plan->history_frames;
    enum status status;
    if ((status = check_memory(shape, floats)) ||
        (status = history_init_with(&convolution->history, shape->inputs, kept, shape->block,
                                    batch_workers(convolution))) ||
        (plan->algorithm == PARTITION_OVERLAP_SAVE && (status = init_spectra(convolution))))
        batch_destroy((struct convolution *)convolution);
    else
        *result = (struct convolution *)convolution;
    return status;
}

static void batch_reset(struct convolution *base)
{
    struct cpu_batch_convolution *convolution = (struct cpu_batch_convolution *)base;
    history_reset(&convolution->history);
    convolution->newest = 0;
    convolution->peak = 0;
    convolution->precise_frames = 0;
    for (size_t c = 0; convolution->spectra && c < convolution->shape.inputs; c++)
        memset(convolution->spectra[c], 0, convolution->depth * convolution->floats * sizeof(real));
    if (convolution->silent)
        memset(convolution->silent, true, convolution->shape.inputs * convolution->depth);
}

static void batch_describe(const struct convolution *base, char *text, size_t size)
{
    const struct cpu_batch_convolution *convolution = (const struct cpu_batch_convolution *)base;
    bool direct = convolution->plan.algorithm == PARTITION_DIRECT;
    snprintf(text, size, "%s", direct ? "direct" : "overlap-save");
}

static void destroy_form(void *form)
{
    struct cpu_batch_mask *prepared = form;
    path_table_free(&prepared->paths);
    free(prepared->head);
    free(prepared->spectra);
    free(prepared);
}

static void batch_release(const struct convolution *base, struct prepared *mask)
{
    const struct cpu_batch_convolution *convolution = (const struct cpu_batch_convolution *)base;
    struct cpu_batch_mask *prepared = (struct cpu_batch_mask *)mask;
    size_t workers = prepared->precise ? workers_count(convolution->shape.workers) : 0;
    if (prepared->is_shared)
        return;
    for (size_t w = 0; w < workers; w++)
        fft_double_destroy(prepared->precise[w]);
    free(prepared->precise);
    audio_free(prepared->spectra, prepared->floats, batch_workers(convolution));
    prepared->spectra = NULL;
    destroy_form(prepared);
}

struct mask_job {
    const struct cpu_batch_convolution *convolution;
    const struct mask *mask;
    struct cpu_batch_mask *prepared;
    real **samples; /* [worker] */
};

/* One partition of one column. */
static void transform_mask(void *context, size_t piece, size_t worker)
{
    const struct mask_job *job = context;
    const struct partition_plan *plan = &job->convolution->plan;
    size_t partitions = job->prepared->partitions;
    size_t taps = plan->partitions > 1 ? plan->hop : job->mask->taps;
    size_t column = piece / partitions, from = piece % partitions * taps;
    struct fft_double *const *every = job->prepared->precise;
    const struct fft_double *precise = every ? every[worker] : NULL;
    real *spectrum = job->prepared->spectra + piece * job->convolution->floats;
    transform_taps(job->convolution->fft, precise, job->mask, column, from, taps,
                   job->samples[worker], spectrum);
}

/* For a mask whose outputs may come near the bound. */
static enum status prepare_precise(struct mask_job *job)
{
    struct cpu_batch_mask *prepared = job->prepared;
    struct workers *workers = batch_workers(job->convolution);
    size_t n = job->convolution->plan.fft, count = workers_count(job->convolution->shape.workers);
    const struct near_bound_spectra spectra = {prepared->spectra, prepared->partitions, n};
    TRY(near_bound_measure(&prepared->bound, job->mask, &spectra, 1, workers));
    if (!near_bound_is_possible(&prepared->bound))
        return STATUS_OK;
    prepared->precise = calloc(count, sizeof(struct fft_double *));
    if (!prepared->precise)
        return fail_memory("a mask");
    for (size_t w = 0; w < count; w++)
        TRY(fft_double_create_odd(n, &prepared->precise[w]));
    workers_run(workers, job->mask->columns * prepared->partitions, transform_mask, job);
    return STATUS_OK;
}

static enum status prepare_spectra(const struct cpu_batch_convolution *convolution,
                                   const struct mask *mask, struct cpu_batch_mask *prepared)
{
    const struct partition_plan *plan = &convolution->plan;
    size_t taps = plan->partitions > 1 ? plan->hop : mask->taps;
    prepared->partitions = (mask->taps + taps - 1) / taps;
    size_t pieces = mask->columns * prepared->partitions;
    struct workers *all = batch_workers(convolution);
    struct workers *workers = workers_worth(all, (double)pieces * partition_fft_cost(plan->fft));
    prepared->floats = pieces * convolution->floats;
    prepared->spectra = audio_alloc_unset(prepared->floats);
    struct mask_job job = {convolution, mask, prepared,
                           rows_alloc_unset(workers_count(all), plan->fft)};
    enum status status = prepared->spectra && job.samples ? STATUS_OK : fail_memory("a mask");
    if (status == STATUS_OK) {
        workers_run(workers, pieces, transform_mask, &job);
        status = prepare_precise(&job);
    }
    rows_free(job.samples, workers_count(all));
    return status;
}

/* What the form of a mask depends on. */
struct batch_form_key {
    uint64_t precision, algorithm, head, fft, hop, partitions;
};

static struct batch_form_key form_key(const struct cpu_batch_convolution *convolution)
{
    const struct partition_plan *plan = &convolution->plan;
    return (struct batch_form_key){sizeof(real), plan->algorithm, plan->head,
                                   plan->fft,    plan->hop,       plan->partitions};
}

/* For the next convolver of a shared mask. */
static void share_form(const struct cpu_batch_convolution *convolution, const struct mask *mask,
                       struct cpu_batch_mask *prepared)
{
    const struct batch_form_key key = form_key(convolution);
    const struct partition_plan *plan = &convolution->plan;
    size_t each = prepared->head ? plan->head : prepared->partitions * convolution->floats;
    if (!mask->share || prepared->precise)
        return;
    prepared->is_shared = true; /* before another thread finds it */
    if (!mask_share_keep(mask, &key, sizeof key, prepared, mask->columns * each * sizeof(real),
                         destroy_form))
        prepared->is_shared = false;
}

static enum status batch_prepare(const struct convolution *base, const struct mask *mask,
                                 struct prepared **result)
{
    const struct cpu_batch_convolution *convolution = (const struct cpu_batch_convolution *)base;
    const struct batch_form_key key = form_key(convolution);
    *result = mask_share_form(mask, &key, sizeof key);
    if (*result)
        return STATUS_OK;
    struct cpu_batch_mask *prepared = calloc(1, sizeof *prepared);
    if (!prepared)
        return fail_memory("a mask");
    enum status status = path_table_init(&prepared->paths, mask);
    if (status == STATUS_OK && convolution->plan.algorithm == PARTITION_OVERLAP_SAVE)
        status = prepare_spectra(convolution, mask, prepared);
    else if (status == STATUS_OK && !(prepared->head = copy_head(mask, convolution->plan.head)))
        status = fail_memory("a mask");
    if (status != STATUS_OK) {
        batch_release(base, (struct prepared *)prepared);
        return status;
    }
    share_form(convolution, mask, prepared);
    *result = (struct prepared *)prepared;
    return STATUS_OK;
}

const struct convolver_backend REAL(convolver_cpu_batch) = {.name = "cpu",
                                                            .create = batch_create,
                                                            .destroy = batch_destroy,
                                                            .reset = batch_reset,
                                                            .describe = batch_describe,
                                                            .prepare = batch_prepare,
                                                            .release = batch_release,
                                                            .REAL(step) = cpu_batch_step};
