/* The CPU's convolver for blocks that are long compared with the mask: direct form, or overlap-save
 * in chunks.
 *
 * A ring keeps the spectra of a block's chunks and, if the mask is partitioned, of earlier ones.
 * All outputs and both slots of a fade share it. Threads: in a file, the workers share each step
 * and the preparation of a mask. Live, the caller does both alone.
 */
#include "convolve/convolver_cpu.h"
#include "mask/mask_share.h"
#include "signal/audio.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cpu_batch_convolution {
    struct convolver_shape shape;
    struct partition_plan plan;
    struct history history;
    struct real_odd_fft *fft;
    size_t floats;                     /* floats of a spectrum */
    size_t depth;                      /* spectra of each input in the ring */
    size_t newest;                     /* place of the block's first chunk; the others follow */
    real **spectra;                    /* [input] the ring */
    bool *silent;                      /* [input * depth + place] the spectrum is of silence */
    size_t group;                      /* chunks computed together, 1 to GROUP_MOST */
    real **sums;                       /* [worker], `group` spectra each */
    real **samples;                    /* one buffer for each worker */
    real peak;                         /* peak of the sound so far */
    real *peaks;                       /* [input] peak of the block */
    const struct cpu_batch_mask *near; /* an active mask that has `precise`, or NULL */
    atomic_size_t precise_frames; /* frames from now on for which outputs may come near the bound */
    struct workers *sharers; /* workers that share a step; NULL: the step is too short, or live */
    struct workers *takers;  /* workers that share its inputs; NULL: as for `sharers` */
};

struct cpu_batch_mask {
    struct path_table paths;
    real *head;        /* direct form: the taps, column by column */
    size_t partitions; /* partitions up to the last one that is not all zero */
    real *spectra;     /* column by column, partition by partition */
    size_t floats;     /* floats of all spectra */
    struct near_bound bound;
    struct fft_double **precise; /* [worker] transforms in double precision; NULL: not needed */
    bool is_shared; /* the mask owns this form (mask_share.h), which has no `precise` */
};

/* The workers; NULL if live. Waking threads would take longer than a live step, and a running
 * stream's threads must not prepare masks. */
static inline struct workers *batch_workers(const struct cpu_batch_convolution *convolution)
{
    return convolution->shape.live ? NULL : convolution->shape.workers;
}

/* The step of the CPU's convolver for long blocks. It waits for its workers. */

enum {
    PRODUCTS_MOST = 4, /* products added in one pass */
    TILE = 1 << 9,     /* floats of spectra; a tile of all chunks and partitions stays cached */
};

static real *spectrum_at(const struct cpu_batch_convolution *convolution, size_t input,
                         size_t place)
{
    return convolution->spectra[input] + place % convolution->depth * convolution->floats;
}

static bool *silence_at(const struct cpu_batch_convolution *convolution, size_t input, size_t place)
{
    return &convolution->silent[input * convolution->depth + place % convolution->depth];
}

static size_t chunk_frames(const struct cpu_batch_convolution *convolution, size_t chunk)
{
    size_t left = convolution->shape.block - chunk * convolution->plan.hop;
    return left < convolution->plan.hop ? left : convolution->plan.hop;
}

struct input_job {
    struct cpu_batch_convolution *convolution;
    const real *const *in;
};

static void take_input(void *context, size_t input, size_t worker)
{
    (void)worker;
    const struct input_job *job = context;
    struct cpu_batch_convolution *convolution = job->convolution;
    history_write(&convolution->history, input, job->in[input]);
    convolution->peaks[input] = audio_peak(job->in[input], convolution->shape.block);
}

static void take_inputs(struct cpu_batch_convolution *convolution, const real *const *in)
{
    struct input_job job = {convolution, in};
    history_turn(&convolution->history);
    workers_run(convolution->takers, convolution->shape.inputs, take_input, &job);
    for (size_t c = 0; c < convolution->shape.inputs; c++)
        if (convolution->peaks[c] > convolution->peak)
            convolution->peak = convolution->peaks[c];
}

/* The spectrum of one input's chunk together with the history before it. */
static void transform_chunk(void *context, size_t piece, size_t worker)
{
    struct cpu_batch_convolution *convolution = context;
    const struct convolver_shape *shape = &convolution->shape;
    const struct partition_plan *plan = &convolution->plan;
    size_t input = piece / plan->chunks, chunk = piece % plan->chunks;
    size_t there = plan->history_frames + chunk_frames(convolution, chunk);
    const real *from =
        history_now(&convolution->history, input) + chunk * plan->hop - plan->history_frames;
    real *to = spectrum_at(convolution, input, convolution->newest + chunk);
    bool *silent = silence_at(convolution, input, convolution->newest + chunk);
    *silent = audio_is_silent(from, there); /* for example after the end of a sound */
    if (*silent) {
        memset(to, 0, convolution->floats * sizeof *to);
        return;
    }
    const struct cpu_batch_mask *near = convolution->near;
    real *samples = convolution->samples[worker];
    if (!near || !near_bound_is_near(&near->bound, from, there, plan->fft, convolution->peak)) {
        odd_fft_forward(convolution->fft, from, there, samples, to);
        return;
    }
    convolution->precise_frames = plan->fft + shape->block + shape->taps;
    near_bound_forward(near->precise[worker], from, there, to);
}

struct cpu_batch_job {
    struct cpu_batch_convolution *convolution;
    const struct cpu_batch_mask *prepared;
    real *const *out;
};

/* Computes one chunk of one output from the sum of its products. */
static void transform_sum(const struct cpu_batch_job *job, size_t output, size_t chunk,
                          const real *sum, real *samples)
{
    const struct cpu_batch_convolution *convolution = job->convolution;
    const struct partition_plan *plan = &convolution->plan;
    odd_fft_inverse(convolution->fft, sum, samples, plan->history_frames,
                    chunk_frames(convolution, chunk), job->out[output] + chunk * plan->hop);
}

static const real *mask_spectrum(const struct cpu_batch_job *job, const struct mask_path *path,
                                 size_t partition)
{
    return job->prepared->spectra +
           (path->column * job->prepared->partitions + partition) * job->convolution->floats;
}

/* Computes one chunk of one output in double precision, from the spectra. */
static void transform_precisely(const struct cpu_batch_job *job, size_t output, size_t chunk,
                                size_t worker)
{
    const struct cpu_batch_convolution *convolution = job->convolution;
    const struct partition_plan *plan = &convolution->plan;
    const struct path_table *table = &job->prepared->paths;
    const struct fft_double *fft = job->prepared->precise[worker];
    size_t newest = convolution->newest + convolution->depth + chunk;
    near_bound_clear(fft);
    for (size_t p = table->first[output]; p < table->first[output + 1]; p++)
        for (size_t i = 0; i < job->prepared->partitions; i++)
            near_bound_multiply_add(fft,
                                    spectrum_at(convolution, table->paths[p].input, newest - i),
                                    mask_spectrum(job, &table->paths[p], i));
    near_bound_inverse(fft, plan->history_frames, chunk_frames(convolution, chunk),
                       job->out[output] + chunk * plan->hop);
}

/* Products summed in one pass. */
struct products {
    size_t count;
    size_t input[PRODUCTS_MOST];
    size_t partition[PRODUCTS_MOST];
    const real *mask[PRODUCTS_MOST];
};

/* Floats [from, from + floats) of each spectrum. */
struct tile {
    size_t from, floats;
};

/* Adds the products to the sums of chunks [first, end), so that the masks are read once. */
static void add_products(const struct cpu_batch_convolution *convolution, struct products *products,
                         size_t first, size_t end, const struct tile *tile, real *sums)
{
    size_t newest = convolution->newest + convolution->depth;
    const real *inputs[PRODUCTS_MOST];
    for (size_t chunk = first; chunk < end; chunk++) {
        for (size_t i = 0; i < products->count; i++)
            inputs[i] = spectrum_at(convolution, products->input[i],
                                    newest + chunk - products->partition[i]) +
                        tile->from;
        odd_fft_multiply_add(sums + (chunk - first) * convolution->floats + tile->from, inputs,
                             products->mask, products->count, tile->floats);
    }
    products->count = 0;
}

static void add_tile(const struct cpu_batch_job *job, size_t output, size_t first, size_t end,
                     const struct tile *tile, real *sums)
{
    const struct cpu_batch_convolution *convolution = job->convolution;
    const struct path_table *table = &job->prepared->paths;
    size_t partitions = job->prepared->partitions;
    struct products products = {0};
    for (size_t i = 0; i < end - first; i++)
        memset(sums + i * convolution->floats + tile->from, 0, tile->floats * sizeof *sums);
    for (size_t p = table->first[output]; p < table->first[output + 1]; p++)
        for (size_t partition = 0; partition < partitions; partition++) {
            size_t at = products.count++;
            products.input[at] = table->paths[p].input;
            products.partition[at] = partition;
            products.mask[at] = mask_spectrum(job, &table->paths[p], partition) + tile->from;
            if (products.count == PRODUCTS_MOST)
                add_products(convolution, &products, first, end, tile, sums);
        }
    add_products(convolution, &products, first, end, tile, sums);
}

static void add_paths(const struct cpu_batch_job *job, size_t output, size_t first, size_t end,
                      real *sums)
{
    const struct cpu_batch_convolution *convolution = job->convolution;
    size_t floats = convolution->plan.fft;
    for (struct tile tile = {0}; tile.from < floats; tile.from += TILE) {
        tile.floats = floats - tile.from < TILE ? floats - tile.from : TILE;
        add_tile(job, output, first, end, &tile, sums);
    }
}

/* Whether chunks [first, end) of an output are silent. */
static bool is_silent(const struct cpu_batch_job *job, size_t output, size_t first, size_t end)
{
    const struct cpu_batch_convolution *convolution = job->convolution;
    const struct path_table *table = &job->prepared->paths;
    size_t newest = convolution->newest + convolution->depth;
    size_t before = job->prepared->partitions - 1;
    for (size_t p = table->first[output]; p < table->first[output + 1]; p++)
        for (size_t place = newest + first - before; place < newest + end; place++)
            if (!*silence_at(convolution, table->paths[p].input, place))
                return false;
    return true;
}

/* Computes a group of chunks of one output. */
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
    if (is_silent(job, output, first, end)) {
        for (size_t chunk = first; chunk < end; chunk++)
            memset(job->out[output] + chunk * convolution->plan.hop, 0,
                   chunk_frames(convolution, chunk) * sizeof(real));
        return;
    }
    if (!precise)
        add_paths(job, output, first, end, sums);
    for (size_t chunk = first; chunk < end; chunk++) {
        if (precise)
            transform_precisely(job, output, chunk, worker);
        else
            transform_sum(job, output, chunk, sums + (chunk - first) * convolution->floats,
                          samples);
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

/* Notes, for the block's transforms, an active mask that may need double precision. */
static void look_at(struct cpu_batch_convolution *convolution,
                    const struct convolver_slot slots[CONVOLVER_SLOTS])
{
    size_t frames = convolution->precise_frames, block = convolution->shape.block;
    convolution->precise_frames = frames > block ? frames - block : 0;
    convolution->near = NULL;
    for (size_t v = 0; v < CONVOLVER_SLOTS; v++) {
        const struct cpu_batch_mask *prepared = (const struct cpu_batch_mask *)slots[v].prepared;
        if (prepared && prepared->precise)
            convolution->near = prepared;
    }
}

static void cpu_batch_step(struct convolution *base, const real *const *in,
                           const struct convolver_slot slots[CONVOLVER_SLOTS])
{
    struct cpu_batch_convolution *convolution = (struct cpu_batch_convolution *)base;
    const struct convolver_shape *shape = &convolution->shape;
    size_t chunks = convolution->plan.chunks, groups = 1;
    bool direct = convolution->plan.algorithm == PARTITION_DIRECT;
    if (direct) {
        history_advance(&convolution->history, in);
    } else {
        take_inputs(convolution, in);
        look_at(convolution, slots);
        groups = (chunks + convolution->group - 1) / convolution->group;
        convolution->newest = (convolution->newest + chunks) % convolution->depth;
        workers_run(convolution->sharers, shape->inputs * chunks, transform_chunk, convolution);
    }
    for (size_t v = 0; v < CONVOLVER_SLOTS; v++) {
        struct cpu_batch_job job = {convolution, (const struct cpu_batch_mask *)slots[v].prepared,
                                    slots[v].REAL(out)};
        if (job.prepared)
            workers_run(convolution->sharers, shape->outputs * groups,
                        direct ? direct_output : overlap_save_output, &job);
    }
}

/* Set-up of the CPU's convolver for long blocks, and preparation of its masks. */

enum { GROUP_MOST = 8 }; /* chunks of an output that share one pass over a mask's spectra */

static const size_t CACHE_FLOATS = 1 << 18; /* floats of masks' spectra per output that fit it */

static const double NS_TAKEN = 0.4; /* time to copy and measure a sample of the input */

/* The rows are in one piece of memory. */
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

/* Allocates the ring of spectra. If each block overwrites all of it, it need not be zero, except
 * from the last bin to the end of its cache line, which products read as well. */
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
    /* If the masks' spectra exceed the cache, each is read once for several chunks. */
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

/* The workers that share a step, or each of its two jobs: transforms of inputs, and the rest. */
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
    real **samples; /* one buffer for each worker */
};

/* Transforms one partition of one column. */
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

/* Adds transforms in double precision, if the mask's outputs may come near the bound. */
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

/* All that the form of a mask depends on. */
struct batch_form_key {
    uint64_t precision, algorithm, head, fft, hop, partitions;
};

static struct batch_form_key form_key(const struct cpu_batch_convolution *convolution)
{
    const struct partition_plan *plan = &convolution->plan;
    return (struct batch_form_key){sizeof(real), plan->algorithm, plan->head,
                                   plan->fft,    plan->hop,       plan->partitions};
}

/* Offers the form to later convolvers of a shared mask. */
static void share_form(const struct cpu_batch_convolution *convolution, const struct mask *mask,
                       struct cpu_batch_mask *prepared)
{
    const struct batch_form_key key = form_key(convolution);
    const struct partition_plan *plan = &convolution->plan;
    size_t each = prepared->head ? plan->head : prepared->partitions * convolution->floats;
    if (!mask->share || prepared->precise)
        return;
    prepared->is_shared = true; /* set before another thread can find it */
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
