/* The CPU's convolver at work: everything here runs in the real-time step. */
#include "convolver_fft.h"

#include "fir.h"

#include <string.h>

/* ---- inputs ---- */

/* One input's spectrum for one chunk: the chunk's frames and the taps - 1 before. */
static void transform_chunk(void *context, size_t piece, size_t worker)
{
    struct convolution *convolution = context;
    const struct partition_plan *plan = &convolution->plan;
    size_t input = piece / plan->chunks, chunk = piece % plan->chunks;
    size_t start = chunk * plan->hop;
    size_t frames = convolution->shape.block - start;
    if (frames > plan->hop)
        frames = plan->hop;
    size_t past = convolution->shape.taps - 1;
    float *samples = convolution->scratch_samples[worker];
    memcpy(samples, history_now(&convolution->history, input) + start - past,
           (past + frames) * sizeof *samples);
    memset(samples + past + frames, 0, (plan->fft - past - frames) * sizeof *samples);
    fft_forward(convolution->chunk_fft, samples,
                convolution->chunk_spectra[input] + chunk * convolution->chunk_floats);
}

static bool is_full(const struct convolution *convolution, const struct spectra_ring *ring)
{
    return convolution->end % ring->segment->size == 0;
}

/* One input's new partition in every segment that is full now. */
static void transform_partitions(void *context, size_t input, size_t worker)
{
    struct convolution *convolution = context;
    float *samples = convolution->scratch_samples[worker];
    const float *end = history_now(&convolution->history, input) + convolution->shape.block;
    size_t known = convolution->history.keep + convolution->shape.block;
    for (size_t s = 0; s < convolution->plan.segment_count; s++) {
        struct spectra_ring *ring = &convolution->rings[s];
        if (!is_full(convolution, ring))
            continue;
        /* The last partition may reach further back than any tap: silence does there. */
        size_t n = 2 * ring->segment->size;
        size_t there = n < known ? n : known;
        memset(samples, 0, (n - there) * sizeof *samples);
        memcpy(samples + n - there, end - there, there * sizeof *samples);
        fft_forward(ring->fft, samples, ring->spectra[input] + ring->newest * ring->floats);
    }
}

static void advance(struct convolution *convolution, const float *const *in)
{
    const struct convolver_shape *shape = &convolution->shape;
    const struct partition_plan *plan = &convolution->plan;
    history_advance(&convolution->history, in);
    convolution->end += shape->block;
    if (plan->algorithm == PARTITION_OVERLAP_SAVE)
        workers_run(shape->workers, shape->inputs * plan->chunks, transform_chunk, convolution);
    for (size_t s = 0; s < plan->segment_count; s++) {
        struct spectra_ring *ring = &convolution->rings[s];
        if (is_full(convolution, ring))
            ring->newest = (ring->newest + 1) % ring->depth;
    }
    if (plan->segment_count > 0)
        workers_run(shape->workers, shape->inputs, transform_partitions, convolution);
}

/* ---- outputs ---- */

struct job {
    struct convolution *convolution;
    const struct prepared *prepared;
    size_t voice;
    float *const *out;
};

static void chunk_output(void *context, size_t piece, size_t worker)
{
    const struct job *job = context;
    struct convolution *convolution = job->convolution;
    const struct partition_plan *plan = &convolution->plan;
    const struct path_table *table = &job->prepared->paths;
    size_t output = piece / plan->chunks, chunk = piece % plan->chunks;
    size_t start = chunk * plan->hop, floats = convolution->chunk_floats;
    size_t frames = convolution->shape.block - start;
    float *spectrum = convolution->scratch_spectrum[worker];
    float *samples = convolution->scratch_samples[worker];
    memset(spectrum, 0, floats * sizeof *spectrum);
    for (size_t p = table->first[output]; p < table->first[output + 1]; p++)
        fft_multiply_add(spectrum,
                         convolution->chunk_spectra[table->paths[p].input] + chunk * floats,
                         job->prepared->chunk_spectra + table->paths[p].column * floats, floats);
    fft_inverse(convolution->chunk_fft, spectrum, samples);
    memcpy(job->out[output] + start, samples + convolution->shape.taps - 1,
           (frames < plan->hop ? frames : plan->hop) * sizeof *samples);
}

/* Add `frames` results, the first due at frame `at` of the stream, to an output's ring;
 * what was due before `now` is past. */
static void add_due(const struct convolution *convolution, float *due, uint64_t at, uint64_t now,
                    const float *results, size_t frames)
{
    size_t skip = now > at ? (size_t)(now - at) : 0;
    size_t length = convolution->due_length;
    size_t slot = (size_t)((at + skip) % length);
    for (size_t i = skip; i < frames; i++) {
        due[slot] += results[i];
        if (++slot == length)
            slot = 0;
    }
}

/* What the partition that was full `age` partitions ago gives to one output. */
static void add_partition(const struct job *job, size_t s, size_t age, size_t output, size_t worker)
{
    struct convolution *convolution = job->convolution;
    const struct spectra_ring *ring = &convolution->rings[s];
    const struct path_table *table = &job->prepared->paths;
    size_t size = ring->segment->size, floats = ring->floats;
    size_t parts = job->prepared->parts[s];
    uint64_t full = convolution->end / size * size - age * size; /* end of its input */
    uint64_t now = convolution->end - convolution->shape.block;
    if (parts == 0 || full + ring->segment->offset <= now)
        return;
    float *spectrum = convolution->scratch_spectrum[worker];
    float *samples = convolution->scratch_samples[worker];
    memset(spectrum, 0, floats * sizeof *spectrum);
    for (size_t p = table->first[output]; p < table->first[output + 1]; p++) {
        const float *inputs = ring->spectra[table->paths[p].input];
        const float *masks =
            job->prepared->part_spectra[s] + table->paths[p].column * parts * floats;
        for (size_t part = 0; part < parts; part++) {
            size_t slot = (ring->newest + ring->depth - age - part) % ring->depth;
            fft_multiply_add(spectrum, inputs + slot * floats, masks + part * floats, floats);
        }
    }
    fft_inverse(ring->fft, spectrum, samples);
    add_due(convolution, convolution->due[job->voice][output], full - size + ring->segment->offset,
            now, samples + size, size);
}

static void add_head(const struct job *job, size_t output, float *out)
{
    const struct convolution *convolution = job->convolution;
    const struct path_table *table = &job->prepared->paths;
    size_t block = convolution->shape.block, head = convolution->plan.head;
    for (size_t start = 0; start < block; start += FIR_TILE) {
        size_t frames = block - start < FIR_TILE ? block - start : FIR_TILE;
        float sum[FIR_TILE] = {0};
        for (size_t p = table->first[output]; p < table->first[output + 1]; p++)
            fir_add_float(sum, history_now(&convolution->history, table->paths[p].input) + start,
                          frames, job->prepared->head + table->paths[p].column * head, head);
        for (size_t i = 0; i < frames; i++)
            out[start + i] += sum[i];
    }
}

static void partitioned_output(void *context, size_t output, size_t worker)
{
    const struct job *job = context;
    struct convolution *convolution = job->convolution;
    size_t block = convolution->shape.block;
    float *out = job->out[output];
    for (size_t s = 0; s < convolution->plan.segment_count; s++)
        if (is_full(convolution, &convolution->rings[s]))
            add_partition(job, s, 0, output, worker);
    memset(out, 0, block * sizeof *out);
    if (convolution->due_length > 0) {
        float *due = convolution->due[job->voice][output];
        size_t slot = (size_t)((convolution->end - block) % convolution->due_length);
        for (size_t i = 0; i < block; i++) {
            out[i] = due[slot];
            due[slot] = 0;
            if (++slot == convolution->due_length)
                slot = 0;
        }
    }
    add_head(job, output, out);
}

static void run(const struct job *job)
{
    struct convolution *convolution = job->convolution;
    const struct convolver_shape *shape = &convolution->shape;
    if (convolution->plan.algorithm == PARTITION_OVERLAP_SAVE)
        workers_run(shape->workers, shape->outputs * convolution->plan.chunks, chunk_output,
                    (void *)job);
    else
        workers_run(shape->workers, shape->outputs, partitioned_output, (void *)job);
}

/* The mask is new to this voice: what it makes of partitions that were full before
 * this block is due from now on. */
static void catch_up(void *context, size_t output, size_t worker)
{
    const struct job *job = context;
    struct convolution *convolution = job->convolution;
    if (convolution->due_length > 0)
        memset(convolution->due[job->voice][output], 0, convolution->due_length * sizeof(float));
    for (size_t s = 0; s < convolution->plan.segment_count; s++) {
        const struct spectra_ring *ring = &convolution->rings[s];
        size_t size = ring->segment->size;
        size_t first = is_full(convolution, ring) ? 1 : 0; /* run() adds the newest itself */
        for (size_t age = first; age < ring->late && (age + 1) * size <= convolution->end; age++)
            add_partition(job, s, age, output, worker);
    }
}

void fft_step(struct convolution *convolution, const float *const *in,
              const struct convolver_voice voices[CONVOLVER_VOICES])
{
    const struct convolver_shape *shape = &convolution->shape;
    advance(convolution, in);
    for (size_t v = 0; v < CONVOLVER_VOICES; v++) {
        struct job job = {convolution, voices[v].prepared, v, voices[v].out};
        if (!job.prepared)
            continue;
        if (voices[v].fresh && convolution->plan.segment_count > 0)
            workers_run(shape->workers, shape->outputs, catch_up, &job);
        run(&job);
    }
}
