/* Launchers of the double-precision convolver's kernels (convolver_cuda_double.c). They run before,
 * between and after cuFFT's real transforms. The functions do not synchronise. */
#ifndef HALO_GPU_DOUBLE_KERNELS_H
#define HALO_GPU_DOUBLE_KERNELS_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>

/* A block is divided into chunks of `hop` frames. Each chunk is transformed with the `keep` = fft -
 * hop frames before it. `batch` chunks of every channel are transformed at once. */
struct double_plan {
    size_t fft;
    size_t bins; /* fft / 2 + 1 */
    size_t hop;
    size_t keep;
    size_t chunks;  /* chunks of a block */
    size_t batch;   /* chunks of a batch; chunks after the block's last one are silent */
    size_t batches; /* batches of a block */
};

/* The paths of a mask in device memory, as in struct path_table. */
struct double_paths {
    const unsigned *first;
    const uint2 *paths; /* input and column */
};

/* work[column][i] = taps[column][i] / fft for i < count, else 0. At most 65,535 columns. */
cudaError_t double_pad(const struct double_plan *plan, const double *taps, size_t count,
                       size_t columns, double *work, cudaStream_t stream);

/* Converts rows of `frames` floats, without gaps, to rows of doubles that are `stride` apart. */
cudaError_t double_widen(const float *in, size_t frames, double *out, size_t stride, size_t rows,
                         cudaStream_t stream);

/* Copies chunks [first, first + batch) of every input to work[input][chunk][fft]. The rows are
 * `stride` frames apart and begin with `keep` frames of history. */
cudaError_t double_gather(const struct double_plan *plan, const double *rows, size_t stride,
                          size_t inputs, size_t first, double *work, cudaStream_t stream);

/* out[output][chunk][bins] = sum over the paths to the output of in[input][chunk] forms[column]. */
cudaError_t double_multiply(const struct double_plan *plan, const struct double_paths *paths,
                            size_t outputs, const double2 *in, const double2 *forms, double2 *out,
                            cudaStream_t stream);

/* Copies the valid frames of work[output][chunk][fft] to rows of floats (is_single) or doubles. */
cudaError_t double_scatter(const struct double_plan *plan, const double *work, size_t outputs,
                           size_t first, void *rows, bool is_single, size_t frames,
                           cudaStream_t stream);

#endif
