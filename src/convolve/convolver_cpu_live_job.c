/* A partition's job in the CPU's live convolver, unit by unit, and the thread that works on the
 * long ones beside the step. Real-time: the step's, or that thread's.
 *
 * The thread looks for jobs by its own clock, so that the step has no system call to make: waking
 * a thread costs the one that wakes it some 10 us, more where the machine is virtual and the
 * other processor has to be interrupted. Jobs of the shortest of its partitions can be due a
 * block after they began: the looks fall in with their beginnings.
 */
#include "convolve/convolver_cpu_live.h"

#include "base/monotonic.h"
#include "base/realtime.h"

#include <string.h>
#include <time.h>

enum {
    PARTITIONS_MOST = 4, /* of a mask, multiplied in one unit */
    SPINS = 1 << 9,      /* some 10 us: then it is longer than a look at the lock */
    SLEEP_NS = 20000,
};

/* ---- what a job consists of ---- */

/* One input's partition and the one before it. */
static void transform_input(const struct segment *segment, size_t input)
{
    size_t n = 2 * segment->cut.size;
    const float *from = segment->job.ends[input] - n;
    if (!fft_is_aligned(from))
        from = memcpy(segment->job.samples, from, n * sizeof *from);
    fft_forward(segment->fft, from, segment->spectra[input] + segment->newest * segment->floats);
}

/* Add `frames` results, the first due at frame `at` of the stream, to an output's ring;
 * what was due before `now` is past. */
static void add_due(const struct cpu_live_convolution *convolution, float *due, uint64_t at,
                    uint64_t now, const float *results, size_t frames)
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

/* The first frame of what the partition full at `full` gives to its segment's first part. */
static uint64_t due_at(const struct segment *segment, uint64_t full)
{
    return full - segment->cut.size + segment->cut.offset;
}

/* The sum of an output becomes samples. What an armed mask comes too late for is past. */
static void lay_down(const struct cpu_live_convolution *convolution, const struct segment *segment,
                     const struct segment_job *job)
{
    fft_inverse(segment->fft, job->sum, job->samples);
    add_due(convolution, convolution->due[job->ring][job->slot][job->output],
            due_at(segment, job->full), job->only ? convolution->end : 0,
            job->samples + segment->cut.size, segment->cut.size);
}

/* The products of some parts of a path. */
static void add_partitions(const struct segment *segment, const struct segment_job *job,
                           const struct cpu_live_mask *prepared, size_t s,
                           const struct mask_path *path, size_t count)
{
    const float *inputs[PARTITIONS_MOST], *masks[PARTITIONS_MOST];
    const float *mask =
        prepared->spectra[s] + path->column * prepared->partitions[s] * segment->floats;
    size_t age = (size_t)(segment->job.full - job->full) / segment->cut.size;
    for (size_t i = 0; i < count; i++) {
        size_t position =
            (segment->newest + segment->depth - age - job->partition - i) % segment->depth;
        inputs[i] = segment->spectra[path->input] + position * segment->floats;
        masks[i] = mask + (job->partition + i) * segment->floats;
    }
    fft_multiply_add_all(job->sum, inputs, masks, count, segment->floats);
}

/* How many of a mask's parts go together from this one on. */
static size_t partitions_from(const struct cpu_live_mask *prepared, size_t s, size_t partition)
{
    size_t left = prepared->partitions[s] - partition;
    return left < PARTITIONS_MOST ? left : PARTITIONS_MOST;
}

/* ---- jobs ---- */

static double job_cost(const struct cpu_live_convolution *convolution, size_t s)
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

void job_begin(struct cpu_live_convolution *convolution, size_t s)
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

/* What a job does next. */
struct job_unit {
    enum { UNIT_NONE, UNIT_TRANSFORM, UNIT_PRODUCTS, UNIT_RESULT } kind;
    double cost;                          /* ns by the model */
    const struct cpu_live_mask *prepared; /* but for a transform: the slot's */
    const struct mask_path *path;         /* of products */
    size_t partitions;                    /* likewise: how many go together */
};

static void begin_output(struct segment_job *job, size_t slot, size_t output)
{
    job->slot = slot;
    job->output = output;
    job->path = job->partition = 0;
    job->summing = false;
}

/* The mask that the job's slot waits for; slots that wait for nothing are passed over.
 * NULL: none is left. */
static const struct cpu_live_mask *pass_to_slot(struct segment *segment, struct segment_job *job,
                                                size_t s)
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

static struct job_unit next_unit(const struct cpu_live_convolution *convolution,
                                 struct segment *segment, struct segment_job *job, size_t s)
{
    struct job_unit unit = {.cost = partition_fft_cost(2 * segment->cut.size)};
    if (job->full == 0)
        return unit;
    if (job->input < convolution->shape.inputs) {
        unit.kind = UNIT_TRANSFORM;
        return unit;
    }
    unit.prepared = pass_to_slot(segment, job, s);
    if (!unit.prepared)
        return unit;
    const struct path_table *table = &unit.prepared->paths;
    size_t path = table->first[job->output] + job->path;
    unit.kind = UNIT_RESULT;
    if (path == table->first[job->output + 1])
        return unit;
    unit.kind = UNIT_PRODUCTS;
    unit.path = &table->paths[path];
    unit.partitions = partitions_from(unit.prepared, s, job->partition);
    unit.cost = (double)unit.partitions * partition_multiply_cost(2 * segment->cut.size);
    return unit;
}

static void run_products(const struct segment *segment, struct segment_job *job, size_t s,
                         const struct job_unit *unit)
{
    if (!job->summing)
        memset(job->sum, 0, segment->floats * sizeof(float));
    job->summing = true;
    add_partitions(segment, job, unit->prepared, s, unit->path, unit->partitions);
    job->partition += unit->partitions;
    if (job->partition == unit->prepared->partitions[s]) {
        job->partition = 0;
        job->path++;
    }
}

static void run_result(const struct cpu_live_convolution *convolution,
                       const struct segment *segment, struct segment_job *job)
{
    if (job->summing) /* else the output has no path, and nothing is due */
        lay_down(convolution, segment, job);
    if (job->output + 1 < convolution->shape.outputs)
        begin_output(job, job->slot, job->output + 1);
    else
        begin_output(job, job->only ? CONVOLVER_SLOTS : job->slot + 1, 0);
}

static void run_unit(const struct cpu_live_convolution *convolution, size_t s,
                     const struct segment *segment, struct segment_job *job,
                     const struct job_unit *unit)
{
    if (unit->kind == UNIT_TRANSFORM)
        transform_input(segment, job->input++);
    else if (unit->kind == UNIT_PRODUCTS)
        run_products(segment, job, s, unit);
    else
        run_result(convolution, segment, job);
    job->done += unit->cost;
}

void job_run(struct cpu_live_convolution *convolution, size_t s, double until)
{
    struct segment *segment = &convolution->segments[s];
    for (;;) {
        struct job_unit unit = next_unit(convolution, segment, &segment->job, s);
        if (unit.kind == UNIT_NONE) {
            atomic_store(&segment->deadline, UINT64_MAX);
            return;
        }
        if (segment->job.done + unit.cost > until)
            return;
        run_unit(convolution, s, segment, &segment->job, &unit);
    }
}

void job_run_unit(struct cpu_live_convolution *convolution, size_t s)
{
    struct segment *segment = &convolution->segments[s];
    struct job_unit unit = next_unit(convolution, segment, &segment->job, s);
    if (unit.kind == UNIT_NONE)
        atomic_store(&segment->deadline, UINT64_MAX);
    else
        run_unit(convolution, s, segment, &segment->job, &unit);
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

/* ---- tokens ---- */

static void pause_briefly(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/* The other one is within a unit, and soon out of it: unless it was put off its processor, by
 * this very thread perhaps, which must sleep then for it to go on. */
void job_lock(struct segment *segment)
{
    const struct timespec pause = {.tv_nsec = SLEEP_NS};
    for (size_t spins = 1; atomic_flag_test_and_set_explicit(&segment->lock, memory_order_acquire);
         spins++)
        if (spins % SPINS)
            pause_briefly();
        else
            clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
}

bool job_try(struct segment *segment)
{
    return !atomic_flag_test_and_set_explicit(&segment->lock, memory_order_acquire);
}

void job_release(struct segment *segment)
{
    atomic_flag_clear_explicit(&segment->lock, memory_order_release);
}

/* ---- the thread ---- */

enum {
    EARLIER = 64, /* that part of a period a look comes earlier than the one before */
    AGAIN = 16,   /* that part of a period until the next look where one was in vain */
    GONE = 64,    /* periods without work, after which the other thread may have stopped */
};

struct poll_timer poll_timer_start(int64_t period, int64_t now)
{
    return (struct poll_timer){.period = period, .look = now, .found = now};
}

int64_t poll_timer_next(struct poll_timer *clock, bool found, int64_t now)
{
    int64_t period = clock->period;
    if (found) {
        clock->found = clock->look; /* not when it woke, or looks would come ever later */
        int64_t since = (now - clock->found) % period;
        return clock->look = now - since + period - period / EARLIER;
    }
    bool gone = now - clock->found > GONE * period; /* once a period, each time at another place */
    return clock->look = now + (gone ? period : 0) + period / AGAIN;
}

/* The job whose results are due first; segment_count where nothing is to be done. */
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

/* One unit of the most urgent job; false when there is none. */
static bool help(struct cpu_live_convolution *convolution)
{
    size_t s = most_urgent(convolution);
    if (s == convolution->plan.segment_count)
        return false;
    struct segment *segment = &convolution->segments[s];
    job_lock(segment);
    job_run_unit(convolution, s); /* the step may have done the rest by now: then nothing */
    job_release(segment);
    return true;
}

void *live_work(void *argument)
{
    struct cpu_live_convolution *convolution = argument;
    realtime_flush_denormals();
    struct poll_timer clock = poll_timer_start(convolution->worker_period, monotonic_ns());
    while (!atomic_load(&convolution->leave)) {
        bool found = false;
        while (!atomic_load(&convolution->leave) && help(convolution))
            found = true;
        monotonic_sleep_until(poll_timer_next(&clock, found, monotonic_ns()));
    }
    return NULL;
}
