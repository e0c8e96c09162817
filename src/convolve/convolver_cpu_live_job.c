/* The jobs of the CPU's live convolver, unit by unit. Real-time: called by the step or by a worker.
 */
#include "convolve/convolver_cpu_live.h"

#include "base/monotonic.h"
#include "base/realtime.h"

#include <math.h>
#include <string.h>
#include <time.h>

enum {
    PARTITIONS_MOST = 4, /* of a mask, multiplied in one unit */
    SPINS = 1 << 9,      /* some 10 us */
    SLEEP_NS = 20000,
};

/* ---- units of a job ---- */

/* Of the masks that the job of segment `s` serves, one that may need double precision, or NULL. */
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

/* Transform one input's partition and the one before it; zeros after them change nothing in the
 * second half, all that results take. */
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

/* The frame at which the results of the partition full at `full` begin. */
HALO_REALTIME static uint64_t due_at(const struct segment *segment, uint64_t full)
{
    return full - segment->cut.size + segment->cut.offset;
}

/* Transform an output's sum back and add it to the ring. Results that come too late for a mask
 * being armed are dropped. */
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

/* Multiply and add some partitions of a path. */
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
    const struct cpu_live_mask *prepared; /* the slot's; not for a transform */
    const struct mask_path *path;         /* UNIT_PRODUCTS */
    size_t partitions;                    /* UNIT_PRODUCTS: multiplied together */
};

HALO_REALTIME static void begin_output(struct segment_job *job, size_t slot, size_t output)
{
    job->slot = slot;
    job->output = output;
    job->path = job->partition = 0;
    job->summing = false;
}

/* The mask of the job's current slot, after skipping inactive slots. NULL: none is left. */
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

/* precise: of the mask; NULL: it does not come near the bound. */
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
    if (job->summing) /* else the output has no path */
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

/* The next unit, if the job's cost does not exceed `until` ns with it. */
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

HALO_REALTIME void job_run_inputs(struct cpu_live_convolution *convolution, size_t s,
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

/* Who is waited for is done after a unit or a piece, unless it was preempted, perhaps by this
 * thread: then this one must sleep. */
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
