/* The convolver of the CPU: float32, by the plan that partition.c finds cheapest.
 *
 * Spectra of the inputs are computed once a block and serve every output and
 * both masks of a fade. Overlap-save: each chunk of a block has one spectrum an
 * input. Partitioned: each segment keeps the spectra of its last partitions in a
 * ring; a partition's result is due `offset` frames after its input, so results
 * wait in a ring of outputs, one for each voice.
 */
#include "convolver.h"

#include "audio.h"
#include "fft.h"
#include "fir.h"
#include "history.h"
#include "partition.h"

#include <stdlib.h>
#include <string.h>

/* The spectra of one segment's past: depth of them an input, the newest at `newest`. */
struct spectra_ring {
    const struct partition_segment *segment;
    struct fft *fft;
    size_t floats; /* of a spectrum */
    size_t depth;
    size_t newest;
    size_t late;   /* results that can still be due when the next partition is full */
    float **spectra; /* [input] */
};

struct convolution {
    struct convolver_shape shape;
    struct partition_plan plan;
    struct history history;
    uint64_t end; /* frames that came in, the block at hand included */

    struct fft *chunk_fft; /* overlap-save */
    size_t chunk_floats;
    float **chunk_spectra; /* [input], chunk after chunk */

    struct spectra_ring rings[PARTITION_SEGMENTS_MOST];
    size_t due_length; /* frames of an output's ring */
    float **due[CONVOLVER_VOICES]; /* [output] */

    float **scratch_spectrum; /* [worker] */
    float **scratch_samples;
};

struct prepared {
    size_t taps;
    struct path_table paths;
    float *head;          /* column after column, plan.head taps each */
    float *chunk_spectra; /* column after column */
    size_t parts[PARTITION_SEGMENTS_MOST]; /* that are not all zero */
    float *part_spectra[PARTITION_SEGMENTS_MOST]; /* column after column, part after part */
};

/* ---- making and freeing ---- */

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
    size_t due = segment->offset + segment->size + convolution->shape.block;
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
    return fail(STATUS_FAILED, "a mask of %zu taps on %zu channels needs about %.0f GB of memory, "
                "more than this machine has; use a shorter one", shape->taps, shape->inputs,
                bytes / 1e9);
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

static const char *fft_algorithm(const struct convolution *convolution)
{
    return partition_algorithm_name(convolution->plan.algorithm);
}

/* ---- masks ---- */

static void fft_release(struct prepared *prepared)
{
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
        prepared->taps = mask->taps;
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
            fft_release(prepared);
        return status;
    }
    *result = prepared;
    return STATUS_OK;
}

/* ---- the step: inputs ---- */

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

static void fft_advance(struct convolution *convolution, const float *const *in)
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

/* ---- the step: outputs ---- */

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
static void add_partition(const struct job *job, size_t s, size_t age, size_t output,
                          size_t worker)
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
        const float *masks = job->prepared->part_spectra[s] +
                             table->paths[p].column * parts * floats;
        for (size_t part = 0; part < parts; part++) {
            size_t slot = (ring->newest + ring->depth - age - part) % ring->depth;
            fft_multiply_add(spectrum, inputs + slot * floats, masks + part * floats, floats);
        }
    }
    fft_inverse(ring->fft, spectrum, samples);
    add_due(convolution, convolution->due[job->voice][output],
            full - size + ring->segment->offset, now, samples + size, size);
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

static void fft_run(struct convolution *convolution, const struct prepared *prepared, size_t voice,
                    float *const *out)
{
    const struct convolver_shape *shape = &convolution->shape;
    struct job job = {convolution, prepared, voice, out};
    if (convolution->plan.algorithm == PARTITION_OVERLAP_SAVE)
        workers_run(shape->workers, shape->outputs * convolution->plan.chunks, chunk_output, &job);
    else
        workers_run(shape->workers, shape->outputs, partitioned_output, &job);
}

/* The mask is new to this voice: what it makes of partitions that were full before
 * this block is due from now on. */
static void catch_up(void *context, size_t output, size_t worker)
{
    const struct job *job = context;
    struct convolution *convolution = job->convolution;
    if (convolution->due_length > 0)
        memset(convolution->due[job->voice][output], 0,
               convolution->due_length * sizeof(float));
    for (size_t s = 0; s < convolution->plan.segment_count; s++) {
        const struct spectra_ring *ring = &convolution->rings[s];
        size_t size = ring->segment->size;
        size_t first = is_full(convolution, ring) ? 1 : 0; /* run() adds the newest itself */
        for (size_t age = first; age < ring->late && (age + 1) * size <= convolution->end;
             age++)
            add_partition(job, s, age, output, worker);
    }
}

static void fft_begin(struct convolution *convolution, const struct prepared *prepared,
                      size_t voice)
{
    struct job job = {convolution, prepared, voice, NULL};
    if (convolution->plan.segment_count > 0)
        workers_run(convolution->shape.workers, convolution->shape.outputs, catch_up, &job);
}

const struct convolver_backend convolver_fft = {
    .name = "cpu",
    .create = fft_convolution_create,
    .destroy = fft_convolution_destroy,
    .reset = fft_convolution_reset,
    .algorithm = fft_algorithm,
    .prepare = fft_prepare,
    .release = fft_release,
    .advance = fft_advance,
    .begin = fft_begin,
    .run = fft_run,
};
