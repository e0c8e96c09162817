/* How the kernel "fft" divides a signal into transforms. Plain arithmetic, no buffers.
 *
 * Overlap-save: a chunk of `fft` frames gives `hop` frames of output. Its first `history_frames`
 * are history. Two chunks are the real and imaginary parts of one complex transform. They do not
 * mix, since the mask is real.
 */
#ifndef HALO_GPU_FFT_PLAN_H
#define HALO_GPU_FFT_PLAN_H

#include <stdbool.h>
#include <stddef.h>

enum {
    FFT_FUSED_LEAST = 1024, /* shortest transform of the fused kernel */
    FFT_FUSED_MOST = 16384, /* longest transform that can fit a multiprocessor's shared memory */
    FFT_MOST = 1 << 25,
};

struct fft_plan {
    size_t fft;            /* a power of two */
    size_t hop;            /* frames of output per chunk: fft - history_frames */
    size_t history_frames; /* at least taps - 1 */
    size_t pairs;          /* pairs of chunks, for all frames */
    size_t batch;          /* pairs transformed at a time; all pairs if `fused` */
    bool fused;            /* true: the fused kernel; false: three passes */
};

/* The cheapest plan, by costs measured on an H200 (docs/measurements.md). `fused_most`: the longest
 * transform that fits the device's shared memory. `fft`: the length to use, a power of two greater
 * than taps, at most FFT_MOST; 0: choose a length. */
struct fft_plan fft_plan_choose(size_t taps, size_t frames, size_t fused_most, size_t fft);

/* The cheapest length of transforms if many sounds share each launch. */
size_t fft_plan_length_among_many(size_t taps, size_t frames, size_t fused_most);

#endif
