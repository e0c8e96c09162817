/* How a mask is cut up for one block length: plain arithmetic, no buffers.
 *
 * direct        every tap in the time domain
 * overlap-save  a block is cut into chunks of `hop` frames, each transformed with the
 *               `past` frames before it. Where the mask is long against the transform it
 *               is cut into `parts` of `hop` taps, whose products with the spectra of
 *               earlier chunks are added up. Every step does the same.
 * partitioned   a direct head, then segments of equal partitions that grow from
 *               segment to segment (Gardner 1995; sizes searched for the least
 *               cost as in Garcia 2002). Adds no latency. A segment whose partitions are
 *               longer than a block begins so late in the mask that a partition's work
 *               can be spread evenly over the blocks of the one that follows: at tap
 *               2 (size - block) at least. So no step has much more to do than another.
 */
#ifndef HALO_PARTITION_H
#define HALO_PARTITION_H

#include <stdbool.h>
#include <stddef.h>

enum partition_algorithm {
    PARTITION_DIRECT,
    PARTITION_OVERLAP_SAVE,
    PARTITION_PARTITIONED,
};

enum {
    PARTITION_SEGMENTS_MOST = 16,
    PARTITION_LINE = 16, /* frames: overlap-save's `past` and `hop` are multiples of it */
};

struct partition_segment {
    size_t offset; /* first tap */
    size_t size;   /* taps a partition, a multiple of the block; transforms of twice that */
    size_t partitions;
};

struct partition_plan {
    enum partition_algorithm algorithm;
    size_t head;           /* taps in the time domain */
    size_t fft;            /* overlap-save: transform length, past + hop */
    size_t history_frames; /* overlap-save: taps - 1 rounded up, or hop where there are several
                              parts */
    size_t hop;            /* overlap-save: frames a chunk yields */
    size_t chunks;         /* overlap-save: transforms a block takes */
    size_t partitions;     /* overlap-save: of the mask */
    size_t segment_count;
    struct partition_segment segments[PARTITION_SEGMENTS_MOST];
};

/* What a plan has to heed beside the average. */
enum partition_pace {
    PARTITION_AVERAGE, /* nothing: files */
    PARTITION_SPREAD,  /* each block is waited for: no transform may take much of its time */
    PARTITION_HELPED,  /* likewise, but a thread beside does the long ones */
};

/* Whether partitions of that size are a worker's, where there is one. */
bool partition_is_helped(size_t size, size_t block);

/* The cheapest plan by a model of the costs. taps and block at least 1. */
struct partition_plan partition_plan(size_t taps, size_t block, enum partition_pace pace);

/* The block length, in frames, that files of `channels` are best filtered with: whole
 * chunks that `threads` can share, at most `most` frames. */
size_t partition_preferred_block(size_t taps, size_t channels, size_t threads, size_t most);

/* Nanoseconds, by the model: a transform of n points, a product of n floats of spectra. */
double partition_fft_cost(size_t n);
double partition_multiply_cost(size_t n);

const char *partition_algorithm_name(enum partition_algorithm algorithm);

#endif
