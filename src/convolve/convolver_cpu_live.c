#include "convolve/convolver_cpu_live.h"

#include "base/realtime.h"
#include "base/thread.h"
#include "signal/audio.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Masks of the CPU's live convolver: prepared and freed on the control thread, beside the step. */

static atomic_uint_fast64_t masks_prepared;

/* Length of the longest transform, in points. */
static size_t cpu_live_longest_transform(const struct partition_plan *plan)
{
    size_t longest = 2;
    for (size_t s = 0; s < plan->segment_count; s++)
        if (plan->segments[s].fft > longest)
            longest = plan->segments[s].fft;
    return longest;
}

static void mask_free(struct cpu_live_mask *prepared)
{
    if (!prepared)
        return;
    path_table_free(&prepared->paths);
    free(prepared->head);
    for (size_t s = 0; s < PARTITION_SEGMENTS_MOST; s++) {
        free(prepared->spectra[s]);
        for (size_t i = 0; i <= LANE_ARMING; i++)
            fft_double_destroy(prepared->precise[i][s]);
    }
    free(prepared);
}

/* Removes the mask from all jobs, since a job may still use it. */
static void leave_out(struct segment *segment, const struct cpu_live_mask *prepared)
{
    for (size_t i = 0; i < segment->lane_count; i++)
        job_lock(&segment->lanes[i]);
    for (size_t v = 0; v < CONVOLVER_SLOTS; v++)
        if (atomic_load(&segment->wanted[v]) == prepared)
            atomic_store(&segment->wanted[v], NULL);
    for (size_t i = 0; i < segment->lane_count; i++)
        job_release(&segment->lanes[i]);
}

static void cpu_live_release(const struct convolution *base, struct prepared *prepared)
{
    struct cpu_live_convolution *convolution = (struct cpu_live_convolution *)base;
    for (size_t s = 0; s < convolution->plan.segment_count; s++)
        leave_out(&convolution->segments[s], (struct cpu_live_mask *)prepared);
    mask_free((struct cpu_live_mask *)prepared);
}

static void transform_segment(const struct cpu_live_convolution *convolution, size_t s,
                              const struct mask *mask, real *samples,
                              struct cpu_live_mask *prepared)
{
    const struct segment *segment = &convolution->segments[s];
    size_t size = segment->cut.size, partitions = prepared->partitions[s];
    for (size_t i = 0; i < mask->columns * partitions; i++)
        transform_taps(segment->fft, prepared->precise[0][s], mask, i / partitions,
                       segment->cut.offset + i % partitions * size, size, samples,
                       prepared->spectra[s] + i * segment->floats);
}

static enum status prepare_segment(const struct cpu_live_convolution *convolution, size_t s,
                                   const struct mask *mask, real *samples,
                                   struct cpu_live_mask *prepared)
{
    const struct segment *segment = &convolution->segments[s];
    size_t size = segment->cut.size, offset = segment->cut.offset;
    size_t left = mask->taps > offset ? mask->taps - offset : 0;
    size_t partitions = (left + size - 1) / size;
    if (partitions > segment->cut.partitions)
        partitions = segment->cut.partitions;
    prepared->partitions[s] = partitions;
    prepared->spectra[s] = audio_alloc(mask->columns * partitions * segment->floats);
    if (!prepared->spectra[s])
        return fail_memory("a mask");
    transform_segment(convolution, s, mask, samples, prepared);
    return STATUS_OK;
}

/* Prepares transforms in double precision, if the mask's outputs may come near the bound. */
static enum status prepare_precise(const struct cpu_live_convolution *convolution,
                                   const struct mask *mask, real *samples,
                                   struct cpu_live_mask *prepared)
{
    struct near_bound_spectra sets[PARTITION_SEGMENTS_MOST];
    size_t count = convolution->plan.segment_count;
    for (size_t s = 0; s < count; s++)
        sets[s] = (struct near_bound_spectra){prepared->spectra[s], prepared->partitions[s],
                                              convolution->segments[s].cut.fft};
    if (convolution->shape.alike)
        return STATUS_OK;
    TRY(near_bound_measure(&prepared->bound, mask, sets, count, NULL));
    if (!near_bound_is_possible(&prepared->bound))
        return STATUS_OK;
    for (size_t s = 0; s < convolution->plan.segment_count; s++) {
        const struct segment *segment = &convolution->segments[s];
        for (size_t i = 0; i <= segment->lane_count; i++) {
            size_t lane = i < segment->lane_count ? i : LANE_ARMING;
            TRY(fft_double_create_odd(segment->cut.fft, &prepared->precise[lane][s]));
        }
        transform_segment(convolution, s, mask, samples, prepared);
    }
    return STATUS_OK;
}

static enum status cpu_live_prepare(const struct convolution *base, const struct mask *mask,
                                    struct prepared **result)
{
    const struct cpu_live_convolution *convolution = (const struct cpu_live_convolution *)base;
    const struct partition_plan *plan = &convolution->plan;
    struct cpu_live_mask *prepared = calloc(1, sizeof *prepared);
    real *samples = audio_alloc(cpu_live_longest_transform(plan));
    enum status status = prepared && samples ? STATUS_OK : fail_memory("a mask");
    if (status != STATUS_OK)
        goto fail;
    prepared->number = 1 + atomic_fetch_add(&masks_prepared, 1);
    prepared->head = copy_head(mask, plan->head);
    if ((status = path_table_init(&prepared->paths, mask)) ||
        (status = prepared->head ? STATUS_OK : fail_memory("a mask")))
        goto fail;
    for (size_t s = 0; s < plan->segment_count; s++)
        if ((status = prepare_segment(convolution, s, mask, samples, prepared)))
            goto fail;
    if ((status = prepare_precise(convolution, mask, samples, prepared)))
        goto fail;
    free(samples);
    *result = (struct prepared *)prepared;
    return STATUS_OK;
fail:
    free(samples);
    mask_free(prepared);
    return status;
}

/* The step of the CPU's live convolver, and arming a mask on an inactive slot. All real-time. */

static const double SHARE = 0.1;         /* part of a block's time that arming may take */
static const double PORTION = 0.004;     /* part of a block's time; by the estimate, which is low */
static const double EMPTYING_COST = 0.4; /* ns to clear one uncached value */

static HALO_REALTIME void cpu_live_leave(struct cpu_live_convolution *convolution, size_t slot)
{
    convolution->joined[slot] = (struct joined){0};
    for (size_t s = 0; s < convolution->plan.segment_count; s++)
        atomic_store(&convolution->segments[s].wanted[slot], NULL);
}

/* Locks the lane. Waits for the lock only if `at_once`. False: not locked. */
static bool lock_lane(struct lane *lane, bool at_once)
{
    if (at_once)
        job_lock(lane);
    return at_once || job_try(lane);
}

/* Takes each lock once: then no worker is in a unit for the slot's former mask. False: not yet. */
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

/* Clears the results due for the slot's former mask, ring by ring. False: not done yet. */
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

/* Adds the mask to the jobs that begin from now on. */
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

/* Whether the last full partition of every input is transformed. If not, transforms one more input,
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

/* Goes to the next segment with a partition that was full before the mask joined and whose results
 * are not all due yet. The longest partitions come first, since others become due meanwhile. False:
 * there is no such segment. */
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

/* Repeats, for the mask alone, the jobs that began before it joined. False: not done yet. */
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

static bool cpu_live_arm(struct convolution *base, size_t slot, const struct prepared *mask,
                         bool at_once)
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

/* Does a share of a step's job, in portions. Since the last block, the code and tables of a
 * transform have left the caches. In a portion they are read once for several transforms. */
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

/* Finishes the jobs of all lanes, beside the workers. */
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

/* Does this block's share of a job. If the job is the workers', it does nothing before the last
 * block, and then the rest. */
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

/* Jobs that are due at once are not run here: they are in the step's pieces. */
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

static HALO_REALTIME bool cpu_live_is_worker_late(const struct convolution *convolution)
{
    return ((const struct cpu_live_convolution *)convolution)->worker_late;
}

static HALO_REALTIME void cpu_live_step(struct convolution *base, const real *const *in,
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

/* ---- set-up of the CPU's live convolver: buffers, transforms and the spectra of masks ---- */

static const double LOAD = 0.06; /* part of the time that a worker may take, by the low estimate */
static const double STEP_LOAD = 1.0 / 48; /* part of the time for a thread's share of the pieces */
enum { USUAL_RATE = 48000 };

static void live_destroy(struct convolution *base)
{
    struct cpu_live_convolution *convolution = (struct cpu_live_convolution *)base;
    const struct convolver_shape *shape = &convolution->shape;
    atomic_store(&convolution->leave, true);
    futex_raise(&convolution->bell);
    for (size_t i = 0; i < convolution->worker_count; i++)
        pthread_join(convolution->workers[i].thread, NULL);
    history_free(&convolution->history);
    for (size_t s = 0; s < convolution->plan.segment_count; s++) {
        struct segment *segment = &convolution->segments[s];
        odd_fft_destroy(segment->fft);
        rows_free(segment->spectra, shape->inputs);
        for (size_t i = 0; segment->lanes && i < segment->lane_count; i++) {
            free(segment->lanes[i].job.sum);
            free(segment->lanes[i].job.samples);
        }
        for (size_t v = 0; v < CONVOLVER_SLOTS; v++)
            free(segment->due[v]);
        free(segment->lanes);
        free(segment->ends);
    }
    free(convolution->arming.job.sum);
    free(convolution->arming.job.samples);
    free(convolution);
}

static bool is_helped(const struct convolver_shape *shape, const struct partition_plan *plan,
                      const struct partition_segment *cut)
{
    return plan->pace == PARTITION_WORKER && partition_is_helped(cut->size, shape->block);
}

/* The number of workers that the jobs of helped segments and the step's pieces need. */
static size_t workers_for(const struct convolver_shape *shape, const struct partition_plan *plan)
{
    double period = 1e9 * (double)shape->block / (shape->rate ? shape->rate : USUAL_RATE), cost = 0;
    for (size_t s = 0; s < plan->segment_count; s++) {
        const struct partition_segment *cut = &plan->segments[s];
        double job = (double)(shape->inputs + shape->outputs) * partition_fft_cost(cut->fft) +
                     (double)(shape->paths * cut->partitions) * partition_multiply_cost(cut->fft);
        cost += is_helped(shape, plan, cut) ? job * (double)shape->block / (double)cut->size : 0;
    }
    double wanted = ceil(cost / (LOAD * period)), own = live_share_cost(shape, plan);
    if (live_share_is_worthwhile(shape, plan))
        wanted = fmax(wanted, ceil(own / (STEP_LOAD * period)));
    size_t most = workers_count(shape->workers) - 1;
    most = most < shape->outputs ? most : shape->outputs;
    most = most < LANES_MOST ? most : LANES_MOST;
    most = most > 1 ? most : 1;
    return wanted < (double)most ? (size_t)fmax(wanted, 1) : most;
}

/* The number of lanes. Several workers share the work more evenly if lanes are more. */
static size_t lanes_for(const struct convolver_shape *shape, const struct partition_plan *plan)
{
    size_t workers = workers_for(shape, plan), lanes = workers > 1 ? 2 * workers : 1;
    lanes = lanes < shape->outputs ? lanes : shape->outputs;
    return lanes < LANES_MOST ? lanes : LANES_MOST;
}

static enum status init_lanes(struct segment *segment, size_t count)
{
    segment->lanes = calloc(count, sizeof *segment->lanes);
    if (!segment->lanes)
        return fail_memory("a convolver");
    segment->lane_count = count;
    for (size_t i = 0; i < count; i++) {
        struct lane *lane = &segment->lanes[i];
        atomic_flag_clear(&lane->lock);
        atomic_store(&lane->deadline, UINT64_MAX);
        lane->job.sum = audio_alloc(segment->floats);
        lane->job.samples = audio_alloc(segment->cut.fft);
        if (!lane->job.sum || !lane->job.samples)
            return fail_memory("a convolver");
    }
    return STATUS_OK;
}

static enum status init_segment(struct cpu_live_convolution *convolution, size_t s)
{
    const struct convolver_shape *shape = &convolution->shape;
    const struct partition_segment *cut = &convolution->plan.segments[s];
    struct segment *segment = &convolution->segments[s];
    segment->cut = *cut;
    segment->floats = fft_spectrum_floats(cut->fft);
    segment->transform_cost = partition_fft_cost(cut->fft);
    segment->product_cost = partition_multiply_cost(cut->fft);
    /* A mask that is armed later needs all partitions whose results are still due. */
    segment->depth = cut->partitions + cut->offset / cut->size + 2;
    segment->spectra = rows_alloc(shape->inputs, segment->depth * segment->floats);
    segment->ends = calloc(shape->inputs, sizeof *segment->ends);
    if (!segment->spectra || !segment->ends)
        return fail_memory("a convolver");
    segment->helped = is_helped(shape, &convolution->plan, cut);
    size_t lanes = cut->size == shape->block ? convolution->share.pieces : 1;
    TRY(init_lanes(segment, segment->helped ? convolution->lanes : lanes));
    segment->due_length = cut->offset + shape->block;
    for (size_t v = 0; v < CONVOLVER_SLOTS; v++)
        if (!(segment->due[v] = audio_alloc(shape->outputs * segment->due_length)))
            return fail_memory("a convolver");
    return odd_fft_create(cut->fft, &segment->fft);
}

static size_t history_needed(const struct partition_plan *plan)
{
    size_t frames = plan->head > 0 ? plan->head - 1 : 0;
    for (size_t s = 0; s < plan->segment_count; s++)
        if (3 * plan->segments[s].size > frames)
            frames = 3 * plan->segments[s].size;
    return frames;
}

static int64_t jobs_period(const struct cpu_live_convolution *convolution)
{
    size_t shortest = SIZE_MAX;
    for (size_t s = 0; s < convolution->plan.segment_count; s++) {
        const struct segment *segment = &convolution->segments[s];
        if (segment->helped && segment->cut.size < shortest)
            shortest = segment->cut.size;
    }
    return shortest == SIZE_MAX
               ? 0
               : (int64_t)(1e9 * (double)shortest / live_rate(&convolution->shape));
}

static bool needs_workers(const struct cpu_live_convolution *convolution)
{
    bool needs = convolution->share.pieces > 1;
    for (size_t s = 0; s < convolution->plan.segment_count; s++)
        needs = needs || convolution->segments[s].helped;
    return needs;
}

static enum status start_workers(struct cpu_live_convolution *convolution)
{
    convolution->worker_period = jobs_period(convolution);
    size_t count = workers_for(&convolution->shape, &convolution->plan);
    for (size_t i = 0; i < count; i++) {
        struct live_worker *worker = &convolution->workers[i];
        *worker =
            (struct live_worker){.convolution = convolution,
                                 .first_lane = i * convolution->lanes / count,
                                 .first_piece = (i + 1) * convolution->share.pieces / (count + 1)};
        int error = thread_start(&worker->thread, "halo long masks", THREAD_BELOW_CALLER, live_work,
                                 worker);
        if (error)
            return fail(CAUSE_NO_MEMORY, "cannot start a thread: %s; try --threads 1",
                        thread_error(error));
        convolution->worker_count++;
    }
    return STATUS_OK;
}

static enum status init_arming(struct cpu_live_convolution *convolution)
{
    size_t longest = cpu_live_longest_transform(&convolution->plan);
    struct segment_job *job = &convolution->arming.job;
    job->sum = audio_alloc(fft_spectrum_floats(longest));
    job->samples = audio_alloc(longest);
    return job->sum && job->samples ? STATUS_OK : fail_memory("a convolver");
}

static enum status live_create(const struct convolver_shape *shape, struct convolution **result)
{
    struct cpu_live_convolution *convolution = calloc(1, sizeof *convolution);
    if (!convolution)
        return fail_memory("a convolver");
    convolution->shape = *shape;
    convolution->plan = cpu_plan(shape);
    const struct partition_plan *plan = &convolution->plan;
    convolution->lanes = lanes_for(shape, plan);
    live_share_init(convolution);
    size_t kept = history_needed(plan);
    double floats = 2.0 * (double)kept + (double)shape->taps;
    for (size_t s = 0; s < plan->segment_count; s++)
        floats += 1.5 * (double)(plan->segments[s].fft * (plan->segments[s].partitions + 4));
    enum status status;
    if ((status = check_memory(shape, floats)) ||
        (status = history_init(&convolution->history, shape->inputs, kept, shape->block)))
        goto fail;
    for (size_t s = 0; s < plan->segment_count; s++)
        if ((status = init_segment(convolution, s)))
            goto fail;
    if ((status = init_arming(convolution)) ||
        (needs_workers(convolution) && (status = start_workers(convolution))))
        goto fail;
    *result = (struct convolution *)convolution;
    return STATUS_OK;
fail:
    live_destroy((struct convolution *)convolution);
    return status;
}

static void live_reset(struct convolution *base)
{
    struct cpu_live_convolution *convolution = (struct cpu_live_convolution *)base;
    const struct convolver_shape *shape = &convolution->shape;
    convolution->end = 0;
    convolution->peak = 0;
    convolution->arming.number = 0;
    for (size_t v = 0; v < CONVOLVER_SLOTS; v++)
        cpu_live_leave(convolution, v);
    for (size_t s = 0; s < convolution->plan.segment_count; s++) {
        struct segment *segment = &convolution->segments[s];
        for (size_t i = 0; i < segment->lane_count; i++) {
            job_lock(&segment->lanes[i]);
            segment->lanes[i].job.full = 0;
            atomic_store(&segment->lanes[i].deadline, UINT64_MAX);
            job_release(&segment->lanes[i]);
        }
        segment->full = 0;
    }
    history_reset(&convolution->history);
    for (size_t s = 0; s < convolution->plan.segment_count; s++) {
        struct segment *segment = &convolution->segments[s];
        segment->newest = 0;
        atomic_store(&segment->near_until, 0);
        for (size_t c = 0; c < shape->inputs; c++)
            memset(segment->spectra[c], 0, segment->depth * segment->floats * sizeof(real));
        for (size_t v = 0; v < CONVOLVER_SLOTS; v++)
            memset(segment->due[v], 0, shape->outputs * segment->due_length * sizeof(real));
    }
}

static void live_describe(const struct convolution *base, char *text, size_t size)
{
    const struct cpu_live_convolution *convolution = (const struct cpu_live_convolution *)base;
    const struct partition_plan *plan = &convolution->plan;
    size_t used = (size_t)snprintf(text, size, "partitioned");
    if (plan->head > 0 && used < size)
        used += (size_t)snprintf(text + used, size - used, ": direct %zu", plan->head);
    for (size_t s = 0; s < plan->segment_count && used < size; s++)
        used += (size_t)snprintf(text + used, size - used, "%s %zu x %zu",
                                 s > 0 || plan->head > 0 ? "," : ":", plan->segments[s].partitions,
                                 plan->segments[s].size);
    const char *in_step = convolution->share.pieces > 1 ? " in each block" : "";
    if (convolution->worker_count == 1 && used < size)
        snprintf(text + used, size - used, ", with a worker%s", in_step);
    else if (convolution->worker_count > 1 && used < size)
        snprintf(text + used, size - used, ", with %zu workers%s", convolution->worker_count,
                 in_step);
}

const struct convolver_backend REAL(convolver_cpu_live) = {
    .name = "cpu",
    .create = live_create,
    .destroy = live_destroy,
    .reset = live_reset,
    .describe = live_describe,
    .prepare = cpu_live_prepare,
    .release = cpu_live_release,
    .arm = cpu_live_arm,
    .is_worker_late = cpu_live_is_worker_late,
    .REAL(step) = cpu_live_step};
