/* How the fft kernel splits a signal into transforms: plain arithmetic, no buffers.
 *
 * Overlap-save: a chunk of `fft` frames, the first `history_frames` of them history, yields `hop`
 * frames of output. Two chunks are the real and imaginary parts of one complex transform; the
 * mask is real, so they do not mix. */
#ifndef HALO_GPU_FFT_PLAN_H
#define HALO_GPU_FFT_PLAN_H

#include <stdbool.h>
#include <stddef.h>

enum {
    FFT_FUSED_LEAST = 1024, /* lengths that fit one multiprocessor's shared memory */
    FFT_FUSED_MOST = 16384,
    FFT_MOST = 1 << 25,
};

struct fft_plan {
    size_t fft;            /* a power of two */
    size_t hop;            /* frames of output per chunk: fft - history_frames */
    size_t history_frames; /* at least taps - 1 */
    size_t pairs;          /* of chunks, for all frames */
    size_t batch;          /* pairs transformed at a time; all of them where fused */
    bool fused;            /* the fused kernel, not three passes */
};

/* The cheapest plan, by costs measured on an H200 (docs/measurements.md). `fused_most`: the longest
 * transform that fits the device's shared memory. `fft`: the length to use, a power of two above
 * taps, up to FFT_MOST; 0: choose one. */
struct fft_plan fft_plan_choose(size_t taps, size_t frames, size_t fused_most, size_t fft);

/* The length that is cheapest where launches are shared with many other sounds. */
size_t fft_plan_length_among_many(size_t taps, size_t frames, size_t fused_most);

#endif
