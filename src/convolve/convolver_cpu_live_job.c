/* The jobs of the CPU's live convolver, unit by unit, and the worker that does the long ones in
 * parallel with the step. Real-time: called by the step or by the worker.
 *
 * The worker polls for jobs, so that the step makes no system call: waking a thread costs the
 * caller some 10 us, more on a virtual machine. Jobs of the worker's shortest partitions can be
 * due one block after they began, so its polls follow their beginnings.
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

/* Transform one input's partition and the one before it. */
HALO_REALTIME static void transform_input(const struct cpu_live_convolution *convolution,
                                          struct segment *segment, size_t s, size_t input)
{
    size_t n = 2 * segment->cut.size;
    const struct cpu_live_mask *near = mask_near_bound(segment, s);
    const real *from = segment->job.ends[input] - n;
    real *to = segment->spectra[input] + segment->newest * segment->floats;
    if (!fft_is_aligned(from))
        from = memcpy(segment->job.samples, from, n * sizeof *from);
    if (near && near_bound_is_near(&near->bound, from, n, atomic_load(&convolution->peak))) {
        segment->near_until = segment->job.full + (segment->depth + 1) * segment->cut.size;
        near_bound_forward(near->precise[0][s], from, to);
    } else {
        fft_forward(segment->fft, from, to);
    }
}

/* Add `frames` results, the first due at frame `at`, to an output's ring. Results due before `now`
 * are dropped. */
HALO_REALTIME static void add_due(const struct cpu_live_convolution *convolution, real *due,
                                  uint64_t at, uint64_t now, const real *results, size_t frames)
{
    size_t skip = now > at ? (size_t)(now - at) : 0;
    size_t length = convolution->due_length;
    size_t position = (size_t)((at + skip) % length);
    for (size_t i = skip; i < frames;) {
        size_t run = frames - i < length - position ? frames - i : length - position;
        for (size_t k = 0; k < run; k++)
            due[position + k] += results[i + k];
        i += run;
        position = 0;
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
    if (job->precise)
        near_bound_inverse(job->precise, job->samples);
    else
        fft_inverse(segment->fft, job->sum, job->samples);
    add_due(convolution, convolution->due[job->ring][job->slot][job->output],
            due_at(segment, job->full), job->only ? convolution->end : 0,
            job->samples + segment->cut.size, segment->cut.size);
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
    size_t age = (size_t)(segment->job.full - job->full) / segment->cut.size;
    for (size_t i = 0; i < count; i++) {
        size_t position =
            (segment->newest + segment->depth - age - job->partition - i) % segment->depth;
        inputs[i] = segment->spectra[path->input] + position * segment->floats;
        masks[i] = mask + (job->partition + i) * segment->floats;
    }
    for (size_t i = 0; job->precise && i < count; i++)
        near_bound_multiply_add(job->precise, inputs[i], masks[i]);
    if (!job->precise)
        fft_multiply_add_all(job->sum, inputs, masks, count, segment->floats);
}

HALO_REALTIME static double job_cost(const struct cpu_live_convolution *convolution, size_t s)
{
    const struct segment *segment = &convolution->segments[s];
    const struct partition_segment *cut = &segment->cut;
    double transform = partition_fft_cost(2 * cut->size);
    double product = partition_multiply_cost(2 * cut->size);
    double cost = (double)convolution->shape.inputs * transform;
    for (size_t v = 0; v < CONVOLVER_SLOTS; v++) {
        const struct cpu_live_mask *prepared = atomic_load(&segment->wanted[v]);
        if (!prepared || prepared->partitions[s] == 0)
            continue;
        size_t outputs = convolution->shape.outputs, paths = prepared->paths.first[outputs];
        cost += (double)outputs * transform;
        cost += (double)(paths * prepared->partitions[s]) * product;
    }
    return cost;
}

HALO_REALTIME void job_begin(struct cpu_live_convolution *convolution, size_t s)
{
    struct segment *segment = &convolution->segments[s];
    struct segment_job *job = &segment->job;
    segment->newest = (segment->newest + 1) % segment->depth;
    *job = (struct segment_job){.full = convolution->end,
                                .ends = job->ends,
                                .ring = segment->ring,
                                .sum = job->sum,
                                .samples = job->samples};
    for (size_t c = 0; c < convolution->shape.inputs; c++)
        job->ends[c] = history_now(&convolution->history, c) + convolution->shape.block;
    for (size_t v = 0; v < CONVOLVER_SLOTS; v++)
        atomic_store(&segment->wanted[v], convolution->joined[v].mask);
    job->cost = job_cost(convolution, s);
    atomic_store(&segment->deadline, convolution->end + segment->cut.size);
}

/* The next step of a job. */
struct job_unit {
    enum { UNIT_NONE, UNIT_TRANSFORM, UNIT_PRODUCTS, UNIT_RESULT } kind;
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
    for (; job->slot < last; begin_output(job, job->slot + 1, 0)) {
        const struct cpu_live_mask *prepared =
            job->only ? job->only : atomic_load(&segment->wanted[job->slot]);
        if (prepared && prepared->partitions[s] > 0)
            return prepared;
    }
    return NULL;
}

HALO_REALTIME static struct job_unit next_unit(const struct cpu_live_convolution *convolution,
                                               struct segment *segment, struct segment_job *job,
                                               size_t s)
{
    struct job_unit unit = {.cost = partition_fft_cost(2 * segment->cut.size)};
    if (job->full == 0)
        return unit;
    if (job->input < convolution->shape.inputs) {
        unit.kind = UNIT_TRANSFORM;
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
    unit.cost = (double)unit.partitions * partition_multiply_cost(2 * segment->cut.size);
    return unit;
}

/* precise: of the mask; NULL: it does not come near the bound. */
HALO_REALTIME static void begin_sum(const struct segment *segment, struct segment_job *job,
                                    const struct fft_double *precise)
{
    job->summing = true;
    job->precise = segment->near_until > job->full ? precise : NULL;
    if (job->precise)
        near_bound_clear(job->precise);
    else
        memset(job->sum, 0, segment->floats * sizeof(real));
}

HALO_REALTIME static void run_products(const struct segment *segment, struct segment_job *job,
                                       size_t s, const struct job_unit *unit)
{
    if (!job->summing)
        begin_sum(segment, job, unit->prepared->precise[job->only != NULL][s]);
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
    if (job->output + 1 < convolution->shape.outputs)
        begin_output(job, job->slot, job->output + 1);
    else
        begin_output(job, job->only ? CONVOLVER_SLOTS : job->slot + 1, 0);
}

HALO_REALTIME static void run_unit(const struct cpu_live_convolution *convolution, size_t s,
                                   struct segment *segment, struct segment_job *job,
                                   const struct job_unit *unit)
{
    if (unit->kind == UNIT_TRANSFORM)
        transform_input(convolution, segment, s, job->input++);
    else if (unit->kind == UNIT_PRODUCTS)
        run_products(segment, job, s, unit);
    else
        run_result(convolution, segment, job);
    job->done += unit->cost;
}

/* The next unit, if the job's cost does not exceed `until` ns with it. */
HALO_REALTIME static bool run_next(struct cpu_live_convolution *convolution, size_t s, double until)
{
    struct segment *segment = &convolution->segments[s];
    struct job_unit unit = next_unit(convolution, segment, &segment->job, s);
    if (unit.kind == UNIT_NONE)
        atomic_store(&segment->deadline, UINT64_MAX);
    if (unit.kind == UNIT_NONE || segment->job.done + unit.cost > until)
        return false;
    run_unit(convolution, s, segment, &segment->job, &unit);
    return true;
}

HALO_REALTIME void job_run(struct cpu_live_convolution *convolution, size_t s, double until)
{
    while (run_next(convolution, s, until))
        continue;
}

void job_run_unit(struct cpu_live_convolution *convolution, size_t s)
{
    (void)run_next(convolution, s, INFINITY);
}

bool job_run_armed(const struct cpu_live_convolution *convolution, size_t s,
                   struct segment_job *job)
{
    struct segment *segment = (struct segment *)&convolution->segments[s];
    struct job_unit unit = next_unit(convolution, segment, job, s);
    if (unit.kind == UNIT_NONE ||
        due_at(segment, job->full) + segment->cut.size <= convolution->end)
        return false;
    run_unit(convolution, s, segment, job, &unit);
    return true;
}

/* The holder releases it after a unit, unless it was preempted, perhaps by this thread: then this
 * one must sleep. */
void job_lock(struct segment *segment)
{
    const struct timespec pause = {.tv_nsec = SLEEP_NS};
    for (size_t spins = 1; atomic_flag_test_and_set_explicit(&segment->lock, memory_order_acquire);
         spins++)
        if (spins % SPINS)
            realtime_pause();
        else
            clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
}

bool job_try(struct segment *segment)
{
    return !atomic_flag_test_and_set_explicit(&segment->lock, memory_order_acquire);
}

HALO_REALTIME void job_release(struct segment *segment)
{
    atomic_flag_clear_explicit(&segment->lock, memory_order_release);
}

enum {
    EARLIER = 64, /* fraction of a period by which each poll is earlier than the last */
    AGAIN = 16,   /* fraction of a period until the next poll if one found nothing */
    GONE = 64,    /* periods without work after which the stream counts as stopped */
};

struct poll_timer poll_timer_start(int64_t period, int64_t now)
{
    return (struct poll_timer){.period = period, .look = now, .found = now};
}

int64_t poll_timer_next(struct poll_timer *clock, bool found, int64_t now)
{
    int64_t period = clock->period;
    if (found) {
        clock->found = clock->look; /* not the time it woke, or polls would drift later */
        int64_t since = (now - clock->found) % period;
        return clock->look = now - since + period - period / EARLIER;
    }
    bool gone = now - clock->found > GONE * period; /* one poll per period, at a varying phase */
    return clock->look = now + (gone ? period : 0) + period / AGAIN;
}

/* The job that is due first; segment_count: none. */
static size_t most_urgent(const struct cpu_live_convolution *convolution)
{
    size_t best = convolution->plan.segment_count;
    uint64_t earliest = UINT64_MAX;
    for (size_t s = 0; s < convolution->plan.segment_count; s++) {
        uint64_t deadline = atomic_load(&convolution->segments[s].deadline);
        if (convolution->segments[s].ring != WORKER_RING || deadline >= earliest)
            continue;
        earliest = deadline;
        best = s;
    }
    return best;
}

/* One unit of the most urgent job; false: there is none. */
static bool run_most_urgent(struct cpu_live_convolution *convolution)
{
    size_t s = most_urgent(convolution);
    if (s == convolution->plan.segment_count)
        return false;
    job_lock(&convolution->segments[s]);
    job_run_unit(convolution, s); /* nothing, if the step has finished the job meanwhile */
    job_release(&convolution->segments[s]);
    return true;
}

void *live_work(void *argument)
{
    struct cpu_live_convolution *convolution = argument;
    realtime_flush_denormals();
    struct poll_timer clock = poll_timer_start(convolution->worker_period, monotonic_ns());
    while (!atomic_load(&convolution->leave)) {
        bool found = false;
        while (!atomic_load(&convolution->leave) && run_most_urgent(convolution))
            found = true;
        monotonic_sleep_until(poll_timer_next(&clock, found, monotonic_ns()));
    }
    return NULL;
}
