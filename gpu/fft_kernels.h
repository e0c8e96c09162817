/* Launchers of the kernel "fft": a fused kernel for short transforms (fft_fused.cu), three passes
 * for long ones (fft_long.cu). Complex numbers are float2. */
#ifndef HALO_GPU_FFT_KERNELS_H
#define HALO_GPU_FFT_KERNELS_H

#include "gpu/fft_plan.h"
#include "gpu/kernel.h"

/* Creates the table of factors for length `fft` on the device. The caller frees it by cudaFree. */
cudaError_t fft_table_create(size_t fft, bool fused, float **table);

/* The fused kernel's table of factors: its length, and filling it in host memory. */
size_t fft_fused_table_floats(size_t fft);
void fft_fused_fill_table(size_t fft, float *table);

/* Bytes of shared memory that the fused kernel needs for this length. */
size_t fft_fused_shared(size_t fft);

/* The spectrum of `count` taps, 2 fft floats in the fused kernel's own order. */
cudaError_t fft_fused_form(size_t fft, const float *table, const float *taps, size_t count,
                           float *form, cudaStream_t stream);
cudaError_t fft_fused_launch(const struct kernel_job *job, const struct fft_plan *plan,
                             const float *table, cudaStream_t stream);

/* Two chunks of one of many sounds. job.out: where their output begins; job.origin: the frame of
 * job.in that tap 0 meets there; job.frames: frames of output, at most two hops. Zero boundary. */
struct fft_pair {
    struct kernel_job job;
    size_t history_frames;
};

/* The longest transform that a thread block of the current device can hold. */
size_t fft_fused_most(void);

/* `pairs` is device memory. */
cudaError_t fft_fused_pairs(size_t fft, const struct fft_pair *pairs, size_t count,
                            const float *table, cudaStream_t stream);

/* For transforms that a thread block cannot hold. `work`: device memory, fft points for a pair. */
size_t fft_long_table_floats(size_t fft);
void fft_long_fill_table(size_t fft, float *table);
cudaError_t fft_long_form(size_t fft, const float *table, const float *taps, size_t count,
                          float *form, cudaStream_t stream);
/* Convolves pairs [first, first + count). */
cudaError_t fft_long_launch(const struct kernel_job *job, const struct fft_plan *plan, size_t first,
                            size_t count, const float *table, float2 *work, cudaStream_t stream);
cudaError_t fft_long_pairs(size_t fft, const struct fft_pair *pairs, size_t count,
                           const float *table, float2 *work, cudaStream_t stream);

#endif
