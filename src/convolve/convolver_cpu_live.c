/* Set-up of the CPU's live convolver: buffers, transforms and the spectra of masks. */
#include "convolve/convolver_cpu_live.h"

#include "base/thread.h"
#include "signal/audio.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double LOAD = 0.06; /* of the time that a worker takes by the estimate, which is low */
static const double STEP_LOAD = 1.0 / 48; /* the same of the step's pieces */
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

/* Enough for the workers' jobs to take a part of the time, and for the step's pieces. */
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

/* More than workers, if there are several, so that they share the work evenly. */
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
    /* A mask that is armed later needs all partitions that are still due. */
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
