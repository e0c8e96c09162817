/* The CPU's live convolver at work: everything here runs in the real-time step. */
#include "convolver_cpu_live.h"

#include <math.h>
#include <string.h>

/* The share of a job that this block has to do: of a helper's, what it has left undone when
 * the time is up. */
static void run_share(struct convolution *convolution, size_t s)
{
    struct segment *segment = &convolution->segments[s];
    size_t block = convolution->shape.block;
    double blocks = (double)(segment->cut.size / block);
    double past = (double)(convolution->end - segment->job.full) / (double)block;
    bool last = past + 1 >= blocks;
    if (segment->ring == HELPERS_RING && !last)
        return;
    if (atomic_load(&segment->deadline) == UINT64_MAX)
        return;
    job_seize(segment);
    job_run(convolution, s, last ? INFINITY : segment->job.cost * (past + 1) / blocks);
    job_release(segment);
}

static bool is_full(const struct convolution *convolution, const struct segment *segment)
{
    return convolution->end % segment->cut.size == 0;
}

static void run_jobs(struct convolution *convolution,
                     const struct convolver_voice voices[CONVOLVER_VOICES])
{
    for (size_t s = 0; s < convolution->plan.segment_count; s++) {
        struct segment *segment = &convolution->segments[s];
        if (is_full(convolution, segment)) {
            job_seize(segment);
            job_begin(convolution, s, voices);
            job_release(segment);
        }
        run_share(convolution, s);
    }
}

/* ---- voices that come and go ---- */

/* A voice has another mask than when the jobs began, or none: they leave it out. */
static void leave_out(struct convolution *convolution, size_t voice)
{
    for (size_t s = 0; s < convolution->plan.segment_count; s++) {
        struct segment *segment = &convolution->segments[s];
        if (!atomic_load(&segment->wanted[voice]))
            continue;
        job_seize(segment);
        atomic_store(&segment->wanted[voice], NULL);
        job_release(segment);
    }
}

/* The mask is new to this voice: what it makes of partitions that were full before
 * this block is due from now on. */
static void catch_up(struct convolution *convolution, const struct convolver_voice *voice, size_t v)
{
    for (size_t s = 0; s < convolution->plan.segment_count; s++) {
        struct segment *segment = &convolution->segments[s];
        if (voice->prepared->parts[s] == 0)
            continue;
        job_seize(segment);
        job_run(convolution, s, INFINITY); /* its sum is wanted, and all spectra */
        for (size_t age = 0; age < segment->late && segment->job.full > age * segment->cut.size;
             age++)
            for (size_t output = 0; output < convolution->shape.outputs; output++)
                job_catch_up(convolution, s, age, voice, v, output);
        job_release(segment);
    }
}

/* What was due to the mask that this voice had before. */
static void forget_due(struct convolution *convolution, size_t voice)
{
    for (size_t r = 0; r < RINGS; r++)
        for (size_t o = 0; convolution->due[r][voice] && o < convolution->shape.outputs; o++)
            memset(convolution->due[r][voice][o], 0, convolution->due_length * sizeof(float));
}

/* ---- outputs ---- */

/* What is due to an output within the block, from both rings, which are empty there then. */
static void take_due(struct convolution *convolution, size_t voice, size_t output, float *out)
{
    size_t block = convolution->shape.block, length = convolution->due_length;
    size_t slot = (size_t)((convolution->end - block) % length);
    memset(out, 0, block * sizeof *out);
    for (size_t i = 0, run; i < block; i += run, slot = 0) {
        run = block - i < length - slot ? block - i : length - slot;
        for (size_t r = 0; r < RINGS && convolution->due[r][voice]; r++) {
            float *due = convolution->due[r][voice][output] + slot;
            for (size_t k = 0; k < run; k++)
                out[i + k] += due[k];
            memset(due, 0, run * sizeof *due);
        }
    }
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
        if (voices[v].prepared && voices[v].fresh) {
            forget_due(convolution, v);
            catch_up(convolution, &voices[v], v);
        }
    run_jobs(convolution, voices);
    for (size_t v = 0; v < CONVOLVER_VOICES; v++)
        for (size_t o = 0; voices[v].prepared && o < shape->outputs; o++) {
            take_due(convolution, v, o, voices[v].out[o]);
            add_head(&convolution->history, &voices[v].prepared->paths, voices[v].prepared->head,
                     convolution->plan.head, o, shape->block, voices[v].out[o]);
        }
}
