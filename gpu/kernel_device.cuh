/* What the one-dimensional kernels share. */
#ifndef HALO_GPU_KERNEL_DEVICE_CUH
#define HALO_GPU_KERNEL_DEVICE_CUH

extern "C" {
#include "gpu/kernel.h"
}

#include <cuda_runtime.h>

/* Products per partial sum. A single sum of thousands of products loses 15 dB to rounding. */
static constexpr int RUN = 128;

/* Frame `index` of `in`, or a ghost cell beyond the ends. */
__device__ __forceinline__ float ghost(const float *__restrict__ in, long long index,
                                       long long frames, kernel_boundary boundary)
{
    if (index >= 0 && index < frames)
        return in[index];
    if (boundary == KERNEL_ZERO)
        return 0.0f;
    return in[index < 0 ? 0 : frames - 1];
}

__device__ __forceinline__ void put(const kernel_job &job, long long i, float sum)
{
    job.out[i] = job.add ? job.out[i] + sum : sum;
}

/* Stores four outputs at once. `i` is a multiple of 4. */
__device__ __forceinline__ void put_four(const kernel_job &job, long long i, float4 sum)
{
    float4 *out = reinterpret_cast<float4 *>(job.out + i);
    if (job.add) {
        float4 before = *out;
        sum.x += before.x, sum.y += before.y, sum.z += before.z, sum.w += before.w;
    }
    __stcs(out, sum); /* streaming, since it is not read again soon */
}

static constexpr unsigned THREADS = 256;

static inline unsigned threads_of(const struct kernel_job *job)
{
    return job->threads ? job->threads : THREADS;
}

static inline unsigned blocks_for(size_t frames, size_t tile)
{
    return (unsigned)((frames + tile - 1) / tile);
}

/* Launches one thread per output, with `shared_bytes` of shared memory per block. */
static inline cudaError_t launch_threads(void (*kernel)(kernel_job), const struct kernel_job *job,
                                         size_t shared_bytes, cudaStream_t stream)
{
    unsigned threads = threads_of(job);
    kernel<<<blocks_for(job->frames, threads), threads, shared_bytes, stream>>>(*job);
    return cudaGetLastError();
}

#endif
