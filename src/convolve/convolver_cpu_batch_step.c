/* The CPU's convolver for files at work: everything here runs in the real-time step. */
#include "convolve/convolver_cpu_batch.h"

#include <string.h>

enum { PRODUCTS_MOST = 4 };

/* Live the step does it all: waking threads takes longer than what they would do. */
static void share_out(const struct convolution *convolution, size_t pieces, workers_task *task,
                      void *context)
{
    if (!convolution->shape.live) {
        workers_run(convolution->shape.workers, pieces, task, context);
        return;
    }
    for (size_t piece = 0; piece < pieces; piece++)
        task(context, piece, 0);
}

static float *spectrum_at(const struct convolution *convolution, size_t input, size_t place)
{
    return convolution->spectra[input] + place % convolution->depth * convolution->floats;
}

static size_t chunk_frames(const struct convolution *convolution, size_t chunk)
{
    size_t left = convolution->shape.block - chunk * convolution->plan.hop;
    return left < convolution->plan.hop ? left : convolution->plan.hop;
}

/* One input's spectrum for one chunk: the chunk's frames and the past before it. */
static void transform_chunk(void *context, size_t piece, size_t worker)
{
    struct convolution *convolution = context;
    const struct partition_plan *plan = &convolution->plan;
    size_t input = piece / plan->chunks, chunk = piece % plan->chunks;
    size_t there = plan->history_frames + chunk_frames(convolution, chunk);
    const float *from = history_now(&convolution->history, input) + chunk * plan->hop - plan->history_frames;
    if (there < plan->fft || !fft_is_aligned(from)) {
        float *samples = convolution->samples[worker];
        memcpy(samples, from, there * sizeof *samples);
        memset(samples + there, 0, (plan->fft - there) * sizeof *samples);
        from = samples;
    }
    fft_forward(convolution->fft, from,
                spectrum_at(convolution, input, convolution->newest + chunk));
}

struct job {
    struct convolution *convolution;
    const struct prepared *prepared;
    float *const *out;
};

static void finish_chunk(const struct job *job, size_t output, size_t chunk, float *sum,
                         float *samples)
{
    const struct convolution *convolution = job->convolution;
    const struct partition_plan *plan = &convolution->plan;
    fft_inverse(convolution->fft, sum, samples);
    memcpy(job->out[output] + chunk * plan->hop, samples + plan->history_frames,
           chunk_frames(convolution, chunk) * sizeof *samples);
}

/* Products that are added up together. */
struct products {
    size_t count;
    size_t input[PRODUCTS_MOST];
    size_t partition[PRODUCTS_MOST];
    const float *mask[PRODUCTS_MOST];
};

/* To the sums of all chunks from `first` to `end`: the masks come from far, and once. */
static void add_products(const struct convolution *convolution, struct products *products,
                         size_t first, size_t end, float *sums)
{
    size_t newest = convolution->newest + convolution->depth;
    const float *inputs[PRODUCTS_MOST];
    for (size_t chunk = first; chunk < end; chunk++) {
        for (size_t i = 0; i < products->count; i++)
            inputs[i] =
                spectrum_at(convolution, products->input[i], newest + chunk - products->partition[i]);
        fft_multiply_add_all(sums + (chunk - first) * convolution->floats, inputs, products->mask,
                             products->count, convolution->floats);
    }
    products->count = 0;
}

static void add_paths(const struct job *job, size_t output, size_t first, size_t end, float *sums)
{
    const struct convolution *convolution = job->convolution;
    const struct path_table *table = &job->prepared->paths;
    size_t partitions = job->prepared->partitions;
    struct products products = {0};
    memset(sums, 0, (end - first) * convolution->floats * sizeof *sums);
    for (size_t p = table->first[output]; p < table->first[output + 1]; p++)
        for (size_t partition = 0; partition < partitions; partition++) {
            size_t at = products.count++;
            products.input[at] = table->paths[p].input;
            products.partition[at] = partition;
            products.mask[at] = job->prepared->spectra +
                                (table->paths[p].column * partitions + partition) * convolution->floats;
            if (products.count == PRODUCTS_MOST)
                add_products(convolution, &products, first, end, sums);
        }
    add_products(convolution, &products, first, end, sums);
}

/* A group of chunks of one output. */
static void overlap_save_output(void *context, size_t piece, size_t worker)
{
    const struct job *job = context;
    const struct convolution *convolution = job->convolution;
    size_t chunks = convolution->plan.chunks, group = convolution->group;
    size_t groups = (chunks + group - 1) / group;
    size_t output = piece / groups, first = piece % groups * group;
    size_t end = first + group < chunks ? first + group : chunks;
    float *sums = convolution->sums[worker];
    add_paths(job, output, first, end, sums);
    for (size_t chunk = first; chunk < end; chunk++)
        finish_chunk(job, output, chunk, sums + (chunk - first) * convolution->floats,
                     convolution->samples[worker]);
}

static void direct_output(void *context, size_t output, size_t worker)
{
    (void)worker;
    const struct job *job = context;
    const struct convolution *convolution = job->convolution;
    size_t block = convolution->shape.block;
    memset(job->out[output], 0, block * sizeof(float));
    add_head(&convolution->history, &job->prepared->paths, job->prepared->head,
             convolution->plan.head, output, block, job->out[output]);
}

static void run_slot(struct job *job)
{
    const struct convolution *convolution = job->convolution;
    const struct convolver_shape *shape = &convolution->shape;
    size_t group = convolution->group;
    if (convolution->plan.algorithm == PARTITION_DIRECT)
        share_out(convolution, shape->outputs, direct_output, job);
    else
        share_out(convolution, shape->outputs * ((convolution->plan.chunks + group - 1) / group),
                  overlap_save_output, job);
}

void cpu_batch_step(struct convolution *convolution, const float *const *in,
                    const struct convolver_slot slots[CONVOLVER_SLOTS])
{
    const struct convolver_shape *shape = &convolution->shape;
    history_advance(&convolution->history, in);
    if (convolution->plan.algorithm == PARTITION_OVERLAP_SAVE) {
        convolution->newest = (convolution->newest + convolution->plan.chunks) % convolution->depth;
        share_out(convolution, shape->inputs * convolution->plan.chunks, transform_chunk,
                  convolution);
    }
    for (size_t v = 0; v < CONVOLVER_SLOTS; v++) {
        struct job job = {convolution, slots[v].prepared, slots[v].out};
        if (job.prepared)
            run_slot(&job);
    }
}
