#include "partition.h"

#include <math.h>
#include <stdbool.h>

/* Costs in nanoseconds, measured roughly on one core of a present-day server;
 * only their ratios matter. */
static const double TAP_COST = 0.03;       /* a tap of a frame, time domain */
static const double FFT_COST = 0.1;        /* times n log2 n, in the cache */
static const double FFT_COST_LARGE = 0.16; /* beyond it */
static const double MULTIPLY_COST = 0.15;  /* a float of a spectrum */
static const double STEP_COST = 50;        /* a transform's fixed part */
static const double NEARLY = 0.88;         /* what twice the memory has to save */

enum {
    FFT_LARGE = 1 << 15,
    FFT_MOST = 1 << 23,
    WISH_LEAST = 1 << 17, /* frames: enough work between two reads */
    HEAD_LEAST = 64,      /* frames: below, transforms lose to the direct form */
};

static double fft_cost(size_t n)
{
    double factor = n > FFT_LARGE ? FFT_COST_LARGE : FFT_COST;
    return STEP_COST + factor * (double)n * log2((double)n);
}

static size_t next_power_of_two(size_t n)
{
    size_t power = 2;
    while (power < n)
        power *= 2;
    return power;
}

static size_t divide_up(size_t a, size_t b)
{
    return (a + b - 1) / b;
}

/* The cost of one block. */
static double overlap_save_cost(size_t taps, size_t block, size_t n)
{
    size_t chunks = divide_up(block, n - taps + 1);
    return (double)chunks * (2 * fft_cost(n) + MULTIPLY_COST * (double)n);
}

static double plan_overlap_save(size_t taps, size_t block, struct partition_plan *plan)
{
    double best = INFINITY;
    /* Powers of two and 3/4 of them, from just holding the mask to one chunk a block. */
    for (size_t n = next_power_of_two(taps + 1); n <= FFT_MOST; n *= 2) {
        const size_t lengths[] = {n / 4 * 3, n};
        for (size_t i = 0; i < 2; i++) {
            size_t length = lengths[i];
            if (length < taps + 1 || length < 2 || length % 2)
                continue;
            double cost = overlap_save_cost(taps, block, length);
            if (cost < best) {
                best = cost;
                plan->fft = length;
            }
        }
        if (n >= block + taps)
            break;
    }
    if (isinf(best))
        return best;
    plan->algorithm = PARTITION_OVERLAP_SAVE;
    plan->hop = plan->fft - taps + 1;
    plan->chunks = divide_up(block, plan->hop);
    return best;
}

static double segment_cost(const struct partition_segment *segment, size_t block)
{
    double fires = (double)block / (double)segment->size; /* a block */
    double n = 2 * (double)segment->size;
    return fires * (2 * fft_cost(2 * segment->size) + MULTIPLY_COST * n * (double)segment->parts);
}

/* Segments that grow by `growth` each, at most `levels` of them. */
static double plan_partitioned(size_t taps, size_t block, size_t growth, size_t levels,
                               struct partition_plan *plan)
{
    size_t size = block * divide_up(HEAD_LEAST, block);
    *plan = (struct partition_plan){.algorithm = PARTITION_PARTITIONED, .head = size - block};
    if (plan->head > taps)
        plan->head = taps;
    size_t done = plan->head;
    double cost = TAP_COST * (double)plan->head * (double)block;
    while (done < taps) {
        struct partition_segment *segment = &plan->segments[plan->segment_count++];
        size_t next = size * growth;
        bool last = plan->segment_count == levels || next - block >= taps || 2 * next > FFT_MOST;
        size_t until = last ? taps : next - block;
        *segment = (struct partition_segment){
            .offset = done, .size = size, .parts = divide_up(until - done, size)};
        cost += segment_cost(segment, block);
        done += segment->parts * size;
        size = next;
    }
    return cost;
}

struct partition_plan partition_plan(size_t taps, size_t block)
{
    struct partition_plan best = {.algorithm = PARTITION_DIRECT, .head = taps};
    double best_cost = TAP_COST * (double)taps * (double)block;
    struct partition_plan plan = {0};
    double cost = plan_overlap_save(taps, block, &plan);
    if (cost < best_cost) {
        best_cost = cost;
        best = plan;
    }
    for (size_t growth = 2; growth <= 8; growth *= 2) {
        for (size_t levels = 1; levels <= PARTITION_SEGMENTS_MOST; levels++) {
            cost = plan_partitioned(taps, block, growth, levels, &plan);
            if (cost < best_cost) {
                best_cost = cost;
                best = plan;
            }
            if (plan.segment_count < levels)
                break;
        }
    }
    return best;
}

size_t partition_wish(size_t taps, size_t threads, size_t most)
{
    /* The hop of the transform that is cheapest a frame, unless one of half the
     * length, and so of half the memory, is nearly as good. */
    double best = INFINITY;
    size_t hop = most;
    for (size_t n = next_power_of_two(taps + 1); n <= FFT_MOST && n - taps + 1 <= most; n *= 2) {
        size_t frames = n - taps + 1;
        double cost = overlap_save_cost(taps, frames, n) / (double)frames;
        if (cost < best * NEARLY) {
            best = cost;
            hop = frames;
        }
    }
    size_t chunks = divide_up(WISH_LEAST, hop);
    chunks = divide_up(chunks, threads) * threads;
    if (hop >= WISH_LEAST)
        chunks = 1; /* long masks: channels are shared out, not chunks */
    return hop * chunks <= most ? hop * chunks : hop;
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
