/* A block loads only its tile into shared memory. It reads halo cells from global memory, since
 * neighbouring blocks have just brought them into the caches. Mask in constant memory. */
#include "gpu/constant_mask.cuh"
#include "gpu/kernel_device.cuh"

__global__ void convolve_cached(kernel_job job)
{
    extern __shared__ float tile[];
    long long base = (long long)blockIdx.x * blockDim.x, frames = (long long)job.frames_in;
    long long i = base + threadIdx.x;
    tile[threadIdx.x] = ghost(job.in, i, frames, job.boundary);
    __syncthreads();
    if (i >= (long long)job.frames)
        return;
    float sum = 0;
    for (int start = 0; start < (int)job.taps; start += RUN) {
        float run = 0;
        for (int k = start; k < (int)job.taps && k < start + RUN; k++) {
            long long index = i + (long long)job.origin - k;
            bool inside = index >= base && index < base + (long long)blockDim.x;
            run += constant_mask[k] *
                   (inside ? tile[index - base] : ghost(job.in, index, frames, job.boundary));
        }
        sum += run;
    }
    put(job, i, sum);
}

static cudaError_t cached_launch(const struct kernel_job *job, cudaStream_t stream)
{
    return launch_threads(convolve_cached, job, threads_of(job) * sizeof(float), stream);
}

const struct kernel kernel_cached = {
    .name = "cached",
    .technique = "direct, tile in shared memory, halo cells cached",
    .taps_most = KERNEL_TAPS_CONSTANT,
    .load = load_constant_mask,
    .launch = cached_launch,
};
