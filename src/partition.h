/* How a mask is cut up for one block length: plain arithmetic, no buffers.
 *
 * direct        every tap in the time domain
 * overlap-save  one transform holds the whole mask; a block is cut into chunks
 * partitioned   a direct head, then segments of equal partitions that grow from
 *               segment to segment (Gardner 1995; sizes searched for the least
 *               cost as in Garcia 2002). Adds no latency: a segment of `size`
 *               frames begins no earlier than tap size - block, so its results
 *               are there when they are due.
 */
#ifndef HALO_PARTITION_H
#define HALO_PARTITION_H

#include <stddef.h>

enum partition_algorithm {
    PARTITION_DIRECT,
    PARTITION_OVERLAP_SAVE,
    PARTITION_PARTITIONED,
};

enum { PARTITION_SEGMENTS_MOST = 16 };

struct partition_segment {
    size_t offset; /* first tap */
    size_t size;   /* taps a partition, a multiple of the block; transforms of twice that */
    size_t parts;
};

struct partition_plan {
    enum partition_algorithm algorithm;
    size_t head;   /* taps in the time domain */
    size_t fft;    /* overlap-save: transform length */
    size_t chunks; /* overlap-save: transforms a block takes */
    size_t hop;    /* overlap-save: frames a chunk yields, fft - taps + 1 */
    size_t segment_count;
    struct partition_segment segments[PARTITION_SEGMENTS_MOST];
};

/* The cheapest plan by a model of the costs. taps and block at least 1. */
struct partition_plan partition_plan(size_t taps, size_t block);

/* The block length, in frames, that files are best filtered with: whole chunks
 * that `threads` can share, at most `most` frames. */
size_t partition_wish(size_t taps, size_t threads, size_t most);

const char *partition_algorithm_name(enum partition_algorithm algorithm);

#endif
