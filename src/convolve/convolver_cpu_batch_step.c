/* The step of the CPU's convolver for long blocks. It waits for the workers that share it. */
#include "convolve/convolver_cpu_batch.h"

#include "signal/audio.h"

#include <string.h>

enum {
    PRODUCTS_MOST = 4, /* added in one pass */
    TILE = 1 << 9, /* floats of spectra, so that those of all chunks and partitions stay cached */
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
    real *to = spectrum_at(convolution, input, convolution->newest + chunk);
    bool *silent = silence_at(convolution, input, convolution->newest + chunk);
    *silent = audio_is_silent(from, there); /* as after the end of a sound */
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

/* One chunk of one output, from the sum of its products. */
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

/* The same in double precision, from the spectra. */
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

/* Of the spectra, floats [from, from + floats). */
struct tile {
    size_t from, floats;
};

/* Add to the sums of chunks [first, end), reading the masks once. */
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

/* Whether nothing is heard in chunks [first, end) of an output. */
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

/* What its transforms need to know. */
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

void cpu_batch_step(struct convolution *base, const real *const *in,
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
