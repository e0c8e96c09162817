/* The CPU's convolver for blocks that are long compared with the mask: direct form, or
 * overlap-save in chunks. The spectra of a block's chunks, and of earlier ones if the mask is
 * partitioned, are in a ring shared by all outputs and by both slots of a fade. */
#include "convolve/convolver_cpu.h"

#include "signal/audio.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    GROUP_MOST = 8, /* chunks of an output that share one pass over a mask's spectra */
    PRODUCTS_MOST = 4,
};

static const size_t CACHE_FLOATS = 1 << 18; /* of masks' spectra per output that stay cached */

struct cpu_batch_convolution {
    struct convolver_shape shape;
    struct partition_plan plan;
    struct history history;
    struct real_fft *fft;
    size_t floats;                     /* of a spectrum */
    size_t depth;                      /* spectra per input */
    size_t newest;                     /* the block's first chunk; the others follow */
    real **spectra;                    /* [input] */
    size_t group;                      /* chunks computed together, 1 to GROUP_MOST */
    real **sums;                       /* [worker], `group` spectra each */
    real **samples;                    /* [worker] */
    real peak;                         /* of the sound so far */
    const struct cpu_batch_mask *near; /* of the step's masks, one with `precise`, or NULL */
    atomic_size_t precise_frames;      /* how long outputs may come near the bound from now on */
};

struct cpu_batch_mask {
    struct path_table paths;
    real *head;        /* direct form: column by column */
    size_t partitions; /* that are not all zero */
    real *spectra;     /* column by column, partition by partition */
    struct near_bound bound;
    struct fft_double **precise; /* [worker]; NULL: not needed */
};

static void batch_destroy(struct convolution *base)
{
    struct cpu_batch_convolution *convolution = (struct cpu_batch_convolution *)base;
    size_t workers = workers_count(convolution->shape.workers);
    history_free(&convolution->history);
    fft_destroy(convolution->fft);
    rows_free(convolution->spectra, convolution->shape.inputs);
    rows_free(convolution->sums, workers);
    rows_free(convolution->samples, workers);
    free(convolution);
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
    size_t group = far ? (plan->chunks + workers - 1) / workers : 1;
    convolution->group = group < GROUP_MOST ? group : GROUP_MOST;
    convolution->spectra = rows_alloc(shape->inputs, convolution->depth * convolution->floats);
    convolution->sums = rows_alloc(workers, convolution->group * convolution->floats);
    convolution->samples = rows_alloc(workers, plan->fft);
    if (!convolution->spectra || !convolution->sums || !convolution->samples)
        return fail_memory("a convolver");
    return fft_create(plan->fft, &convolution->fft);
}

static enum status batch_create(const struct convolver_shape *shape, struct convolution **result)
{
    struct cpu_batch_convolution *convolution = calloc(1, sizeof *convolution);
    if (!convolution)
        return fail_memory("a convolver");
    convolution->shape = *shape;
    convolution->plan = cpu_plan(shape);
    const struct partition_plan *plan = &convolution->plan;
    double floats = 2.0 * (double)plan->history_frames + 3.0 * (double)shape->block;
    floats += (double)plan->fft * (double)(plan->chunks + 2 * plan->partitions);
    bool direct = plan->algorithm == PARTITION_DIRECT;
    size_t kept = direct ? shape->taps - 1 : plan->history_frames;
    enum status status;
    if ((status = check_memory(shape, floats)) ||
        (status = history_init(&convolution->history, shape->inputs, kept, shape->block)) ||
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
}

static void batch_describe(const struct convolution *base, char *text, size_t size)
{
    const struct cpu_batch_convolution *convolution = (const struct cpu_batch_convolution *)base;
    bool direct = convolution->plan.algorithm == PARTITION_DIRECT;
    snprintf(text, size, "%s", direct ? "direct" : "overlap-save");
}

static void batch_release(const struct convolution *base, struct prepared *mask)
{
    const struct cpu_batch_convolution *convolution = (const struct cpu_batch_convolution *)base;
    struct cpu_batch_mask *prepared = (struct cpu_batch_mask *)mask;
    size_t workers = prepared->precise ? workers_count(convolution->shape.workers) : 0;
    path_table_free(&prepared->paths);
    free(prepared->head);
    free(prepared->spectra);
    for (size_t w = 0; w < workers; w++)
        fft_double_destroy(prepared->precise[w]);
    free(prepared->precise);
    free(prepared);
}

static void transform_mask(const struct cpu_batch_convolution *convolution,
                           const struct fft_double *precise, const struct mask *mask, real *samples,
                           struct cpu_batch_mask *prepared)
{
    const struct partition_plan *plan = &convolution->plan;
    size_t partition = plan->partitions > 1 ? plan->hop : mask->taps;
    for (size_t i = 0; i < mask->columns * prepared->partitions; i++)
        transform_taps(convolution->fft, precise, mask, i / prepared->partitions,
                       i % prepared->partitions * partition, partition, samples,
                       prepared->spectra + i * convolution->floats);
}

/* For a mask whose outputs may come near the bound. */
static enum status prepare_precise(const struct cpu_batch_convolution *convolution,
                                   const struct mask *mask, real *samples,
                                   struct cpu_batch_mask *prepared)
{
    size_t n = convolution->plan.fft, workers = workers_count(convolution->shape.workers);
    near_bound_init(&prepared->bound, mask);
    near_bound_include(&prepared->bound, mask, prepared->spectra, prepared->partitions, n);
    if (!near_bound_is_possible(&prepared->bound))
        return STATUS_OK;
    prepared->precise = calloc(workers, sizeof(struct fft_double *));
    if (!prepared->precise)
        return fail_memory("a mask");
    for (size_t w = 0; w < workers; w++)
        TRY(fft_double_create(n, &prepared->precise[w]));
    transform_mask(convolution, prepared->precise[0], mask, samples, prepared);
    return STATUS_OK;
}

static enum status prepare_spectra(const struct cpu_batch_convolution *convolution,
                                   const struct mask *mask, struct cpu_batch_mask *prepared)
{
    const struct partition_plan *plan = &convolution->plan;
    size_t partition = plan->partitions > 1 ? plan->hop : mask->taps;
    prepared->partitions = (mask->taps + partition - 1) / partition;
    prepared->spectra = audio_alloc(mask->columns * prepared->partitions * convolution->floats);
    real *samples = audio_alloc(plan->fft);
    enum status status = prepared->spectra && samples ? STATUS_OK : fail_memory("a mask");
    if (status == STATUS_OK) {
        transform_mask(convolution, NULL, mask, samples, prepared);
        status = prepare_precise(convolution, mask, samples, prepared);
    }
    free(samples);
    return status;
}

static enum status batch_prepare(const struct convolution *base, const struct mask *mask,
                                 struct prepared **result)
{
    const struct cpu_batch_convolution *convolution = (const struct cpu_batch_convolution *)base;
    struct cpu_batch_mask *prepared = calloc(1, sizeof *prepared);
    if (!prepared)
        return fail_memory("a mask");
    enum status status = path_table_init(&prepared->paths, mask);
    if (status == STATUS_OK && convolution->plan.algorithm == PARTITION_OVERLAP_SAVE)
        status = prepare_spectra(convolution, mask, prepared);
    else if (status == STATUS_OK && !(prepared->head = copy_head(mask, convolution->plan.head)))
        status = fail_memory("a mask");
    if (status != STATUS_OK)
        batch_release(base, (struct prepared *)prepared);
    else
        *result = (struct prepared *)prepared;
    return status;
}

/* Live, the step works alone: waking threads would take longer than the work. */
static void share_out(const struct cpu_batch_convolution *convolution, size_t pieces,
                      workers_task *task, void *context)
{
    const struct convolver_shape *shape = &convolution->shape;
    workers_run(shape->live ? NULL : shape->workers, pieces, task, context);
}

static real *spectrum_at(const struct cpu_batch_convolution *convolution, size_t input,
                         size_t place)
{
    return convolution->spectra[input] + place % convolution->depth * convolution->floats;
}

static size_t chunk_frames(const struct cpu_batch_convolution *convolution, size_t chunk)
{
    size_t left = convolution->shape.block - chunk * convolution->plan.hop;
    return left < convolution->plan.hop ? left : convolution->plan.hop;
}

/* The spectrum of one input's chunk and the history before it. */
static void transform_chunk(void *context, size_t piece, size_t worker)
{
    struct cpu_batch_convolution *convolution = context;
    const struct convolver_shape *shape = &convolution->shape;
    const struct partition_plan *plan = &convolution->plan;
    size_t input = piece / plan->chunks, chunk = piece % plan->chunks;
    size_t there = plan->history_frames + chunk_frames(convolution, chunk);
    const real *from =
        history_now(&convolution->history, input) + chunk * plan->hop - plan->history_frames;
    if (there < plan->fft || !fft_is_aligned(from)) {
        real *samples = convolution->samples[worker];
        memcpy(samples, from, there * sizeof *samples);
        memset(samples + there, 0, (plan->fft - there) * sizeof *samples);
        from = samples;
    }
    real *to = spectrum_at(convolution, input, convolution->newest + chunk);
    const struct cpu_batch_mask *near = convolution->near;
    if (near && near_bound_is_near(&near->bound, from, plan->fft, convolution->peak)) {
        convolution->precise_frames = plan->fft + shape->block + shape->taps;
        near_bound_forward(near->precise[worker], from, to);
    } else {
        fft_forward(convolution->fft, from, to);
    }
}

struct cpu_batch_job {
    struct cpu_batch_convolution *convolution;
    const struct cpu_batch_mask *prepared;
    real *const *out;
};

static void write_chunk(const struct cpu_batch_job *job, size_t output, size_t chunk,
                        const real *samples)
{
    const struct partition_plan *plan = &job->convolution->plan;
    memcpy(job->out[output] + chunk * plan->hop, samples + plan->history_frames,
           chunk_frames(job->convolution, chunk) * sizeof *samples);
}

static const real *mask_spectrum(const struct cpu_batch_job *job, const struct mask_path *path,
                                 size_t partition)
{
    return job->prepared->spectra +
           (path->column * job->prepared->partitions + partition) * job->convolution->floats;
}

/* One chunk of one output in double precision, into the worker's samples. */
static void add_precisely(const struct cpu_batch_job *job, size_t output, size_t chunk,
                          size_t worker)
{
    const struct cpu_batch_convolution *convolution = job->convolution;
    const struct path_table *table = &job->prepared->paths;
    const struct fft_double *fft = job->prepared->precise[worker];
    size_t newest = convolution->newest + convolution->depth + chunk;
    near_bound_clear(fft);
    for (size_t p = table->first[output]; p < table->first[output + 1]; p++)
        for (size_t i = 0; i < job->prepared->partitions; i++)
            near_bound_multiply_add(fft,
                                    spectrum_at(convolution, table->paths[p].input, newest - i),
                                    mask_spectrum(job, &table->paths[p], i));
    near_bound_inverse(fft, convolution->samples[worker]);
}

/* Products summed in one pass. */
struct products {
    size_t count;
    size_t input[PRODUCTS_MOST];
    size_t partition[PRODUCTS_MOST];
    const real *mask[PRODUCTS_MOST];
};

/* Add to the sums of chunks [first, end), reading the masks once. */
static void add_products(const struct cpu_batch_convolution *convolution, struct products *products,
                         size_t first, size_t end, real *sums)
{
    size_t newest = convolution->newest + convolution->depth;
    const real *inputs[PRODUCTS_MOST];
    for (size_t chunk = first; chunk < end; chunk++) {
        for (size_t i = 0; i < products->count; i++)
            inputs[i] = spectrum_at(convolution, products->input[i],
                                    newest + chunk - products->partition[i]);
        fft_multiply_add_all(sums + (chunk - first) * convolution->floats, inputs, products->mask,
                             products->count, convolution->floats);
    }
    products->count = 0;
}

static void add_paths(const struct cpu_batch_job *job, size_t output, size_t first, size_t end,
                      real *sums)
{
    const struct cpu_batch_convolution *convolution = job->convolution;
    const struct path_table *table = &job->prepared->paths;
    size_t partitions = job->prepared->partitions;
    struct products products = {0};
    memset(sums, 0, (end - first) * convolution->floats * sizeof *sums);
    for (size_t p = table->first[output]; p < table->first[output + 1]; p++)
        for (size_t partition = 0; partition < partitions; partition++) {
            size_t at = products.count++;
            products.input[at] = table->paths[p].input;
            products.partition[at] = partition;
            products.mask[at] = mask_spectrum(job, &table->paths[p], partition);
            if (products.count == PRODUCTS_MOST)
                add_products(convolution, &products, first, end, sums);
        }
    add_products(convolution, &products, first, end, sums);
}

/* A group of chunks of one output. */
static void overlap_save_output(void *context, size_t piece, size_t worker)
{
    const struct cpu_batch_job *job = context;
    const struct cpu_batch_convolution *convolution = job->convolution;
    size_t chunks = convolution->plan.chunks, group = convolution->group;
    size_t groups = (chunks + group - 1) / group;
    size_t output = piece / groups, first = piece % groups * group;
    size_t end = first + group < chunks ? first + group : chunks;
    real *sums = convolution->sums[worker], *samples = convolution->samples[worker];
    bool precise = job->prepared->precise && convolution->precise_frames > 0;
    if (!precise)
        add_paths(job, output, first, end, sums);
    for (size_t chunk = first; chunk < end; chunk++) {
        if (precise)
            add_precisely(job, output, chunk, worker);
        else
            fft_inverse(convolution->fft, sums + (chunk - first) * convolution->floats, samples);
        write_chunk(job, output, chunk, samples);
    }
}

static void direct_output(void *context, size_t output, size_t worker)
{
    (void)worker;
    const struct cpu_batch_job *job = context;
    const struct cpu_batch_convolution *convolution = job->convolution;
    memset(job->out[output], 0, convolution->shape.block * sizeof(real));
    add_head(&convolution->shape, &convolution->history, &job->prepared->paths, job->prepared->head,
             convolution->plan.head, output, job->out[output]);
}

/* What its transforms need to know. */
static void look_at(struct cpu_batch_convolution *convolution, const real *const *in,
                    const struct convolver_slot slots[CONVOLVER_SLOTS])
{
    convolution->peak = peak_with(convolution->peak, &convolution->shape, in);
    size_t frames = convolution->precise_frames, block = convolution->shape.block;
    convolution->precise_frames = frames > block ? frames - block : 0;
    convolution->near = NULL;
    for (size_t v = 0; v < CONVOLVER_SLOTS; v++) {
        const struct cpu_batch_mask *prepared = (const struct cpu_batch_mask *)slots[v].prepared;
        if (prepared && prepared->precise)
            convolution->near = prepared;
    }
}

static void batch_step(struct convolution *base, const real *const *in,
                       const struct convolver_slot slots[CONVOLVER_SLOTS])
{
    struct cpu_batch_convolution *convolution = (struct cpu_batch_convolution *)base;
    const struct convolver_shape *shape = &convolution->shape;
    size_t chunks = convolution->plan.chunks, groups = 1;
    bool direct = convolution->plan.algorithm == PARTITION_DIRECT;
    history_advance(&convolution->history, in);
    if (!direct) {
        look_at(convolution, in, slots);
        groups = (chunks + convolution->group - 1) / convolution->group;
        convolution->newest = (convolution->newest + chunks) % convolution->depth;
        share_out(convolution, shape->inputs * chunks, transform_chunk, convolution);
    }
    for (size_t v = 0; v < CONVOLVER_SLOTS; v++) {
        struct cpu_batch_job job = {convolution, (const struct cpu_batch_mask *)slots[v].prepared,
                                    slots[v].REAL(out)};
        if (job.prepared)
            share_out(convolution, shape->outputs * groups,
                      direct ? direct_output : overlap_save_output, &job);
    }
}

const struct convolver_backend REAL(convolver_cpu_batch) = {.name = "cpu",
                                                            .create = batch_create,
                                                            .destroy = batch_destroy,
                                                            .reset = batch_reset,
                                                            .describe = batch_describe,
                                                            .prepare = batch_prepare,
                                                            .release = batch_release,
                                                            .REAL(step) = batch_step};
