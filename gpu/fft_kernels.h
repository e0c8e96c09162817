/* Launchers of the fft kernel: a fused kernel for short transforms (fft_fused.cu), passes around
 * cuFFT for long ones (fft_passes.cu). Complex numbers are float2. */
#ifndef HALO_GPU_FFT_KERNELS_H
#define HALO_GPU_FFT_KERNELS_H

#include "gpu/fft_plan.h"
#include "gpu/kernel.h"

/* The table of factors that the fused kernel of this length reads, filled in host memory. */
size_t fft_fused_table_floats(size_t fft);
void fft_fused_fill_table(size_t fft, float *table);

/* Bytes of shared memory of the fused kernel of this length. */
size_t fft_fused_shared(size_t fft);

/* The spectrum of `taps` taps in the fused kernel's own order: 2 fft floats. */
cudaError_t fft_fused_form(size_t fft, const float *table, const float *taps, size_t count,
                           float *form, cudaStream_t stream);
cudaError_t fft_fused_launch(const struct kernel_job *job, const struct fft_plan *plan,
                             const float *table, cudaStream_t stream);

/* work[i] = taps[i] / fft, zero after them. */
cudaError_t fft_pass_pad(const float *taps, size_t count, size_t fft, float2 *work,
                         cudaStream_t stream);
/* The chunks of pairs [first, first + pairs), two by two, into `work`. */
cudaError_t fft_pass_gather(const struct kernel_job *job, const struct fft_plan *plan, size_t first,
                            size_t pairs, float2 *work, cudaStream_t stream);
cudaError_t fft_pass_multiply(const struct fft_plan *plan, size_t pairs, const float *form,
                              float2 *work, cudaStream_t stream);
/* The chunks' valid output, to its place in job->out. */
cudaError_t fft_pass_scatter(const struct kernel_job *job, const struct fft_plan *plan,
                             size_t first, size_t pairs, const float2 *work, cudaStream_t stream);

#endif
