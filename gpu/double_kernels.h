/* The kernels of the double-precision convolver (convolver_cuda_double.c): passes before, between
 * and after cuFFT's real transforms. Launchers; functions do not synchronise. */
#ifndef HALO_GPU_DOUBLE_KERNELS_H
#define HALO_GPU_DOUBLE_KERNELS_H

#include <cuda_runtime_api.h>
#include <stddef.h>

/* A block is cut into chunks of `hop` frames, each transformed with the `keep` = fft - hop frames
 * before it. `batch` chunks of every channel are transformed at once. */
struct double_plan {
    size_t fft;
    size_t bins; /* fft / 2 + 1 */
    size_t hop;
    size_t keep;
    size_t chunks;  /* of a block */
    size_t batch;   /* chunks; beyond the last one they are silent */
    size_t batches; /* of a block */
};

/* The paths of a mask in device memory, as in struct path_table. */
struct double_paths {
    const unsigned *first;
    const uint2 *paths; /* input and column */
};

/* work[i] = taps[i] / fft, zero after them; in place too. */
cudaError_t double_pad(const struct double_plan *plan, const double *taps, size_t count,
                       double *work, cudaStream_t stream);

/* Chunks [first, first + batch) of every input: work[input][chunk][fft], from rows of `stride`
 * frames that begin with `keep` frames of history. */
cudaError_t double_gather(const struct double_plan *plan, const double *rows, size_t stride,
                          size_t inputs, size_t first, double *work, cudaStream_t stream);

/* out[output][chunk][bins] = sum over the paths to the output of in[input][chunk] forms[column]. */
cudaError_t double_multiply(const struct double_plan *plan, const struct double_paths *paths,
                            size_t outputs, const double2 *in, const double2 *forms, double2 *out,
                            cudaStream_t stream);

/* The valid frames of work[output][chunk][fft] to rows of `frames` frames. */
cudaError_t double_scatter(const struct double_plan *plan, const double *work, size_t outputs,
                           size_t first, double *rows, size_t frames, cudaStream_t stream);

#endif
