/* The step of the CPU's live convolver, and arming a mask on an inactive slot while the stream
 * runs. Real-time throughout. */
#include "convolve/convolver_cpu_live.h"

#include "base/realtime.h"

#include <math.h>
#include <string.h>

static const double SHARE = 0.1;         /* of a block's time, for arming */
static const double PORTION = 0.004;     /* the same, by the estimate, which is low */
static const double EMPTYING_COST = 0.4; /* ns per real, uncached */

HALO_REALTIME void cpu_live_leave(struct cpu_live_convolution *convolution, size_t slot)
{
    convolution->joined[slot] = (struct joined){0};
    for (size_t s = 0; s < convolution->plan.segment_count; s++)
        atomic_store(&convolution->segments[s].wanted[slot], NULL);
}

/* Lock; without waiting unless `at_once`. */
static bool lock_lane(struct lane *lane, bool at_once)
{
    if (at_once)
        job_lock(lane);
    return at_once || job_try(lane);
}

/* Make sure that no worker is in a unit for the mask that left the slot, by holding each lock
 * once. False: not done yet. */
static bool wait_for_workers(struct cpu_live_convolution *convolution, bool at_once)
{
    struct arming *arming = &convolution->arming;
    for (; arming->free_segments < convolution->plan.segment_count; arming->free_segments++) {
        const struct segment *segment = &convolution->segments[arming->free_segments];
        for (size_t i = 0; i < segment->lane_count; i++) {
            if (!lock_lane(&segment->lanes[i], at_once))
                return false;
            job_release(&segment->lanes[i]);
        }
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

/* Clear what was due to the slot's previous mask, ring after ring. False: not done yet. */
static bool empty_rings(struct cpu_live_convolution *convolution, double *left)
{
    struct arming *arming = &convolution->arming;
    while (arming->emptied_rings < convolution->plan.segment_count) {
        if (*left <= 0)
            return false;
        const struct segment *segment = &convolution->segments[arming->emptied_rings];
        size_t samples = segment->due_length * convolution->shape.outputs;
        size_t count = samples - arming->emptied;
        if ((double)count * EMPTYING_COST > *left)
            count = (size_t)ceil(*left / EMPTYING_COST);
        memset(segment->due[arming->slot] + arming->emptied, 0, count * sizeof(real));
        *left -= (double)count * EMPTYING_COST;
        arming->emptied += count;
        if (arming->emptied < samples)
            continue;
        arming->emptied = 0;
        arming->emptied_rings++;
    }
    return true;
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
        arming->fulls[s] = convolution->segments[s].full;
}

/* Whether the last full partition of every input is transformed; if not, transform one more,
 * unless a worker holds the lock. */
static bool is_transformed(struct cpu_live_convolution *convolution, size_t s, double *left)
{
    const struct segment *segment = &convolution->segments[s];
    for (size_t i = 0; i < segment->lane_count; i++) {
        struct lane *lane = &segment->lanes[i];
        if (!lock_lane(lane, isinf(*left))) {
            *left = 0;
            return false;
        }
        bool incomplete = lane->job.input < lane->job.input_end;
        double done = lane->job.done;
        if (incomplete)
            (void)job_run_unit(convolution, s, lane);
        *left -= lane->job.done - done;
        job_release(lane);
        if (incomplete)
            return false;
    }
    return true;
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
                                       .lane = LANE_ARMING,
                                       .output_end = convolution->shape.outputs,
                                       .slot = arming->slot,
                                       .only = arming->prepared,
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
            bool newest = arming->fulls[s] == convolution->segments[s].full;
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
    double period = 1e9 * (double)convolution->shape.block / live_rate(&convolution->shape);
    double left = at_once ? INFINITY : SHARE * period;
    if (!arming->joined &&
        (!wait_for_workers(convolution, at_once) || !empty_rings(convolution, &left)))
        return false;
    if (!arming->joined)
        join(convolution);
    bool ready = catch_up(convolution, &left);
    joined->awaited = true;
    if (ready)
        arming->number = 0;
    return ready;
}

/* Do a step's job up to a share of its cost, in portions: the code and tables of a transform, which
 * have left the caches since the last block, are then read once for several. */
HALO_REALTIME static void run_part(struct cpu_live_convolution *convolution, size_t s, double share)
{
    struct lane *lane = &convolution->segments[s].lanes[0];
    if (atomic_load(&lane->deadline) == UINT64_MAX)
        return;
    double portion = PORTION * (double)convolution->share.period;
    job_lock(lane);
    job_run(convolution, s, lane, portion * ceil(lane->job.cost * share / portion));
    job_release(lane);
}

/* Do whatever is left of the jobs of all lanes, beside the workers. */
HALO_REALTIME static void finish(struct cpu_live_convolution *convolution, size_t s)
{
    const struct segment *segment = &convolution->segments[s];
    convolution->worker_late |= segment->helped;
    for (size_t turn = 1; !job_is_done(segment); turn++) {
        for (size_t i = 0; i < segment->lane_count; i++) {
            struct lane *lane = &segment->lanes[i];
            if (atomic_load(&lane->deadline) == UINT64_MAX || !job_try(lane))
                continue;
            job_run(convolution, s, lane, INFINITY);
            job_release(lane);
        }
        if (!job_is_done(segment))
            job_pause(turn);
    }
}

/* Do this block's share of a job: of a worker's, whatever is left in the last block. */
HALO_REALTIME static void run_share(struct cpu_live_convolution *convolution, size_t s)
{
    struct segment *segment = &convolution->segments[s];
    size_t block = convolution->shape.block;
    double blocks = (double)(segment->cut.size / block);
    double age = (double)(convolution->end - segment->full) / (double)block;
    bool last = age + 1 >= blocks;
    if (!segment->helped && !last)
        run_part(convolution, s, (age + 1) / blocks);
    else if (last && !job_is_done(segment))
        finish(convolution, s);
}

/* Jobs that are due at once are in the pieces of the step. */
HALO_REALTIME static void run_jobs(struct cpu_live_convolution *convolution)
{
    for (size_t s = 0; s < convolution->plan.segment_count; s++) {
        struct segment *segment = &convolution->segments[s];
        if (segment->cut.size == convolution->shape.block)
            continue;
        if (convolution->end % segment->cut.size == 0)
            job_begin(convolution, s);
        run_share(convolution, s);
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
    convolution->end += convolution->shape.block;
    history_turn(&convolution->history);
    atomic_store(&convolution->peak, peak_with(convolution->peak, &convolution->shape, in));
    for (size_t s = 0; s < convolution->plan.segment_count; s++)
        if (convolution->segments[s].cut.size == convolution->shape.block)
            job_begin(convolution, s);
    live_share_begin(convolution, in, slots);
    live_share_run(convolution);
    run_jobs(convolution);
    live_share_run(convolution);
}
