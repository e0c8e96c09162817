/* How the fft kernel cuts up a sound: plain arithmetic, no buffers.
 *
 * Overlap-save: a chunk of `fft` frames yields `hop` of output, the `past` before them
 * being the frames its taps look back on. Two chunks are the real and the imaginary
 * part of one complex transform: the mask is real, so they stay apart.
 */
#ifndef HALO_GPU_FFT_PLAN_H
#define HALO_GPU_FFT_PLAN_H

#include <stdbool.h>
#include <stddef.h>

enum {
    FFT_FUSED_LEAST = 1024, /* lengths that one multiprocessor's shared memory holds */
    FFT_FUSED_MOST = 16384,
    FFT_MOST = 1 << 25,
};

struct fft_plan {
    size_t fft;   /* a power of two */
    size_t hop;   /* frames of output a chunk: fft - past */
    size_t history_frames;  /* at least taps - 1 */
    size_t pairs; /* of chunks, for all frames */
    size_t batch; /* pairs transformed at a time; all of them where fused */
    bool fused;   /* one kernel does it all */
};

/* The cheapest, by costs measured on an H200 (docs/measurements.md). `fused_most`: the
 * longest transform that the device's shared memory holds. `fft`: the length to take, a
 * power of two of more than taps, up to FFT_MOST; 0 leaves the choice. */
struct fft_plan fft_plan_choose(size_t taps, size_t frames, size_t fused_most, size_t fft);

#endif
