#include "base/monotonic.h"
#include "base/realtime.h"
#include "convolve/convolver_cpu_live.h"

#include <math.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

/* Jobs of the CPU's live convolver, unit by unit. The step or a worker calls these; real-time. */

enum {
    PARTITIONS_MOST = 4, /* partitions of a mask multiplied in one unit */
    SPINS = 1 << 9,      /* about 10 us */
    SLEEP_NS = 20000,
};

/* ---- units of a job ---- */

/* A mask that segment `s`'s jobs serve and that may need double precision. NULL: there is none. */
HALO_REALTIME static const struct cpu_live_mask *mask_near_bound(const struct segment *segment,
                                                                 size_t s)
{
    for (size_t v = 0; v < CONVOLVER_SLOTS; v++) {
        const struct cpu_live_mask *prepared = atomic_load(&segment->wanted[v]);
        if (prepared && prepared->precise[0][s])
            return prepared;
    }
    return NULL;
}

/* Transforms one input's partition together with the one before it, then zeros. Results use only
 * the second half, which the zeros do not change. */
HALO_REALTIME static void transform_input(const struct cpu_live_convolution *convolution,
                                          struct segment *segment, size_t s,
                                          const struct segment_job *job)
{
    size_t n = 2 * segment->cut.size, input = job->input;
    const struct cpu_live_mask *near = mask_near_bound(segment, s);
    const real *from = segment->ends[input] - n;
    real *to = segment->spectra[input] + segment->newest * segment->floats;
    if (near && near_bound_is_near(&near->bound, from, n, n, atomic_load(&convolution->peak))) {
        atomic_store(&segment->near_until,
                     segment->full + (segment->depth + 1) * segment->cut.size);
        near_bound_forward(near->precise[job->lane][s], from, n, to);
    } else {
        odd_fft_forward(segment->fft, from, n, job->samples, to);
    }
}

/* The frame at which the results of a partition begin that is full at frame `full`. */
HALO_REALTIME static uint64_t due_at(const struct segment *segment, uint64_t full)
{
    return full - segment->cut.size + segment->cut.offset;
}

/* Transforms an output's sum back into the ring, without results too late for an armed mask. */
HALO_REALTIME static void add_results(const struct cpu_live_convolution *convolution,
                                      const struct segment *segment, const struct segment_job *job)
{
    size_t block = convolution->shape.block, size = segment->cut.size;
    real *results = job->samples;
    if (job->precise)
        near_bound_inverse(job->precise, size, size, results);
    else
        odd_fft_inverse(segment->fft, job->sum, results, size, size, results);
    uint64_t at = due_at(segment, job->full), now = job->only ? convolution->end : 0;
    for (size_t i = now > at ? (size_t)(now - at) : 0; i < size; i += block) {
        real *due = due_block(convolution, segment, job->slot, job->output, at + i);
        memcpy(due, results + i, block * sizeof *due);
    }
}

/* Multiplies some partitions of a path and adds the products to the sum. */
HALO_REALTIME static void add_partitions(const struct segment *segment,
                                         const struct segment_job *job,
                                         const struct cpu_live_mask *prepared, size_t s,
                                         const struct mask_path *path, size_t count)
{
    const real *inputs[PARTITIONS_MOST], *masks[PARTITIONS_MOST];
    const real *mask =
        prepared->spectra[s] + path->column * prepared->partitions[s] * segment->floats;
    size_t age = (size_t)(segment->full - job->full) / segment->cut.size;
    for (size_t i = 0; i < count; i++) {
        size_t position =
            (segment->newest + segment->depth - age - job->partition - i) % segment->depth;
        inputs[i] = segment->spectra[path->input] + position * segment->floats;
        masks[i] = mask + (job->partition + i) * segment->floats;
    }
    for (size_t i = 0; job->precise && i < count; i++)
        near_bound_multiply_add(job->precise, inputs[i], masks[i]);
    if (!job->precise)
        odd_fft_multiply_add(job->sum, inputs, masks, count, segment->cut.fft);
}

HALO_REALTIME static double job_cost(const struct segment *segment, size_t s,
                                     const struct segment_job *job)
{
    double transform = segment->transform_cost, product = segment->product_cost;
    double cost = (double)(job->input_end - job->input) * transform;
    for (size_t v = 0; v < CONVOLVER_SLOTS; v++) {
        const struct cpu_live_mask *prepared = atomic_load(&segment->wanted[v]);
        if (!prepared || prepared->partitions[s] == 0)
            continue;
        const size_t *first = prepared->paths.first;
        size_t paths = first[job->output_end] - first[job->first_output];
        cost += (double)(job->output_end - job->first_output) * transform;
        cost += (double)(paths * prepared->partitions[s]) * product;
    }
    return cost;
}

HALO_REALTIME static void begin_lane(const struct cpu_live_convolution *convolution, size_t s,
                                     size_t number)
{
    const struct segment *segment = &convolution->segments[s];
    size_t inputs = convolution->shape.inputs, outputs = convolution->shape.outputs;
    size_t lanes = segment->lane_count, next = number + 1;
    struct lane *lane = &segment->lanes[number];
    struct segment_job *job = &lane->job;
    *job = (struct segment_job){.full = segment->full,
                                .lane = number,
                                .input = inputs * number / lanes,
                                .input_end = inputs * next / lanes,
                                .first_output = outputs * number / lanes,
                                .output = outputs * number / lanes,
                                .output_end = outputs * next / lanes,
                                .sum = job->sum,
                                .samples = job->samples};
    job->cost = job_cost(segment, s, job);
    atomic_store(&lane->deadline, segment->full + segment->cut.size);
}

HALO_REALTIME void job_begin(struct cpu_live_convolution *convolution, size_t s)
{
    struct segment *segment = &convolution->segments[s];
    for (size_t i = 0; i < segment->lane_count; i++)
        job_lock(&segment->lanes[i]);
    segment->newest = (segment->newest + 1) % segment->depth;
    segment->full = convolution->end;
    for (size_t c = 0; c < convolution->shape.inputs; c++)
        segment->ends[c] = history_now(&convolution->history, c) + convolution->shape.block;
    for (size_t v = 0; v < CONVOLVER_SLOTS; v++)
        atomic_store(&segment->wanted[v], convolution->joined[v].mask);
    atomic_store(&segment->untransformed, convolution->shape.inputs);
    for (size_t i = 0; i < segment->lane_count; i++) {
        begin_lane(convolution, s, i);
        job_release(&segment->lanes[i]);
    }
}

/* The next step of a job. */
struct job_unit {
    enum { UNIT_NONE, UNIT_WAIT, UNIT_TRANSFORM, UNIT_PRODUCTS, UNIT_RESULT } kind;
    double cost;                          /* estimated ns */
    const struct cpu_live_mask *prepared; /* mask of the slot; NULL for a transform */
    const struct mask_path *path;         /* only in UNIT_PRODUCTS */
    size_t partitions;                    /* UNIT_PRODUCTS: partitions multiplied together */
};

HALO_REALTIME static void begin_output(struct segment_job *job, size_t slot, size_t output)
{
    job->slot = slot;
    job->output = output;
    job->path = job->partition = 0;
    job->summing = false;
}

/* Skips inactive slots and returns the mask of the job's current slot. NULL: no slot is left. */
HALO_REALTIME static const struct cpu_live_mask *skip_to_slot(struct segment *segment,
                                                              struct segment_job *job, size_t s)
{
    size_t last = job->only ? job->slot + (job->slot < CONVOLVER_SLOTS) : CONVOLVER_SLOTS;
    for (; job->slot < last; begin_output(job, job->slot + 1, job->first_output)) {
        const struct cpu_live_mask *prepared =
            job->only ? job->only : atomic_load(&segment->wanted[job->slot]);
        if (prepared && prepared->partitions[s] > 0)
            return prepared;
    }
    return NULL;
}

HALO_REALTIME static struct job_unit next_unit(struct segment *segment, struct segment_job *job,
                                               size_t s)
{
    struct job_unit unit = {.cost = segment->transform_cost};
    if (job->full == 0)
        return unit;
    if (job->input < job->input_end) {
        unit.kind = UNIT_TRANSFORM;
        return unit;
    }
    if (!job->only && atomic_load(&segment->untransformed) > 0) {
        unit.kind = UNIT_WAIT;
        return unit;
    }
    unit.prepared = skip_to_slot(segment, job, s);
    if (!unit.prepared)
        return unit;
    const struct path_table *table = &unit.prepared->paths;
    size_t path = table->first[job->output] + job->path;
    unit.kind = UNIT_RESULT;
    if (path == table->first[job->output + 1])
        return unit;
    unit.kind = UNIT_PRODUCTS;
    unit.path = &table->paths[path];
    size_t left = unit.prepared->partitions[s] - job->partition;
    unit.partitions = left < PARTITIONS_MOST ? left : PARTITIONS_MOST;
    unit.cost = (double)unit.partitions * segment->product_cost;
    return unit;
}

/* Clears an output's sum. precise: the mask's transform in double precision, or NULL. */
HALO_REALTIME static void begin_sum(const struct segment *segment, struct segment_job *job,
                                    const struct fft_double *precise)
{
    job->summing = true;
    job->precise = atomic_load(&segment->near_until) > job->full ? precise : NULL;
    if (job->precise)
        near_bound_clear(job->precise);
    else
        memset(job->sum, 0, segment->floats * sizeof(real));
}

HALO_REALTIME static void run_products(const struct segment *segment, struct segment_job *job,
                                       size_t s, const struct job_unit *unit)
{
    if (!job->summing)
        begin_sum(segment, job, unit->prepared->precise[job->lane][s]);
    add_partitions(segment, job, unit->prepared, s, unit->path, unit->partitions);
    job->partition += unit->partitions;
    if (job->partition == unit->prepared->partitions[s]) {
        job->partition = 0;
        job->path++;
    }
}

HALO_REALTIME static void run_result(const struct cpu_live_convolution *convolution,
                                     const struct segment *segment, struct segment_job *job)
{
    if (job->summing) /* otherwise the output has no path */
        add_results(convolution, segment, job);
    if (job->output + 1 < job->output_end)
        begin_output(job, job->slot, job->output + 1);
    else
        begin_output(job, job->only ? CONVOLVER_SLOTS : job->slot + 1, job->first_output);
}

HALO_REALTIME static void run_unit(const struct cpu_live_convolution *convolution, size_t s,
                                   struct segment *segment, struct segment_job *job,
                                   const struct job_unit *unit)
{
    if (unit->kind == UNIT_TRANSFORM) {
        transform_input(convolution, segment, s, job);
        job->input++;
        atomic_fetch_sub(&segment->untransformed, 1);
    } else if (unit->kind == UNIT_PRODUCTS)
        run_products(segment, job, s, unit);
    else
        run_result(convolution, segment, job);
    job->done += unit->cost;
}

/* Does the next unit, unless the job's cost would exceed `until` ns with it. */
HALO_REALTIME static enum job_progress run_next(struct cpu_live_convolution *convolution, size_t s,
                                                struct lane *lane, double until)
{
    struct segment *segment = &convolution->segments[s];
    struct job_unit unit = next_unit(segment, &lane->job, s);
    if (unit.kind == UNIT_NONE) {
        atomic_store(&lane->deadline, UINT64_MAX);
        return JOB_DONE;
    }
    if (unit.kind == UNIT_WAIT || lane->job.done + unit.cost > until)
        return JOB_WAITS;
    run_unit(convolution, s, segment, &lane->job, &unit);
    return JOB_RAN;
}

HALO_REALTIME void job_run(struct cpu_live_convolution *convolution, size_t s, struct lane *lane,
                           double until)
{
    while (run_next(convolution, s, lane, until) == JOB_RAN)
        continue;
}

static HALO_REALTIME void job_run_inputs(struct cpu_live_convolution *convolution, size_t s,
                                         struct lane *lane)
{
    while (lane->job.input < lane->job.input_end)
        (void)run_next(convolution, s, lane, INFINITY);
}

enum job_progress job_run_unit(struct cpu_live_convolution *convolution, size_t s,
                               struct lane *lane)
{
    return run_next(convolution, s, lane, INFINITY);
}

bool job_run_armed(struct cpu_live_convolution *convolution, size_t s, struct segment_job *job)
{
    struct segment *segment = &convolution->segments[s];
    struct job_unit unit = next_unit(segment, job, s);
    if (unit.kind == UNIT_NONE ||
        due_at(segment, job->full) + segment->cut.size <= convolution->end)
        return false;
    run_unit(convolution, s, segment, job, &unit);
    return true;
}

HALO_REALTIME bool job_is_done(const struct segment *segment)
{
    for (size_t i = 0; i < segment->lane_count; i++)
        if (atomic_load(&segment->lanes[i].deadline) != UINT64_MAX)
            return false;
    return true;
}

/* The holder of a lock finishes after one unit or piece, unless it was preempted. This thread may
 * have preempted it, so it must sleep. */
void job_pause(size_t turn)
{
    const struct timespec pause = {.tv_nsec = SLEEP_NS};
    if (turn % SPINS)
        realtime_pause();
    else
        clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
}

HALO_REALTIME void job_lock(struct lane *lane)
{
    for (size_t turn = 1; !job_try(lane); turn++)
        job_pause(turn);
}

HALO_REALTIME bool job_try(struct lane *lane)
{
    return !atomic_flag_test_and_set_explicit(&lane->lock, memory_order_acquire);
}

HALO_REALTIME void job_release(struct lane *lane)
{
    atomic_flag_clear_explicit(&lane->lock, memory_order_release);
}

/* The step's own work in the CPU's live convolver. It is divided into pieces of channels, which
 * workers take as well. Real-time, except live_share_init. */

static const double SHARED_FROM = 1.0 / 16; /* part of a block; more is shared; estimate is low */
static const double MOVING_COST = 400;      /* ns per channel and direction, uncached */

enum {
    MARGIN = 100000,     /* ns */
    MARGIN_PART = 8,     /* divides a block: a margin is no longer */
    BETWEEN_NS = 100000, /* ns that a worker waits for the second phase */
    LOOKS = 64,          /* between two readings of the clock */
    LINE = 64 / sizeof(real),
};

/* ---- set-up ---- */

double live_share_cost(const struct convolver_shape *shape, const struct partition_plan *plan)
{
    double rows = (double)(shape->inputs + shape->outputs), cost = MOVING_COST * rows;
    cost += partition_head_cost(plan->head, shape->block) * (double)shape->paths;
    for (size_t s = 0; s < plan->segment_count; s++) {
        const struct partition_segment *cut = &plan->segments[s];
        if (cut->size == shape->block)
            cost += rows * partition_fft_cost(cut->fft) +
                    (double)(shape->paths * cut->partitions) * partition_multiply_cost(cut->fft);
    }
    return cost;
}

bool live_share_is_worthwhile(const struct convolver_shape *shape,
                              const struct partition_plan *plan)
{
    double period = 1e9 * (double)shape->block / live_rate(shape);
    return shape->live && workers_count(shape->workers) > 1 &&
           live_share_cost(shape, plan) > SHARED_FROM * period;
}

void live_share_init(struct cpu_live_convolution *convolution)
{
    const struct convolver_shape *shape = &convolution->shape;
    struct live_share *share = &convolution->share;
    size_t rows = shape->inputs > shape->outputs ? shape->inputs : shape->outputs;
    share->period = (int64_t)(1e9 * (double)shape->block / live_rate(shape));
    share->pieces = 1;
    if (live_share_is_worthwhile(shape, &convolution->plan))
        share->pieces = rows < LANES_MOST ? rows : LANES_MOST;
}

/* ns before and after a block's expected time in which workers spin, to be there at once. */
static HALO_REALTIME int64_t live_share_margin(const struct live_share *share)
{
    return share->period / MARGIN_PART < MARGIN ? share->period / MARGIN_PART : MARGIN;
}

/* ---- pieces ---- */

/* Runs a piece's jobs that are due in this block: with `inputs` the transforms, else the rest. */
HALO_REALTIME static void run_due_jobs(struct cpu_live_convolution *convolution, size_t piece,
                                       bool inputs)
{
    for (size_t s = 0; s < convolution->plan.segment_count; s++) {
        if (convolution->segments[s].cut.size != convolution->shape.block)
            continue;
        struct lane *lane = &convolution->segments[s].lanes[piece];
        job_lock(lane);
        if (inputs)
            job_run_inputs(convolution, s, lane);
        else
            job_run(convolution, s, lane, INFINITY);
        job_release(lane);
    }
}

/* Prefetches the results due to an output. Another processor wrote them some blocks ago. */
HALO_REALTIME static void fetch_due(const struct cpu_live_convolution *convolution, size_t slot,
                                    size_t output)
{
    size_t block = convolution->shape.block;
    for (size_t s = 0; s < convolution->plan.segment_count; s++) {
        const struct segment *segment = &convolution->segments[s];
        const real *due = due_block(convolution, segment, slot, output, convolution->end - block);
        for (size_t i = 0; i < block && segment->helped; i += LINE)
            __builtin_prefetch(due + i, 1);
    }
}

HALO_REALTIME static void take_inputs(struct cpu_live_convolution *convolution, size_t piece)
{
    const struct live_share *share = &convolution->share;
    size_t inputs = convolution->shape.inputs, end = inputs * (piece + 1) / share->pieces;
    size_t outputs = convolution->shape.outputs, last = outputs * (piece + 1) / share->pieces;
    for (size_t v = 0; v < CONVOLVER_SLOTS; v++)
        for (size_t o = outputs * piece / share->pieces; o < last && convolution->joined[v].mask;
             o++)
            fetch_due(convolution, v, o);
    for (size_t c = inputs * piece / share->pieces; c < end; c++)
        history_write(&convolution->history, c, share->in[c]);
    run_due_jobs(convolution, piece, true);
}

/* Moves an output's results that are due in this block into `out` and clears them in the ring.
 * `out` is NULL for a mask that is not active yet. */
HALO_REALTIME static void take_due(struct cpu_live_convolution *convolution, size_t slot,
                                   size_t output, real *out)
{
    size_t block = convolution->shape.block;
    if (out)
        memset(out, 0, block * sizeof *out);
    for (size_t s = 0; s < convolution->plan.segment_count; s++) {
        real *due = due_block(convolution, &convolution->segments[s], slot, output,
                              convolution->end - block);
        for (size_t i = 0; out && i < block; i++)
            out[i] += due[i];
        memset(due, 0, block * sizeof *due);
    }
}

HALO_REALTIME static void make_output(struct cpu_live_convolution *convolution, size_t v, size_t o)
{
    const struct convolver_slot *slot = &convolution->share.slots[v];
    const struct cpu_live_mask *mask = (const struct cpu_live_mask *)slot->prepared;
    take_due(convolution, v, o, mask ? slot->REAL(out)[o] : NULL);
    if (mask)
        add_head(&convolution->shape, &convolution->history, &mask->paths, mask->head,
                 convolution->plan.head, o, slot->REAL(out)[o]);
}

HALO_REALTIME static void make_outputs(struct cpu_live_convolution *convolution, size_t piece)
{
    const struct live_share *share = &convolution->share;
    size_t outputs = convolution->shape.outputs, end = outputs * (piece + 1) / share->pieces;
    run_due_jobs(convolution, piece, false);
    for (size_t v = 0; v < CONVOLVER_SLOTS; v++)
        for (size_t o = outputs * piece / share->pieces; o < end && convolution->joined[v].mask;
             o++)
            make_output(convolution, v, o);
}

/* ---- sharing ---- */

HALO_REALTIME static bool is_first_phase(unsigned phase)
{
    return phase % 2 == 1;
}

HALO_REALTIME static void run_piece(struct cpu_live_convolution *convolution, unsigned phase,
                                    size_t piece)
{
    (is_first_phase(phase) ? take_inputs : make_outputs)(convolution, piece);
}

/* Takes a piece. False: the phase is over, or another thread has the piece. */
HALO_REALTIME static bool take_piece(struct live_share *share, unsigned phase, size_t piece)
{
    unsigned before = phase - 1;
    return atomic_load(&share->taken[piece]) == before &&
           atomic_compare_exchange_strong(&share->taken[piece], &before, phase);
}

/* Takes pieces until none is left. Each thread begins with the same pieces in every block, whose
 * data may be in its cache. The thread that gets the first piece wakes the next worker. */
HALO_REALTIME static void take_pieces(struct cpu_live_convolution *convolution, unsigned phase,
                                      size_t first, bool waking)
{
    struct live_share *share = &convolution->share;
    for (size_t i = 0; i < share->pieces; i++) {
        size_t piece = (first + i) % share->pieces;
        if (!take_piece(share, phase, piece))
            continue;
        if (waking)
            futex_wake_one(&convolution->bell);
        waking = false;
        run_piece(convolution, phase, piece);
        atomic_fetch_sub(&share->left, 1);
    }
}

HALO_REALTIME void live_share_begin(struct cpu_live_convolution *convolution, const real *const *in,
                                    const struct convolver_slot slots[CONVOLVER_SLOTS])
{
    struct live_share *share = &convolution->share;
    share->in = in;
    share->slots = slots;
    if (share->pieces > 1)
        atomic_store(&share->expected, monotonic_ns() + share->period);
}

HALO_REALTIME void live_share_run(struct cpu_live_convolution *convolution)
{
    struct live_share *share = &convolution->share;
    unsigned phase = atomic_load(&share->phase) + 1;
    atomic_store(&share->left, share->pieces);
    atomic_store(&share->phase, phase);
    if (share->pieces > 1 && is_first_phase(phase))
        futex_raise_for_one(&convolution->bell);
    take_pieces(convolution, phase, 0, false);
    for (size_t turn = 1; atomic_load(&share->left) > 0; turn++)
        job_pause(turn);
}

/* Takes pieces of the current phase, then waits a little for the next phase. False: the worker took
 * part in this phase before. */
static HALO_REALTIME bool live_share_help(struct live_worker *worker)
{
    struct live_share *share = &worker->convolution->share;
    unsigned phase = atomic_load(&share->phase);
    if (share->pieces == 1 || phase == worker->phase)
        return false;
    worker->phase = phase;
    take_pieces(worker->convolution, phase, worker->first_piece, is_first_phase(phase));
    int64_t until = monotonic_ns() + BETWEEN_NS;
    while (is_first_phase(phase) && atomic_load(&share->phase) == phase && monotonic_ns() < until)
        for (int i = 0; i < LOOKS && atomic_load(&share->phase) == phase; i++)
            realtime_pause();
    return true;
}

/* Workers of the CPU's live convolver. In parallel with the step, they do the long jobs, and pieces
 * of the step's own work if it is shared.
 *
 * They poll for jobs, so that the step makes no system call. Waking a thread costs the caller about
 * 10 us, on a virtual machine more. Jobs of the shortest partitions can be due one block after they
 * began, so workers poll soon after jobs begin.
 *
 * For pieces, workers are awake and spin when a block is expected. If the block comes at another
 * time, the step wakes one sleeping worker, which wakes the next.
 */

enum {
    EARLIER = 64, /* fraction of a period by which each poll is earlier than the last */
    AGAIN = 16,   /* fraction of a period until the next poll if one found nothing */
    GONE = 64,    /* periods without work after which the stream counts as stopped */
};

static const double UNIT_SLACK = 3;          /* a unit may take so many times its estimate */
static const int64_t LONG_SLEEP = 100000000; /* ns; while no blocks come */

struct poll_timer poll_timer_start(int64_t period, int64_t now)
{
    return (struct poll_timer){.period = period, .look = now, .found = now};
}

int64_t poll_timer_next(struct poll_timer *clock, bool found, int64_t now)
{
    int64_t period = clock->period;
    if (found) {
        clock->found = clock->look; /* not the time of waking, with which polls would drift later */
        int64_t since = (now - clock->found) % period;
        return clock->look = now - since + period - period / EARLIER;
    }
    /* within a period there is one poll, at a varying time */
    bool gone = now - clock->found > GONE * period;
    return clock->look = now + (gone ? period : 0) + period / AGAIN;
}

struct lane_choice {
    size_t segment; /* plan.segment_count: no lane */
    size_t lane;
};

/* Whether a unit ends before the next block, since the block's pieces are more urgent. */
static bool fits(const struct cpu_live_convolution *convolution, const struct segment *segment,
                 int64_t now)
{
    const struct live_share *share = &convolution->share;
    if (share->pieces == 1)
        return true;
    int64_t expected = atomic_load(&share->expected), margin = live_share_margin(share);
    /* Lets a long unit begin in the first half of a block. Otherwise it would never begin. */
    double unit =
        fmin(UNIT_SLACK * segment->transform_cost, 0.5 * (double)(share->period - 2 * margin));
    return now > expected + margin || now + (int64_t)unit < expected - margin;
}

/* The lane whose job is due first. Among equals, the next one from `first` on. `skipped` has a bit
 * for each lane to leave out. */
static struct lane_choice most_urgent(const struct cpu_live_convolution *convolution, size_t first,
                                      const uint32_t skipped[PARTITION_SEGMENTS_MOST])
{
    struct lane_choice best = {.segment = convolution->plan.segment_count};
    uint64_t earliest = UINT64_MAX;
    for (size_t s = 0; s < convolution->plan.segment_count; s++) {
        const struct segment *segment = &convolution->segments[s];
        if (!segment->helped)
            continue;
        for (size_t i = 0; i < segment->lane_count; i++) {
            size_t lane = (first + i) % segment->lane_count;
            uint64_t deadline = atomic_load(&segment->lanes[lane].deadline);
            if (skipped[s] >> lane & 1 || deadline >= earliest)
                continue;
            earliest = deadline;
            best = (struct lane_choice){s, lane};
        }
    }
    return best;
}

/* Does one unit. JOB_WAITS also if the step or another worker holds the lane. */
static enum job_progress try_unit(struct cpu_live_convolution *convolution,
                                  struct lane_choice choice)
{
    struct lane *lane = &convolution->segments[choice.segment].lanes[choice.lane];
    if (!job_try(lane))
        return JOB_WAITS;
    bool transforming = lane->job.input < lane->job.input_end;
    enum job_progress progress = job_run_unit(convolution, choice.segment, lane);
    job_release(lane);
    if (transforming && atomic_load(&convolution->segments[choice.segment].untransformed) == 0)
        futex_raise(&convolution->bell);
    return progress;
}

/* Does one unit of the most urgent job that can go on. */
static enum job_progress run_most_urgent(struct cpu_live_convolution *convolution, size_t first)
{
    uint32_t skipped[PARTITION_SEGMENTS_MOST] = {0};
    int64_t now = monotonic_ns();
    for (size_t s = 0; s < convolution->plan.segment_count; s++)
        skipped[s] = fits(convolution, &convolution->segments[s], now) ? 0 : UINT32_MAX;
    for (bool waiting = false;;) {
        struct lane_choice choice = most_urgent(convolution, first, skipped);
        if (choice.segment == convolution->plan.segment_count)
            return waiting ? JOB_WAITS : JOB_DONE;
        enum job_progress progress = try_unit(convolution, choice);
        if (progress == JOB_RAN)
            return progress;
        if (progress == JOB_WAITS) /* otherwise the step has finished the job */
            skipped[choice.segment] |= UINT32_C(1) << choice.lane;
        waiting |= progress == JOB_WAITS;
    }
}

/* Waits until the next block is near or comes, or the bell rings. */
static void wait_for_block(struct cpu_live_convolution *convolution, uint32_t rung)
{
    const struct live_share *share = &convolution->share;
    int64_t now = monotonic_ns(), margin = live_share_margin(share);
    int64_t expected = atomic_load(&share->expected);
    if (now < expected - margin) {
        futex_wait(&convolution->bell, rung + 1, 0, expected - margin);
        return;
    }
    if (now >= expected + margin) {
        futex_wait(&convolution->bell, rung + 1, 0, now + LONG_SLEEP);
        return;
    }
    for (int i = 0; i < LOOKS && !futex_reached(&convolution->bell, rung + 1); i++)
        realtime_pause();
}

/* Waits after a turn without work, or if all jobs waited for other lanes, which ring the bell. */
static void wait_for_jobs(struct cpu_live_convolution *convolution, uint32_t rung,
                          enum job_progress progress, bool found, struct poll_timer *clock)
{
    int64_t now = monotonic_ns(), look = now + clock->period / AGAIN;
    if (progress == JOB_DONE)
        look = poll_timer_next(clock, found, now);
    futex_wait(&convolution->bell, rung + 1, 0, look);
}

void *live_work(void *argument)
{
    struct live_worker *worker = argument;
    struct cpu_live_convolution *convolution = worker->convolution;
    realtime_flush_denormals();
    /* the default is 50 us, unless the thread has a real-time priority */
    (void)prctl(PR_SET_TIMERSLACK, 1UL);
    struct poll_timer clock = poll_timer_start(convolution->worker_period, monotonic_ns());
    for (bool found = false; !atomic_load(&convolution->leave);) {
        uint32_t rung = atomic_load(&convolution->bell.value);
        if (live_share_help(worker))
            continue;
        enum job_progress progress = run_most_urgent(convolution, worker->first_lane);
        found = found || progress != JOB_DONE;
        if (progress == JOB_RAN)
            continue;
        if (convolution->share.pieces > 1)
            wait_for_block(convolution, rung);
        else
            wait_for_jobs(convolution, rung, progress, found, &clock);
        found = found && progress == JOB_WAITS;
    }
    return NULL;
}
