/* The step of the CPU's live convolver, and arming a mask on an inactive slot while the stream
 * runs. Real-time throughout. */
#include "convolve/convolver_cpu_live.h"

#include "base/realtime.h"

#include <math.h>
#include <string.h>

static const double SHARE = 0.1;         /* of a block's time, for arming */
static const double EMPTYING_COST = 0.4; /* ns per real, uncached */

HALO_REALTIME void cpu_live_leave(struct cpu_live_convolution *convolution, size_t slot)
{
    convolution->joined[slot] = (struct joined){0};
    for (size_t s = 0; s < convolution->plan.segment_count; s++)
        atomic_store(&convolution->segments[s].wanted[slot], NULL);
}

/* Lock; without waiting unless `at_once`. */
static bool lock_segment(struct segment *segment, bool at_once)
{
    if (at_once)
        job_lock(segment);
    return at_once || job_try(segment);
}

/* Make sure that the worker is in no unit for the mask that left the slot, by holding each lock
 * once. False: not done yet. */
static bool wait_for_worker(struct cpu_live_convolution *convolution, bool at_once)
{
    struct arming *arming = &convolution->arming;
    for (; arming->free_segments < convolution->plan.segment_count; arming->free_segments++) {
        struct segment *segment = &convolution->segments[arming->free_segments];
        if (!lock_segment(segment, at_once))
            return false;
        job_release(segment);
    }
    return true;
}

static void begin(struct cpu_live_convolution *convolution, size_t slot,
                  const struct cpu_live_mask *prepared)
{
    struct arming *arming = &convolution->arming;
    cpu_live_leave(convolution, slot);
    *arming = (struct arming){
        .prepared = prepared, .number = prepared->number, .slot = slot, .job = arming->job};
}

/* Clear what was due to the slot's previous mask. False: not done yet. */
static bool empty_rings(struct cpu_live_convolution *convolution, double *left)
{
    struct arming *arming = &convolution->arming;
    size_t length = convolution->due_length, outputs = convolution->shape.outputs;
    size_t rings = convolution->due[WORKER_RING][0] ? RINGS : WORKER_RING;
    while (arming->emptied < rings * outputs * length && *left > 0) {
        size_t row = arming->emptied / length, from = arming->emptied % length;
        size_t count = length - from;
        if ((double)count * EMPTYING_COST > *left)
            count = (size_t)ceil(*left / EMPTYING_COST);
        real *due = convolution->due[row / outputs][arming->slot][row % outputs];
        memset(due + from, 0, count * sizeof *due);
        arming->emptied += count;
        *left -= (double)count * EMPTYING_COST;
    }
    return arming->emptied == rings * outputs * length;
}

/* Add the mask to the jobs that begin from now on. */
static void join(struct cpu_live_convolution *convolution)
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

/* Whether the last full partition of every input is transformed; if not, transform one more,
 * unless the worker holds the lock. */
static bool is_transformed(struct cpu_live_convolution *convolution, size_t s, double *left)
{
    struct segment *segment = &convolution->segments[s];
    if (!lock_segment(segment, isinf(*left))) {
        *left = 0;
        return false;
    }
    bool incomplete = segment->job.input < convolution->shape.inputs;
    double done = segment->job.done;
    if (incomplete)
        job_run_unit(convolution, s);
    *left -= segment->job.done - done;
    job_release(segment);
    return !incomplete;
}

/* Go to the next segment with a partition that was full before the mask joined and is not yet due
 * in full. The longest come first: meanwhile others become due. False: there is none. */
static bool next_segment(struct cpu_live_convolution *convolution)
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

static void begin_job(struct cpu_live_convolution *convolution, size_t s)
{
    struct arming *arming = &convolution->arming;
    arming->job = (struct segment_job){.full = arming->fulls[s],
                                       .input = convolution->shape.inputs,
                                       .slot = arming->slot,
                                       .only = arming->prepared,
                                       .ring = STEPS_RING,
                                       .sum = arming->job.sum,
                                       .samples = arming->job.samples};
    arming->fulls[s] -= convolution->segments[s].cut.size;
    arming->caught_up = false;
}

/* Repeat the jobs that began before the mask joined. False: not done yet. */
static bool catch_up(struct cpu_live_convolution *convolution, double *left)
{
    struct arming *arming = &convolution->arming;
    while (*left > 0) {
        if (arming->caught_up) {
            if (!next_segment(convolution))
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

bool cpu_live_arm(struct convolution *base, size_t slot, const struct prepared *mask, bool at_once)
{
    struct cpu_live_convolution *convolution = (struct cpu_live_convolution *)base;
    const struct cpu_live_mask *prepared = (const struct cpu_live_mask *)mask;
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

/* Do this block's share of a job: of a worker's, whatever is left in the last block. */
HALO_REALTIME static void run_share(struct cpu_live_convolution *convolution, size_t s)
{
    struct segment *segment = &convolution->segments[s];
    size_t block = convolution->shape.block;
    double blocks = (double)(segment->cut.size / block);
    double age = (double)(convolution->end - segment->job.full) / (double)block;
    bool last = age + 1 >= blocks;
    if (segment->ring == WORKER_RING && !last)
        return;
    if (atomic_load(&segment->deadline) == UINT64_MAX)
        return;
    convolution->worker_late |= segment->ring == WORKER_RING;
    job_lock(segment);
    if (last) /* the worker may be writing another segment's results to its own ring */
        segment->job.ring = STEPS_RING;
    job_run(convolution, s, last ? INFINITY : segment->job.cost * (age + 1) / blocks);
    job_release(segment);
}

HALO_REALTIME static void run_jobs(struct cpu_live_convolution *convolution)
{
    for (size_t s = 0; s < convolution->plan.segment_count; s++) {
        struct segment *segment = &convolution->segments[s];
        if (convolution->end % segment->cut.size == 0) {
            job_lock(segment);
            job_begin(convolution, s);
            job_release(segment);
        }
        run_share(convolution, s);
    }
}

/* Take what is due to an output in this block from both rings and clear it there. `out` is NULL
 * for a mask that is not active yet. */
HALO_REALTIME static void take_due(struct cpu_live_convolution *convolution, size_t slot,
                                   size_t output, real *out)
{
    size_t block = convolution->shape.block, length = convolution->due_length;
    size_t position = (size_t)((convolution->end - block) % length);
    if (out)
        memset(out, 0, block * sizeof *out);
    for (size_t i = 0, run; i < block; i += run, position = 0) {
        run = block - i < length - position ? block - i : length - position;
        for (size_t r = 0; r < RINGS && convolution->due[r][slot]; r++) {
            real *due = convolution->due[r][slot][output] + position;
            for (size_t k = 0; out && k < run; k++)
                out[i + k] += due[k];
            memset(due, 0, run * sizeof *due);
        }
    }
}

HALO_REALTIME static void run_slot(struct cpu_live_convolution *convolution, size_t v,
                                   const struct convolver_slot *slot)
{
    const struct cpu_live_mask *mask = (const struct cpu_live_mask *)slot->prepared;
    for (size_t o = 0; o < convolution->shape.outputs; o++) {
        take_due(convolution, v, o, mask ? slot->REAL(out)[o] : NULL);
        if (mask)
            add_head(&convolution->shape, &convolution->history, &mask->paths, mask->head,
                     convolution->plan.head, o, slot->REAL(out)[o]);
    }
}

HALO_REALTIME bool cpu_live_is_worker_late(const struct convolution *convolution)
{
    return ((const struct cpu_live_convolution *)convolution)->worker_late;
}

HALO_REALTIME void cpu_live_step(struct convolution *base, const real *const *in,
                                 const struct convolver_slot slots[CONVOLVER_SLOTS])
{
    struct cpu_live_convolution *convolution = (struct cpu_live_convolution *)base;
    for (size_t v = 0; v < CONVOLVER_SLOTS; v++) {
        struct joined *joined = &convolution->joined[v];
        if (joined->mask && !slots[v].prepared && !joined->awaited)
            cpu_live_leave(convolution, v);
        joined->awaited = false;
    }
    convolution->worker_late = false;
    history_advance(&convolution->history, in);
    atomic_store(&convolution->peak, peak_with(convolution->peak, &convolution->shape, in));
    convolution->end += convolution->shape.block;
    run_jobs(convolution);
    for (size_t v = 0; v < CONVOLVER_SLOTS; v++)
        if (convolution->joined[v].mask)
            run_slot(convolution, v, &slots[v]);
}
