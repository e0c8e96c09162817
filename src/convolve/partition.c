#include "convolve/partition.h"

#include "signal/fft_odd.h"

#include <math.h>

/* Approximate costs in ns, measured on one core of a server; only their ratios matter. */
static const double TAP_COST = 0.03; /* per tap and frame, time domain */
/* Factor of n log2 n. On one processor all lengths take about as long. On many processors, which
 * share memory and a block's chunks, shorter transforms finish first. */
static const double FFT_COST = 0.05;
static const double FFT_COST_LONG = 0.07;
static const double FFT_COST_LARGE = 0.08;
static const double FFT_COST_HUGE = 0.13;
static const double MULTIPLY_COST = 0.1; /* per float of a spectrum, cached */
static const double MULTIPLY_COST_LARGE = 0.25;
static const double WORKER_WEIGHT = 0.3; /* weight of a worker's time relative to the step's */
static const double STEP_COST = 50;      /* fixed, per transform */
/* Added to each transform of a live step, which finds code, tables and spectra no longer cached. */
static const double COLD_COST = 250;
enum { COLD_CHANNELS = 2 }; /* channels with which COLD_COST was measured */

/* Estimated ns. If a step is shorter, its two jobs are not worth waking a thread (workers.h). */
static const double SHORT_STEP = 300e3;

enum {
    FFT_LONG = 1 << 15, /* points */
    FFT_LARGE = 1 << 17,
    FFT_HUGE = 1 << 18,
    MASK_LARGE = 1 << 18, /* floats of spectra that stay cached */
    PATHS_FEW = 2,        /* paths of a mask for each channel */
    CHANNELS_MANY = 8,
    FFT_MOST = 1 << 23,       /* points */
    CHUNK_FFT_MOST = 1 << 18, /* points, for partitioned masks; longer transforms leave the cache */
    REQUEST_LEAST = 1 << 17,  /* frames; enough work between two reads */
    REQUEST_SAMPLES_MOST = 1 << 20, /* samples of all channels, for short masks; bounds memory */
    THREADS_SHORT = 2,              /* threads that share a block of a short sound */
    SPARE_FLOATS = 1 << 13, /* floats that a mask's spectra may have beyond 9/4 of its taps */
    HEAD_LEAST = 64,        /* frames; with shorter transforms the direct form is faster */
    /* The longest partitions, in blocks, live. The step must do its longest transform within one
     * block; a worker has many blocks. */
    SPREAD_MOST = 64,
    WORKER_MOST = 512,
    WORKER_FFT = 1 << 7, /* points; the direct head replaces shorter transforms */
    WORKER_BLOCKS = 2,   /* blocks: one more than the worker has for its work */
};

double partition_fft_cost(size_t n)
{
    double factor = n <= FFT_LONG    ? FFT_COST
                    : n <= FFT_LARGE ? FFT_COST_LONG
                    : n <= FFT_HUGE  ? FFT_COST_LARGE
                                     : FFT_COST_HUGE;
    return STEP_COST + factor * (double)n * log2((double)n);
}

double partition_multiply_cost(size_t n)
{
    return MULTIPLY_COST * (double)n;
}

double partition_head_cost(size_t taps, size_t frames)
{
    return TAP_COST * (double)taps * (double)frames;
}

static size_t divide_up(size_t a, size_t b)
{
    return (a + b - 1) / b;
}

/* The cost of products with `floats` floats of a mask's spectra. */
static double products_cost(double floats)
{
    return (floats > MASK_LARGE ? MULTIPLY_COST_LARGE : MULTIPLY_COST) * floats;
}

size_t partition_paths(size_t inputs, size_t outputs, size_t paths)
{
    size_t widest = inputs > outputs ? inputs : outputs;
    return widest > 0 ? paths / widest : 0;
}

/* The weight of products. Each channel is transformed once there and back, for any number of paths.
 * With few channels, short chunks keep more threads busy. */
static double paths_of(const struct partition_job *job)
{
    bool is_many = job->pace == PARTITION_AVERAGE && job->channels >= CHANNELS_MANY;
    return is_many && job->paths > 1 ? (double)job->paths : 1;
}

/* The cost of one chunk. The chunks of a block read a mask's spectra once, tile by tile. */
static double chunk_cost(const struct partition_plan *plan, const struct partition_job *job)
{
    return 2 * partition_fft_cost(plan->fft) +
           paths_of(job) * MULTIPLY_COST * (double)plan->fft * (double)plan->partitions;
}

/* Overlap-save by transforms of n points. The mask is whole, or in partitions of n / 2 taps. */
static bool cut(size_t taps, size_t n, bool partitions, struct partition_plan *plan)
{
    size_t history_frames = divide_up(taps - 1, PARTITION_LINE) * PARTITION_LINE;
    if (partitions)
        history_frames = n / 2;
    if (!odd_fft_fits(n) || history_frames >= n ||
        (partitions &&
         (n > CHUNK_FFT_MOST || history_frames >= taps || history_frames % PARTITION_LINE)))
        return false;
    *plan = (struct partition_plan){.algorithm = PARTITION_OVERLAP_SAVE,
                                    .fft = n,
                                    .history_frames = history_frames,
                                    .hop = n - history_frames,
                                    .partitions = partitions ? divide_up(taps, history_frames) : 1};
    return n * plan->partitions <=
           taps / 4 * 9 + SPARE_FLOATS; /* bounds memory by the mask's size */
}

/* Enumerate all cuts, whole and partitioned. */
static bool next_cut(const struct partition_job *job, size_t *number, struct partition_plan *plan)
{
    enum { WHOLE, PARTITIONS, KINDS };
    for (size_t n; (n = (size_t)ODD_FFT_LEAST << (*number / (2 * KINDS))) <= FFT_MOST;) {
        size_t kind = (*number)++ % (2 * KINDS), points = kind < KINDS ? n : n / 4 * 3;
        if (cut(job->taps, points, kind % KINDS == PARTITIONS, plan))
            return true;
    }
    return false;
}

/* The added cost of a transform. Channels share it, as a step transforms them in a row. */
static double cold_cost(enum partition_pace pace, size_t channels)
{
    double shared = channels > COLD_CHANNELS ? (double)COLD_CHANNELS / (double)channels : 1;
    return pace == PARTITION_AVERAGE ? 0 : COLD_COST * shared;
}

static void keep_cheaper(const struct partition_plan *plan, double cost, double *best_cost,
                         struct partition_plan *best)
{
    if (cost >= *best_cost)
        return;
    *best_cost = cost;
    *best = *plan;
}

static void plan_overlap_save(const struct partition_job *job, double *best_cost,
                              struct partition_plan *best)
{
    struct partition_plan plan;
    size_t block = job->block;
    double cold = cold_cost(job->pace, job->channels);
    for (size_t number = 0; next_cut(job, &number, &plan);) {
        if (plan.partitions > 1 && block % plan.hop)
            continue; /* so that later blocks can use a chunk's spectrum again */
        plan.chunks = divide_up(block, plan.hop);
        keep_cheaper(&plan, (double)plan.chunks * (chunk_cost(&plan, job) + 2 * cold), best_cost,
                     best);
    }
}

bool partition_is_helped(size_t size, size_t block)
{
    return 2 * size > WORKER_FFT && size >= WORKER_BLOCKS * block;
}

static double segment_cost(const struct partition_segment *segment, const struct partition_job *job)
{
    bool helped = job->pace == PARTITION_WORKER && partition_is_helped(segment->size, job->block);
    /* partitions that become full in a block */
    double fires = (double)job->block / (double)segment->size;
    double floats = (double)segment->fft * (double)segment->partitions;
    double products =
        job->pace == PARTITION_AVERAGE ? products_cost(floats) : MULTIPLY_COST * floats;
    double cost = 2 * partition_fft_cost(segment->fft) + paths_of(job) * products;
    return fires * (helped ? WORKER_WEIGHT * cost : cost + 2 * cold_cost(job->pace, job->channels));
}

/* The first tap that a segment may begin at. A partition's results are due one block before the
 * next partition is full. The partition's work ends within that block. */
static size_t least_offset(size_t size, size_t block)
{
    return 2 * (size - block);
}

/* The cost of a plan whose segments begin at partitions of `size` taps and grow by `growth`, then
 * by `later`. It has at most `levels` segments. */
static double plan_partitioned(const struct partition_job *job, size_t size, size_t growth,
                               size_t later, size_t levels, struct partition_plan *plan)
{
    size_t taps = job->taps, block = job->block;
    *plan = (struct partition_plan){.algorithm = PARTITION_PARTITIONED,
                                    .head = least_offset(size, block)};
    if (plan->head > taps)
        plan->head = taps;
    size_t done = plan->head, longest = FFT_MOST / 2;
    if (job->pace != PARTITION_AVERAGE)
        longest = (job->pace == PARTITION_SPREAD ? SPREAD_MOST : WORKER_MOST) * block;
    double cost = paths_of(job) * partition_head_cost(plan->head, block);
    while (done < taps) {
        struct partition_segment *segment = &plan->segments[plan->segment_count++];
        size_t next = size * growth;
        bool last = plan->segment_count == levels || least_offset(next, block) >= taps ||
                    next > longest || 2 * next > FFT_MOST;
        size_t until = last ? taps : least_offset(next, block);
        *segment = (struct partition_segment){.offset = done,
                                              .size = size,
                                              .fft = odd_fft_length(2 * size),
                                              .partitions = divide_up(until - done, size)};
        cost += segment_cost(segment, job);
        done += segment->partitions * size;
        size = next;
        growth = later;
    }
    return cost;
}

static void plan_levels(const struct partition_job *job, size_t size, size_t growth, size_t later,
                        double *best_cost, struct partition_plan *best)
{
    struct partition_plan plan;
    for (size_t levels = 1; levels <= PARTITION_SEGMENTS_MOST; levels++) {
        double cost = plan_partitioned(job, size, growth, later, levels, &plan);
        keep_cheaper(&plan, cost, best_cost, best);
        if (plan.segment_count < levels)
            break;
    }
}

static void plan_segments(const struct partition_job *job, double *best_cost,
                          struct partition_plan *best)
{
    size_t first = job->block * divide_up(HEAD_LEAST, job->block);
    for (size_t size = first; size <= 4 * first; size *= 2)
        for (size_t growth = 2; growth <= 8; growth *= 2)
            for (size_t later = 2; later <= 8; later *= 2)
                if (later == growth || job->pace != PARTITION_AVERAGE)
                    plan_levels(job, size, growth, later, best_cost, best);
}

size_t partition_sharers(const struct partition_plan *plan, size_t channels, size_t threads)
{
    size_t pieces = plan->algorithm == PARTITION_OVERLAP_SAVE ? channels * plan->chunks : channels;
    if (plan->algorithm == PARTITION_PARTITIONED)
        return 1;
    return pieces < threads ? pieces : threads;
}

struct partition_plan partition_plan(const struct partition_job *job)
{
    struct partition_plan best = {.algorithm = PARTITION_DIRECT, .head = job->taps};
    double cost = paths_of(job) * partition_head_cost(job->taps, job->block);
    plan_overlap_save(job, &cost, &best);
    if (job->pace == PARTITION_AVERAGE)
        cost /= (double)partition_sharers(&best, job->channels, PARTITION_THREADS);
    plan_segments(job, &cost, &best);
    best.pace = job->pace;
    return best;
}

size_t partition_preferred_block(const struct partition_job *job, size_t most)
{
    /* Keeps a block small compared with the masks. */
    size_t share = REQUEST_SAMPLES_MOST / job->channels + job->taps / 8 + 1;
    bool is_short = most < share;
    most = is_short ? most : share;
    double best_cost = INFINITY;
    struct partition_plan plan;
    size_t hop = most;
    for (size_t number = 0; next_cut(job, &number, &plan);) {
        double cost = chunk_cost(&plan, job) / (double)plan.hop;
        if (plan.hop > most || cost >= best_cost)
            continue;
        best_cost = cost;
        hop = plan.hop;
    }
    size_t chunks = divide_up(REQUEST_LEAST, hop);
    chunks = divide_up(chunks, PARTITION_THREADS) * PARTITION_THREADS;
    /* Prefers shorter blocks, of which more stays in the cache. In a short sound every block is new
     * memory, which costs more than many threads save. */
    if (most / 2 / hop * job->channels >= (is_short ? THREADS_SHORT : PARTITION_THREADS))
        most /= 2;
    size_t fit = most / hop > 0 ? most / hop : 1;
    double step = best_cost * (double)(hop * fit * job->channels);
    if (fit < chunks && fit > 2 && step < SHORT_STEP)
        /* no thread shares so short a step, and a shorter block touches less new memory */
        fit /= 2;
    return hop * (chunks < fit ? chunks : fit);
}

double partition_step_cost(const struct partition_plan *plan, size_t inputs, size_t outputs,
                           size_t paths, size_t block)
{
    double floats = (double)plan->fft * (double)plan->partitions, chunks = (double)plan->chunks;
    double transforms = plan->fft > 0 ? chunks * partition_fft_cost(plan->fft) : 0;
    bool are_few = paths <= PATHS_FEW * (inputs > outputs ? inputs : outputs);
    double products = chunks * (are_few ? MULTIPLY_COST * floats : products_cost(floats));
    products += TAP_COST * (double)plan->head * (double)block;
    for (size_t s = 0; s < plan->segment_count; s++) {
        const struct partition_segment *segment = &plan->segments[s];
        double fires = (double)block / (double)segment->size;
        transforms += fires * partition_fft_cost(segment->fft);
        products += fires * products_cost((double)segment->fft * (double)segment->partitions);
    }
    return (double)(inputs + outputs) * transforms + (double)paths * products;
}
