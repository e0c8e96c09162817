/* A mask in constant memory, from which all threads of a warp read a tap as fast as from a
 * register. Each file that includes this header is a module of its own, with 64 KB of its own. */
#ifndef HALO_GPU_CONSTANT_MASK_CUH
#define HALO_GPU_CONSTANT_MASK_CUH

extern "C" {
#include "gpu/gpu.h"
#include "gpu/kernel2d.h"
}

#include <cuda_runtime.h>

static __constant__ float constant_mask[KERNEL_TAPS_CONSTANT];

/* Loads taps into places [at, at + count) of constant memory. */
static inline cudaError_t constant_mask_load(const float *taps, size_t at, size_t count,
                                             cudaStream_t stream)
{
    return cudaMemcpyToSymbolAsync(constant_mask, taps, count * sizeof(float), at * sizeof(float),
                                   cudaMemcpyDefault, stream);
}

/* Loads all of a job's mask. Most kernels use this as their `load`. */
static inline cudaError_t load_constant_mask(const struct kernel_job *job, cudaStream_t stream)
{
    return constant_mask_load(job->mask, 0, job->taps, stream);
}

static inline cudaError_t load_constant_mask(const struct kernel2d_job *job, cudaStream_t stream)
{
    return constant_mask_load(job->mask, 0, job->mask_rows * job->mask_columns, stream);
}

/* Loads all of a mask, with `before` and `after` zeros around it, up to 16 each. */
static inline cudaError_t constant_mask_load_between(const float *taps, size_t before, size_t count,
                                                     size_t after, cudaStream_t stream)
{
    static const float zeros[16] = {0};
    if (before > 0)
        CUDA_TRY(constant_mask_load(zeros, 0, before, stream));
    CUDA_TRY(constant_mask_load(taps, before, count, stream));
    return after > 0 ? constant_mask_load(zeros, before + count, after, stream) : cudaSuccess;
}

#endif
