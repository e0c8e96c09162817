/* Times what runs on a GPU: the median of many runs, each on the next set of buffers. */
#ifndef HALO_GPU_LAB_TIMER_H
#define HALO_GPU_LAB_TIMER_H

#include "base/status.h"

#include <cuda_runtime_api.h>
#include <stddef.h>

/* Sets of buffers, rotated: together so many times the L2 cache, and no more than that. */
enum { LAB_SETS_MOST = 64, LAB_CACHE_FACTOR = 4 };

struct lab_timer {
    size_t repeats;
    double *times; /* seconds */
    cudaEvent_t begin;
    cudaEvent_t end;
};

/* Errors: CUDA's, memory; free in any case. */
MUST_CHECK enum status lab_timer_init(struct lab_timer *timer, size_t repeats);
void lab_timer_free(struct lab_timer *timer);

/* How many sets, where one is an input and an output of `bytes` each. */
size_t lab_timer_sets(size_t bytes, size_t cache);

/* The median of the runs, after some to warm up; run launches and does not wait. Errors: CUDA's. */
MUST_CHECK enum status lab_timer_run(struct lab_timer *timer, size_t sets,
                                     cudaError_t (*run)(void *context, size_t set), void *context,
                                     double *seconds);

#endif
