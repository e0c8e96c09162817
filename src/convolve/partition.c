#include "convolve/partition.h"

#include <math.h>

/* Costs in nanoseconds, measured roughly on one core of a present-day server;
 * only their ratios matter. */
static const double TAP_COST = 0.03;       /* a tap of a frame, time domain */
static const double FFT_COST = 0.075;      /* times n log2 n, in the cache */
static const double FFT_COST_LARGE = 0.12; /* beyond it */
static const double MULTIPLY_COST = 0.1;   /* a float of a spectrum, in the cache */
static const double MULTIPLY_COST_LARGE = 0.25;
static const double WORKER_WEIGHT = 0.3; /* of a worker's time, where the step's counts */
static const double STEP_COST = 50;      /* a transform's fixed part */
/* More of it in the step where a worker has the long ones: after a pause code, tables and spectra
 * have left the caches, and their pages the table of those. The direct form needs little of either,
 * and with it alone the step needs no transform; without a worker it has some anyway. */
static const double COLD_COST = 250;

enum {
    FFT_LARGE = 1 << 17,
    MASK_LARGE = 1 << 18,     /* floats of spectra: more come from beyond the cache */
    FFT_MOST = 1 << 23,       /* points, where nothing shorter holds a mask */
    CHUNK_FFT_MOST = 1 << 18, /* of a mask in parts: longer ones leave the cache, and save little */
    REQUEST_LEAST = 1 << 17,  /* frames: enough work between two reads */
    REQUEST_SAMPLES_MOST =
        1 << 20, /* of all channels, for short masks: some blocks of that are in memory */
    SPARE_FLOATS = 1 << 13, /* that a mask's spectra may take beyond 9/4 of its taps */
    HEAD_LEAST = 64,        /* frames: below, transforms lose to the direct form */
    /* Blocks that a partition may be long, live: the step does its longest transform within
     * a block, a worker has many. */
    SPREAD_MOST = 128,
    HELPED_MOST = 512,
    HELPED_FFT = 1 << 7, /* points: the taps of shorter ones are the direct head's */
    HELPED_BLOCKS = 2,   /* one more than the worker has to do its work in */
};

double partition_fft_cost(size_t n)
{
    double factor = n > FFT_LARGE ? FFT_COST_LARGE : FFT_COST;
    return STEP_COST + factor * (double)n * log2((double)n);
}

double partition_multiply_cost(size_t n)
{
    return MULTIPLY_COST * (double)n;
}

static size_t divide_up(size_t a, size_t b)
{
    return (a + b - 1) / b;
}

/* ---- overlap-save ---- */

/* The cost of one chunk. */
static double chunk_cost(const struct partition_plan *plan)
{
    double floats = (double)plan->fft * (double)plan->partitions;
    double factor = floats > MASK_LARGE ? MULTIPLY_COST_LARGE : MULTIPLY_COST;
    return 2 * partition_fft_cost(plan->fft) + factor * floats;
}

/* Overlap-save by transforms of n points: the mask whole, or in parts of n / 2 taps. */
static bool cut(size_t taps, size_t n, bool partitions, struct partition_plan *plan)
{
    size_t history_frames = divide_up(taps - 1, PARTITION_LINE) * PARTITION_LINE;
    if (partitions)
        history_frames = n / 2;
    if (n % PARTITION_LINE || history_frames >= n ||
        (partitions &&
         (n > CHUNK_FFT_MOST || history_frames >= taps || history_frames % PARTITION_LINE)))
        return false;
    *plan = (struct partition_plan){
        .algorithm = PARTITION_OVERLAP_SAVE,
        .fft = n,
        .history_frames = history_frames,
        .hop = n - history_frames,
        .partitions = partitions ? divide_up(taps, history_frames) : 1,
    };
    return n * plan->partitions <=
           taps / 4 * 9 + SPARE_FLOATS; /* memory is bounded by the mask's */
}

/* Goes through all cuts: powers of two and 3/4 of them, whole and in parts. */
static bool next_cut(size_t taps, size_t *number, struct partition_plan *plan)
{
    for (size_t n; (n = (size_t)PARTITION_LINE << (*number / 4)) <= FFT_MOST;) {
        size_t kind = (*number)++ % 4;
        if (cut(taps, kind < 2 ? n : n / 4 * 3, kind % 2, plan))
            return true;
    }
    return false;
}

static double cold_cost(enum partition_pace pace)
{
    return pace == PARTITION_HELPED ? COLD_COST : 0;
}

static double plan_overlap_save(size_t taps, size_t block, enum partition_pace pace,
                                struct partition_plan *best)
{
    double best_cost = INFINITY;
    struct partition_plan plan;
    for (size_t number = 0; next_cut(taps, &number, &plan);) {
        if (plan.partitions > 1 && block % plan.hop)
            continue; /* a chunk's spectrum must be of use to later blocks */
        plan.chunks = divide_up(block, plan.hop);
        double cost = (double)plan.chunks * (chunk_cost(&plan) + 2 * cold_cost(pace));
        if (cost < best_cost) {
            best_cost = cost;
            *best = plan;
        }
        if (plan.partitions == 1 && plan.hop > 2 * block)
            break;
    }
    return best_cost;
}

/* ---- growing partitions ---- */

bool partition_is_helped(size_t size, size_t block)
{
    return 2 * size > HELPED_FFT && size >= HELPED_BLOCKS * block;
}

static double segment_cost(const struct partition_segment *segment, size_t block,
                           enum partition_pace pace)
{
    bool helped = pace == PARTITION_HELPED && partition_is_helped(segment->size, block);
    double fires = (double)block / (double)segment->size; /* a block */
    double floats = 2 * (double)segment->size * (double)segment->partitions;
    double cost = 2 * partition_fft_cost(2 * segment->size) + MULTIPLY_COST * floats;
    return fires * (helped ? WORKER_WEIGHT * cost : cost + 2 * cold_cost(pace));
}

/* The first tap of a segment: a partition's results are due when the next one is full but
 * for a block, and within that block its work ends. */
static size_t least_offset(size_t size, size_t block)
{
    return 2 * (size - block);
}

/* Segments from `size` on that grow by `growth` each, at most `levels` of them. */
static double plan_partitioned(size_t taps, size_t block, size_t size, size_t growth, size_t levels,
                               enum partition_pace pace, struct partition_plan *plan)
{
    *plan = (struct partition_plan){.algorithm = PARTITION_PARTITIONED,
                                    .head = least_offset(size, block)};
    if (plan->head > taps)
        plan->head = taps;
    size_t done = plan->head, longest = FFT_MOST / 2;
    if (pace != PARTITION_AVERAGE)
        longest = (pace == PARTITION_SPREAD ? SPREAD_MOST : HELPED_MOST) * block;
    double cost = TAP_COST * (double)plan->head * (double)block;
    while (done < taps) {
        struct partition_segment *segment = &plan->segments[plan->segment_count++];
        size_t next = size * growth;
        bool last = plan->segment_count == levels || least_offset(next, block) >= taps ||
                    next > longest || 2 * next > FFT_MOST;
        size_t until = last ? taps : least_offset(next, block);
        *segment = (struct partition_segment){
            .offset = done, .size = size, .partitions = divide_up(until - done, size)};
        cost += segment_cost(segment, block, pace);
        done += segment->partitions * size;
        size = next;
    }
    return cost;
}

static double plan_segments(size_t taps, size_t block, enum partition_pace pace,
                            struct partition_plan *best)
{
    double best_cost = INFINITY;
    struct partition_plan plan;
    size_t first = block * divide_up(HEAD_LEAST, block);
    for (size_t size = first; size <= 4 * first; size *= 2)
        for (size_t growth = 2; growth <= 8; growth *= 2)
            for (size_t levels = 1; levels <= PARTITION_SEGMENTS_MOST; levels++) {
                double cost = plan_partitioned(taps, block, size, growth, levels, pace, &plan);
                if (cost < best_cost) {
                    best_cost = cost;
                    *best = plan;
                }
                if (plan.segment_count < levels)
                    break;
            }
    return best_cost;
}

/* ---- the choice ---- */

struct partition_plan partition_plan(size_t taps, size_t block, enum partition_pace pace)
{
    struct partition_plan best = {.algorithm = PARTITION_DIRECT, .head = taps}, plan;
    double best_cost = TAP_COST * (double)taps * (double)block;
    double cost = plan_overlap_save(taps, block, pace, &plan);
    if (cost < best_cost) {
        best_cost = cost;
        best = plan;
    }
    cost = plan_segments(taps, block, pace, &plan);
    if (cost < best_cost)
        best = plan;
    return best;
}

size_t partition_preferred_block(size_t taps, size_t channels, size_t threads, size_t most)
{
    /* Memory beside the masks' own: little, or in proportion to them. */
    size_t share = REQUEST_SAMPLES_MOST / channels + taps / 8 + 1;
    most = most < share ? most : share;
    double best_cost = INFINITY;
    struct partition_plan plan;
    size_t hop = most;
    for (size_t number = 0; next_cut(taps, &number, &plan);) {
        double cost = chunk_cost(&plan) / (double)plan.hop;
        if (plan.hop > most || cost >= best_cost)
            continue;
        best_cost = cost;
        hop = plan.hop;
    }
    size_t chunks = divide_up(REQUEST_LEAST, hop);
    chunks = divide_up(chunks, threads) * threads;
    size_t fit = most / hop > 0 ? most / hop : 1;
    return hop * (chunks < fit ? chunks : fit);
}

const char *partition_algorithm_name(enum partition_algorithm algorithm)
{
    static const char *const names[] = {
        [PARTITION_DIRECT] = "direct",
        [PARTITION_OVERLAP_SAVE] = "overlap-save",
        [PARTITION_PARTITIONED] = "partitioned",
    };
    return names[algorithm];
}
