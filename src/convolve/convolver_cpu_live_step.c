/* The CPU's live convolver at work: everything here runs in the real-time step. */
#include "convolve/convolver_cpu_live.h"

#include <math.h>
#include <string.h>

/* The share of a job that this block has to do: of a worker's, what it has left undone when
 * the time is up. */
static void run_share(struct convolution *convolution, size_t s)
{
    struct segment *segment = &convolution->segments[s];
    size_t block = convolution->shape.block;
    double blocks = (double)(segment->cut.size / block);
    double history_frames = (double)(convolution->end - segment->job.full) / (double)block;
    bool last = history_frames + 1 >= blocks;
    if (segment->ring == WORKER_RING && !last)
        return;
    if (atomic_load(&segment->deadline) == UINT64_MAX)
        return;
    job_lock(segment);
    if (last) /* the worker may be laying down another segment's results in its own ring */
        segment->job.ring = STEPS_RING;
    job_run(convolution, s, last ? INFINITY : segment->job.cost * (history_frames + 1) / blocks);
    job_release(segment);
}

static bool is_full(const struct convolution *convolution, const struct segment *segment)
{
    return convolution->end % segment->cut.size == 0;
}

static void run_jobs(struct convolution *convolution)
{
    for (size_t s = 0; s < convolution->plan.segment_count; s++) {
        struct segment *segment = &convolution->segments[s];
        if (is_full(convolution, segment)) {
            job_lock(segment);
            job_begin(convolution, s);
            job_release(segment);
        }
        run_share(convolution, s);
    }
}

/* ---- outputs ---- */

/* What is due to an output within the block, from both rings, which are empty there then.
 * `out` is NULL for a mask that does not sound yet: its time goes by too. */
static void take_due(struct convolution *convolution, size_t slot, size_t output, float *out)
{
    size_t block = convolution->shape.block, length = convolution->due_length;
    size_t position = (size_t)((convolution->end - block) % length);
    if (out)
        memset(out, 0, block * sizeof *out);
    for (size_t i = 0, run; i < block; i += run, position = 0) {
        run = block - i < length - position ? block - i : length - position;
        for (size_t r = 0; r < RINGS && convolution->due[r][slot]; r++) {
            float *due = convolution->due[r][slot][output] + position;
            for (size_t k = 0; out && k < run; k++)
                out[i + k] += due[k];
            memset(due, 0, run * sizeof *due);
        }
    }
}

static void run_slot(struct convolution *convolution, size_t v,
                      const struct convolver_slot *slot)
{
    for (size_t o = 0; o < convolution->shape.outputs; o++) {
        take_due(convolution, v, o, slot->prepared ? slot->out[o] : NULL);
        if (slot->prepared)
            add_head(&convolution->history, &slot->prepared->paths, slot->prepared->head,
                     convolution->plan.head, o, convolution->shape.block, slot->out[o]);
    }
}

void cpu_live_step(struct convolution *convolution, const float *const *in,
                   const struct convolver_slot slots[CONVOLVER_SLOTS])
{
    for (size_t v = 0; v < CONVOLVER_SLOTS; v++) {
        struct joined *joined = &convolution->joined[v];
        if (joined->mask && !slots[v].prepared && !joined->awaited)
            cpu_live_leave(convolution, v);
        joined->awaited = false;
    }
    history_advance(&convolution->history, in);
    convolution->end += convolution->shape.block;
    run_jobs(convolution);
    for (size_t v = 0; v < CONVOLVER_SLOTS; v++)
        if (convolution->joined[v].mask)
            run_slot(convolution, v, &slots[v]);
}
