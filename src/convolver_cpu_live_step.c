/* The CPU's live convolver at work: everything here runs in the real-time step. */
#include "convolver_cpu_live.h"

#include <math.h>
#include <string.h>

enum { PARTS_MOST = 4 }; /* of a mask, multiplied in one unit */

/* ---- what a job consists of ---- */

/* One input's partition and the one before it. */
static void transform_input(struct convolution *convolution, struct segment *segment, size_t input)
{
    size_t n = 2 * segment->cut.size;
    size_t ago = (size_t)(convolution->end - segment->job.full); /* frames since it was full */
    const float *end = history_now(&convolution->history, input) + convolution->shape.block - ago;
    float *spectrum = segment->spectra[input] + segment->newest * segment->floats;
    if (fft_is_aligned(end - n)) {
        fft_forward(segment->fft, end - n, spectrum);
        return;
    }
    memcpy(convolution->samples, end - n, n * sizeof *end);
    fft_forward(segment->fft, convolution->samples, spectrum);
}

/* Add `frames` results, the first due at frame `at` of the stream, to an output's ring;
 * what was due before `now` is past. */
static void add_due(const struct convolution *convolution, float *due, uint64_t at, uint64_t now,
                    const float *results, size_t frames)
{
    size_t skip = now > at ? (size_t)(now - at) : 0;
    size_t length = convolution->due_length;
    size_t slot = (size_t)((at + skip) % length);
    for (size_t i = skip; i < frames;) {
        size_t run = frames - i < length - slot ? frames - i : length - slot;
        for (size_t k = 0; k < run; k++)
            due[slot + k] += results[i + k];
        i += run;
        slot = 0;
    }
}

/* The sum of an output becomes samples. `full`: the end of the newest partition in it. */
static void lay_down(struct convolution *convolution, const struct segment *segment, float *sum,
                     uint64_t full, size_t voice, size_t output)
{
    size_t size = segment->cut.size;
    fft_inverse(segment->fft, sum, convolution->samples);
    add_due(convolution, convolution->due[voice][output], full - size + segment->cut.offset,
            convolution->end - convolution->shape.block, convolution->samples + size, size);
}

/* The products of some parts of a path. `age`: of the newest partition in the sum, in
 * partitions. */
static void add_parts(const struct segment *segment, const struct prepared *prepared, size_t s,
                      const struct mask_path *path, size_t part, size_t count, size_t age)
{
    const float *inputs[PARTS_MOST], *masks[PARTS_MOST];
    const float *mask = prepared->spectra[s] + path->column * prepared->parts[s] * segment->floats;
    for (size_t i = 0; i < count; i++) {
        size_t slot = (segment->newest + segment->depth - age - part - i) % segment->depth;
        inputs[i] = segment->spectra[path->input] + slot * segment->floats;
        masks[i] = mask + (part + i) * segment->floats;
    }
    fft_multiply_add_all(segment->sum, inputs, masks, count, segment->floats);
}

/* How many of a mask's parts go together from this one on. */
static size_t parts_from(const struct prepared *prepared, size_t s, size_t part)
{
    size_t left = prepared->parts[s] - part;
    return left < PARTS_MOST ? left : PARTS_MOST;
}

/* ---- jobs ---- */

static double job_cost(const struct convolution *convolution, size_t s, const struct job *job)
{
    const struct partition_segment *cut = &convolution->segments[s].cut;
    double transform = partition_fft_cost(2 * cut->size);
    double product = partition_multiply_cost(2 * cut->size);
    double cost = (double)convolution->shape.inputs * transform;
    for (size_t v = 0; v < CONVOLVER_VOICES; v++) {
        const struct prepared *prepared = job->prepared[v];
        if (!prepared || prepared->parts[s] == 0)
            continue;
        size_t outputs = convolution->shape.outputs, paths = prepared->paths.first[outputs];
        cost += (double)outputs * transform;
        cost += (double)(paths * prepared->parts[s]) * product;
    }
    return cost;
}

static void begin_job(struct convolution *convolution, size_t s,
                      const struct convolver_voice voices[CONVOLVER_VOICES])
{
    struct segment *segment = &convolution->segments[s];
    segment->newest = (segment->newest + 1) % segment->depth;
    segment->job = (struct job){.full = convolution->end};
    for (size_t v = 0; v < CONVOLVER_VOICES; v++)
        segment->job.prepared[v] = voices[v].prepared;
    segment->job.cost = job_cost(convolution, s, &segment->job);
}

static void next_output(struct job *job, size_t outputs)
{
    job->path = job->part = 0;
    job->summing = false;
    if (++job->output == outputs) {
        job->output = 0;
        job->voice++;
    }
}

/* The next unit of a job, and what it costs; 0 when nothing is left. With `run` false
 * nothing is done but passing over voices that wait for nothing. */
static double unit(struct convolution *convolution, size_t s, bool run)
{
    struct segment *segment = &convolution->segments[s];
    struct job *job = &segment->job;
    size_t outputs = convolution->shape.outputs;
    if (job->input < convolution->shape.inputs) {
        if (run)
            transform_input(convolution, segment, job->input++);
        return partition_fft_cost(2 * segment->cut.size);
    }
    while (job->voice < CONVOLVER_VOICES &&
           (!job->prepared[job->voice] || job->prepared[job->voice]->parts[s] == 0)) {
        job->voice++;
        job->output = job->path = job->part = 0;
        job->summing = false;
    }
    if (job->voice == CONVOLVER_VOICES)
        return 0;
    const struct prepared *prepared = job->prepared[job->voice];
    const struct path_table *table = &prepared->paths;
    size_t path = table->first[job->output] + job->path;
    if (path < table->first[job->output + 1]) {
        size_t count = parts_from(prepared, s, job->part);
        if (run) {
            if (!job->summing)
                memset(segment->sum, 0, segment->floats * sizeof(float));
            job->summing = true;
            add_parts(segment, prepared, s, &table->paths[path], job->part, count, 0);
            job->part += count;
            if (job->part == prepared->parts[s]) {
                job->part = 0;
                job->path++;
            }
        }
        return (double)count * partition_multiply_cost(2 * segment->cut.size);
    }
    if (run) {
        if (job->summing)
            lay_down(convolution, segment, segment->sum, job->full, job->voice, job->output);
        next_output(job, outputs);
    }
    return partition_fft_cost(2 * segment->cut.size);
}

/* As many units as come to no more than `until` ns of the whole job. */
static void run_job(struct convolution *convolution, size_t s, double until)
{
    struct job *job = &convolution->segments[s].job;
    if (job->full == 0)
        return;
    for (double cost; (cost = unit(convolution, s, false)) > 0 && job->done + cost <= until;) {
        job->done += cost;
        unit(convolution, s, true);
    }
}

/* The share of a job that this block has to do. */
static void run_share(struct convolution *convolution, size_t s)
{
    const struct segment *segment = &convolution->segments[s];
    size_t block = convolution->shape.block;
    double blocks = (double)(segment->cut.size / block);
    double past = (double)(convolution->end - segment->job.full) / (double)block;
    bool last = past + 1 >= blocks;
    run_job(convolution, s, last ? INFINITY : segment->job.cost * (past + 1) / blocks);
}

static bool is_full(const struct convolution *convolution, const struct segment *segment)
{
    return convolution->end % segment->cut.size == 0;
}

static void run_jobs(struct convolution *convolution,
                     const struct convolver_voice voices[CONVOLVER_VOICES])
{
    for (size_t s = 0; s < convolution->plan.segment_count; s++) {
        if (is_full(convolution, &convolution->segments[s]))
            begin_job(convolution, s, voices);
        run_share(convolution, s);
    }
}

/* ---- voices that come and go ---- */

/* A voice has another mask than when the jobs began, or none: they leave it out. */
static void leave_out(struct convolution *convolution, size_t voice)
{
    for (size_t s = 0; s < convolution->plan.segment_count; s++)
        convolution->segments[s].job.prepared[voice] = NULL;
}

/* What the partition that was full `age` partitions ago gives to an output of a mask that
 * is new. */
static void catch_up_with(struct convolution *convolution, size_t s, size_t age,
                          const struct convolver_voice *voice, size_t v, size_t output)
{
    struct segment *segment = &convolution->segments[s];
    const struct prepared *prepared = voice->prepared;
    const struct path_table *table = &prepared->paths;
    uint64_t full = segment->job.full - age * segment->cut.size;
    if (full + segment->cut.offset <= convolution->end - convolution->shape.block)
        return; /* nothing of it is still to come */
    memset(segment->sum, 0, segment->floats * sizeof(float));
    for (size_t p = table->first[output]; p < table->first[output + 1]; p++)
        for (size_t part = 0; part < prepared->parts[s]; part += PARTS_MOST)
            add_parts(segment, prepared, s, &table->paths[p], part, parts_from(prepared, s, part),
                      age);
    lay_down(convolution, segment, segment->sum, full, v, output);
}

/* The mask is new to this voice: what it makes of partitions that were full before
 * this block is due from now on. */
static void catch_up(struct convolution *convolution, const struct convolver_voice *voice, size_t v)
{
    for (size_t output = 0; output < convolution->shape.outputs; output++)
        memset(convolution->due[v][output], 0, convolution->due_length * sizeof(float));
    for (size_t s = 0; s < convolution->plan.segment_count; s++) {
        struct segment *segment = &convolution->segments[s];
        run_job(convolution, s, INFINITY); /* its sum is wanted, and all spectra */
        for (size_t age = 0; age < segment->late && segment->job.full > age * segment->cut.size;
             age++)
            for (size_t output = 0; output < convolution->shape.outputs; output++)
                if (voice->prepared->parts[s] > 0)
                    catch_up_with(convolution, s, age, voice, v, output);
    }
}

/* ---- outputs ---- */

static void take_due(struct convolution *convolution, size_t voice, size_t output, float *out)
{
    float *due = convolution->due[voice][output];
    size_t block = convolution->shape.block, length = convolution->due_length;
    size_t slot = (size_t)((convolution->end - block) % length);
    size_t first = block < length - slot ? block : length - slot;
    memcpy(out, due + slot, first * sizeof *out);
    memset(due + slot, 0, first * sizeof *due);
    memcpy(out + first, due, (block - first) * sizeof *out);
    memset(due, 0, (block - first) * sizeof *due);
}

void cpu_live_step(struct convolution *convolution, const float *const *in,
                   const struct convolver_voice voices[CONVOLVER_VOICES])
{
    const struct convolver_shape *shape = &convolution->shape;
    for (size_t v = 0; v < CONVOLVER_VOICES; v++)
        if (!voices[v].prepared || voices[v].fresh)
            leave_out(convolution, v);
    history_advance(&convolution->history, in);
    convolution->end += shape->block;
    for (size_t v = 0; v < CONVOLVER_VOICES; v++)
        if (voices[v].prepared && voices[v].fresh)
            catch_up(convolution, &voices[v], v);
    run_jobs(convolution, voices);
    for (size_t v = 0; v < CONVOLVER_VOICES; v++)
        for (size_t o = 0; voices[v].prepared && o < shape->outputs; o++) {
            take_due(convolution, v, o, voices[v].out[o]);
            add_head(&convolution->history, &voices[v].prepared->paths, voices[v].prepared->head,
                     convolution->plan.head, o, shape->block, voices[v].out[o]);
        }
}
