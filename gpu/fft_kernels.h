/* Launchers of the fft kernel: a fused kernel for short transforms (fft_fused.cu), three passes for
 * long ones (fft_long.cu). Complex numbers are float2. */
#ifndef HALO_GPU_FFT_KERNELS_H
#define HALO_GPU_FFT_KERNELS_H

#include "gpu/fft_plan.h"
#include "gpu/kernel.h"

/* The table of factors that transforms of this length read, in device memory: cudaFree it. */
cudaError_t fft_table_create(size_t fft, bool fused, float **table);

/* That of the fused kernel, filled in host memory. */
size_t fft_fused_table_floats(size_t fft);
void fft_fused_fill_table(size_t fft, float *table);

/* Bytes of shared memory of the fused kernel of this length. */
size_t fft_fused_shared(size_t fft);

/* The spectrum of `taps` taps in the fused kernel's own order: 2 fft floats. */
cudaError_t fft_fused_form(size_t fft, const float *table, const float *taps, size_t count,
                           float *form, cudaStream_t stream);
cudaError_t fft_fused_launch(const struct kernel_job *job, const struct fft_plan *plan,
                             const float *table, cudaStream_t stream);

/* A pair of chunks of one of many sounds: job.out is where its output begins, job.origin the frame
 * of job.in that tap 0 meets there, job.frames what it yields, two hops at most. Boundary: zero. */
struct fft_pair {
    struct kernel_job job;
    size_t history_frames;
};

/* The longest transform that a thread block of the current device can hold. */
size_t fft_fused_most(void);

/* `pairs`: device. */
cudaError_t fft_fused_pairs(size_t fft, const struct fft_pair *pairs, size_t count,
                            const float *table, cudaStream_t stream);

/* The same beyond what a thread block can hold, with `work`: device, fft points for each pair. */
size_t fft_long_table_floats(size_t fft);
void fft_long_fill_table(size_t fft, float *table);
cudaError_t fft_long_form(size_t fft, const float *table, const float *taps, size_t count,
                          float *form, cudaStream_t stream);
/* Pairs [first, first + count). */
cudaError_t fft_long_launch(const struct kernel_job *job, const struct fft_plan *plan, size_t first,
                            size_t count, const float *table, float2 *work, cudaStream_t stream);
cudaError_t fft_long_pairs(size_t fft, const struct fft_pair *pairs, size_t count,
                           const float *table, float2 *work, cudaStream_t stream);

#endif
