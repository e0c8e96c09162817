/* How convolutions of arrays on a GPU are divided into work. Plain arithmetic, no buffers.
 *
 * A signal is convolved with a mask; both are real. Point n of a transform of N points holds frames
 * n and n + N of a chunk of 2 N frames as real and imaginary part, times exp(i pi n / (2 N)). Then
 * products of spectra convolve modulo t^N - i, so modulo t^2N + 1 for real frames: a transform of N
 * complex points convolves 2 N frames, and what wraps around only changes its sign. A chunk whose
 * convolution fits needs no history (Nussbaumer, "Fast Fourier Transform and Convolution
 * Algorithms", 1982).
 */
#ifndef HALO_GPU_DEVICE_ARRAYS_PLAN_H
#define HALO_GPU_DEVICE_ARRAYS_PLAN_H

#include "convolve/arrays.h"

#include <stdint.h>

enum {
    ARRAYS_DIRECT_TAPS = 64,   /* the most taps that are multiplied one by one */
    ARRAYS_DIRECT_TILE = 2048, /* outputs of a thread block */
    ARRAYS_POWER_LEAST = 10,   /* shortest transform in single precision: 2^10 points */
    ARRAYS_POWER_LEAST_2 = 13, /* shortest transform in double precision: 2^13 points */
    ARRAYS_POWER_MOST = 24,
};

struct device_arrays_plan {
    bool swapped;   /* x is the mask and h the signal */
    unsigned power; /* transforms have 2^power points; 0: outputs are sums of products */
    uint64_t heard; /* outputs from y[0] on; the others are zero */
    uint64_t hop;   /* outputs of a chunk */
    uint64_t chunks;
    uint64_t skip;  /* frame of a chunk that is its first output */
    int64_t origin; /* frame of the signal that is frame 0 of the first chunk */
};

/* The cheapest plan. `fused_most`: a thread block can transform 2^fused_most points. False: the
 * arrays are too long. */
bool device_arrays_plan_choose(const struct arrays_group *group, enum arrays_sample sample,
                               unsigned fused_most, struct device_arrays_plan *plan);

#endif
