/* A block loads its tile and the halo cells on both sides into shared memory once. Every thread
 * reads its window there. Mask in constant memory. */
#include "gpu/constant_mask.cuh"
#include "gpu/kernel_device.cuh"

__global__ void convolve_tiled(kernel_job job)
{
    extern __shared__ float tile[];
    long long base = (long long)blockIdx.x * blockDim.x;
    int taps = (int)job.taps;
    /* tile[j] is frame base + origin - (taps - 1) + j. The tile includes taps - 1 halo cells. */
    long long first = base + (long long)job.origin - (taps - 1);
    for (int j = (int)threadIdx.x; j < (int)blockDim.x + taps - 1; j += (int)blockDim.x)
        tile[j] = ghost(job.in, first + j, (long long)job.frames_in, job.boundary);
    __syncthreads();
    long long i = base + threadIdx.x;
    if (i >= (long long)job.frames)
        return;
    const float *window = tile + threadIdx.x + taps - 1;
    float sum = 0;
    for (int start = 0; start < taps; start += RUN) {
        float run = 0;
        for (int k = start; k < taps && k < start + RUN; k++)
            run += constant_mask[k] * window[-k];
        sum += run;
    }
    put(job, i, sum);
}

static size_t tile_bytes(const struct kernel_job *job)
{
    return (threads_of(job) + job->taps - 1) * sizeof(float);
}

static cudaError_t tiled_load(const struct kernel_job *job, cudaStream_t stream)
{
    /* A kernel must ask for more than 48 KB. */
    CUDA_TRY(cudaFuncSetAttribute(convolve_tiled, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  (int)tile_bytes(job)));
    return load_constant_mask(job, stream);
}

static cudaError_t tiled_launch(const struct kernel_job *job, cudaStream_t stream)
{
    return launch_threads(convolve_tiled, job, tile_bytes(job), stream);
}

const struct kernel kernel_tiled = {
    .name = "tiled",
    .technique = "direct, tile and halo cells in shared memory",
    .taps_most = KERNEL_TAPS_CONSTANT,
    .load = tiled_load,
    .launch = tiled_launch,
};
