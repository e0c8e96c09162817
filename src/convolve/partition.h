/* How a mask is partitioned for one block length: plain arithmetic, no buffers.
 *
 * direct        every tap in the time domain
 * overlap-save  a block is split into chunks of `hop` frames, each transformed together with the
 *               `history_frames` before it. A mask that is long compared with the transform is
 *               split into `partitions` of `hop` taps, which are multiplied with the spectra of
 *               earlier chunks. Every step does the same work.
 * partitioned   a direct head, then segments of equal partitions that grow from segment to
 *               segment (Gardner 1995; sizes found by a search for the least cost, as in Garcia
 *               2002). No latency. A segment of partitions longer than a block begins at tap
 *               2 (size - block) or later, so that a partition's work can be spread evenly over
 *               the blocks of the next one.
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
    PARTITION_LINE = 16,   /* frames; sizes of overlap-save are multiples of it */
    PARTITION_THREADS = 8, /* assumed; fixed, so that plans and samples are the same everywhere */
};

struct partition_segment {
    size_t offset; /* first tap of the segment */
    size_t size;   /* taps per partition, a multiple of the block */
    size_t fft;    /* transform length: odd_fft_length() of twice `size` */
    size_t partitions;
};

/* Constraints on a plan. */
enum partition_pace {
    PARTITION_AVERAGE, /* no constraint; for files */
    PARTITION_SPREAD,  /* live: no transform may take much of a block's time */
    PARTITION_WORKER,  /* live, with a worker for the long transforms */
};

struct partition_plan {
    enum partition_algorithm algorithm;
    enum partition_pace pace;
    size_t head;           /* taps in the time domain */
    size_t fft;            /* overlap-save: transform length, history_frames + hop */
    size_t history_frames; /* overlap-save: taps - 1 rounded up; hop if partitioned */
    size_t hop;            /* overlap-save: frames per chunk */
    size_t chunks;         /* overlap-save: transforms per block */
    size_t partitions;     /* overlap-save: partitions of the mask */
    size_t segment_count;
    struct partition_segment segments[PARTITION_SEGMENTS_MOST];
};

/* Whether a worker, if any, computes partitions of `size` taps. */
bool partition_is_helped(size_t size, size_t block);

/* All numbers are at least 1, except that `paths` may be 0. */
struct partition_job {
    size_t taps;
    size_t block;
    enum partition_pace pace;
    size_t channels;
    size_t paths; /* paths of the mask for each channel, with PARTITION_AVERAGE; 0 counts as 1 */
};

/* The number of paths of a mask for each channel, rounded down. */
size_t partition_paths(size_t inputs, size_t outputs, size_t paths);

/* The cheapest plan by a model of the costs. */
struct partition_plan partition_plan(const struct partition_job *job);

/* How many of `threads` threads can share a step of a plan for files. Overlap-save is divided among
 * channels and chunks, the direct form among channels. Segments are not divided. */
size_t partition_sharers(const struct partition_plan *plan, size_t channels, size_t threads);

/* The best block length for files, in frames: whole chunks that PARTITION_THREADS can share, at
 * most `most`. It does not depend on job->block and job->pace. */
size_t partition_preferred_block(const struct partition_job *job, size_t most);

/* Estimated ns of a transform of n points; a product of n floats of spectra; taps in time. */
double partition_fft_cost(size_t n);
double partition_multiply_cost(size_t n);
double partition_head_cost(size_t taps, size_t frames);

/* Estimated ns of a step of a plan for files, on one thread, with all inputs, outputs and paths. */
double partition_step_cost(const struct partition_plan *plan, size_t inputs, size_t outputs,
                           size_t paths, size_t block);

#endif
