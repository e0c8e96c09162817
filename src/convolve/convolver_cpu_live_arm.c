/* The CPU's live convolver: a mask made ready to sound on a slot that is silent, while the
 * stream goes on. Everything here runs in the real-time step. */
#include "convolve/convolver_cpu_live.h"

#include <math.h>
#include <string.h>

static const double SHARE = 0.1;         /* of a block's time, that a block may take */
static const double EMPTYING_COST = 0.4; /* ns a float: memory that is not in a cache */

double live_rate(const struct convolution *convolution)
{
    return convolution->shape.rate ? convolution->shape.rate : 192000;
}

void cpu_live_leave(struct convolution *convolution, size_t slot)
{
    convolution->joined[slot] = (struct joined){0};
    for (size_t s = 0; s < convolution->plan.segment_count; s++)
        atomic_store(&convolution->segments[s].wanted[slot], NULL);
}

/* A lock that the step can do without for a block. */
static bool take_token(struct segment *segment, bool at_once)
{
    if (at_once)
        job_lock(segment);
    return at_once || job_try(segment);
}

/* The worker may be within a unit for the mask that left the slot: once each lock was ours
 * it is not. False: not all yet. */
static bool wait_for_worker(struct convolution *convolution, bool at_once)
{
    struct arming *arming = &convolution->arming;
    for (; arming->free_segments < convolution->plan.segment_count; arming->free_segments++) {
        struct segment *segment = &convolution->segments[arming->free_segments];
        if (!take_token(segment, at_once))
            return false;
        job_release(segment);
    }
    return true;
}

static void begin(struct convolution *convolution, size_t slot, const struct prepared *prepared)
{
    struct arming *arming = &convolution->arming;
    cpu_live_leave(convolution, slot);
    *arming = (struct arming){
        .prepared = prepared, .number = prepared->number, .slot = slot, .job = arming->job};
}

/* What was due to the mask that the slot had before goes. False: not all yet. */
static bool empty_rings(struct convolution *convolution, double *left)
{
    struct arming *arming = &convolution->arming;
    size_t length = convolution->due_length, outputs = convolution->shape.outputs;
    size_t rings = convolution->due[WORKER_RING][0] ? RINGS : WORKER_RING;
    while (arming->emptied < rings * outputs * length && *left > 0) {
        size_t row = arming->emptied / length, from = arming->emptied % length;
        size_t count = length - from;
        if ((double)count * EMPTYING_COST > *left)
            count = (size_t)ceil(*left / EMPTYING_COST);
        float *due = convolution->due[row / outputs][arming->slot][row % outputs];
        memset(due + from, 0, count * sizeof *due);
        arming->emptied += count;
        *left -= (double)count * EMPTYING_COST;
    }
    return arming->emptied == rings * outputs * length;
}

/* From now on the mask is in the jobs that begin. */
static void join(struct convolution *convolution)
{
    struct arming *arming = &convolution->arming;
    convolution->joined[arming->slot] =
        (struct joined){.mask = arming->prepared, .number = arming->prepared->number};
    arming->joined = true;
    arming->caught_up = true;
    arming->segment = convolution->plan.segment_count;
    for (size_t s = 0; s < convolution->plan.segment_count; s++)
        arming->fulls[s] = convolution->segments[s].job.full;
}

/* Whether all inputs' spectra of the partition that was full last are there; if not, one more
 * is now, unless the worker is at it. */
static bool is_transformed(struct convolution *convolution, size_t s, double *left)
{
    struct segment *segment = &convolution->segments[s];
    if (!take_token(segment, isinf(*left))) {
        *left = 0;
        return false;
    }
    bool wanting = segment->job.input < convolution->shape.inputs;
    double done = segment->job.done;
    if (wanting)
        job_run_unit(convolution, s);
    *left -= segment->job.done - done;
    job_release(segment);
    return !wanting;
}

/* Pass to the next segment with a partition that was full before the mask joined and gives
 * what is still to come. The longest come first: they take the time in which others get past.
 * False: there is none. */
static bool pass_to_segment(struct convolution *convolution)
{
    struct arming *arming = &convolution->arming;
    for (; arming->segment > 0; arming->segment--) {
        size_t s = arming->segment - 1;
        uint64_t full = arming->fulls[s];
        if (full > 0 && full + convolution->segments[s].cut.offset > convolution->end)
            return true;
    }
    return false;
}

static void begin_job(struct convolution *convolution, size_t s)
{
    struct arming *arming = &convolution->arming;
    arming->job = (struct job){.full = arming->fulls[s],
                               .input = convolution->shape.inputs,
                               .slot = arming->slot,
                               .only = arming->prepared,
                               .ring = STEPS_RING,
                               .sum = arming->job.sum,
                               .samples = arming->job.samples};
    arming->fulls[s] -= convolution->segments[s].cut.size;
    arming->caught_up = false;
}

/* Jobs as they would have been. False: not all yet. */
static bool catch_up(struct convolution *convolution, double *left)
{
    struct arming *arming = &convolution->arming;
    while (*left > 0) {
        if (arming->caught_up) {
            if (!pass_to_segment(convolution))
                return true;
            size_t s = arming->segment - 1;
            bool newest = arming->fulls[s] == convolution->segments[s].job.full;
            if (!newest || is_transformed(convolution, s, left))
                begin_job(convolution, s);
            continue;
        }
        double done = arming->job.done;
        arming->caught_up = !job_run_armed(convolution, arming->segment - 1, &arming->job);
        *left -= arming->job.done - done;
    }
    return false;
}

bool cpu_live_arm(struct convolution *convolution, size_t slot, const struct prepared *prepared,
                  bool at_once)
{
    struct arming *arming = &convolution->arming;
    struct joined *joined = &convolution->joined[slot];
    bool under_way = arming->number == prepared->number && arming->slot == slot;
    if (!under_way && joined->number != prepared->number)
        begin(convolution, slot, prepared);
    else if (!under_way)
        return joined->awaited = true;
    double period = 1e9 * (double)convolution->shape.block / live_rate(convolution);
    double left = at_once ? INFINITY : SHARE * period;
    if (!arming->joined &&
        (!wait_for_worker(convolution, at_once) || !empty_rings(convolution, &left)))
        return false;
    if (!arming->joined)
        join(convolution);
    bool ready = catch_up(convolution, &left);
    joined->awaited = true;
    if (ready)
        arming->number = 0;
    return ready;
}
