/* One thread an output; the mask in constant memory. */
#include "gpu/constant_mask.cuh"
#include "gpu/kernel_device.cuh"

static constexpr unsigned THREADS = 256;

__global__ void convolve_constant(kernel_job job)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= (long long)job.frames)
        return;
    float sum = 0;
    for (int start = 0; start < (int)job.taps; start += RUN) {
        float run = 0;
        for (int k = start; k < (int)job.taps && k < start + RUN; k++)
            run += constant_mask[k] * ghost(job.in, i + (long long)job.origin - k, (long long)job.frames_in,
                                 job.boundary);
        sum += run;
    }
    put(job, i, sum);
}

static cudaError_t constant_launch(const struct kernel_job *job, cudaStream_t stream)
{
    unsigned threads = job->threads ? job->threads : THREADS;
    convolve_constant<<<blocks_for(job->frames, threads), threads, 0, stream>>>(*job);
    return cudaGetLastError();
}

const struct kernel kernel_constant = {
    .name = "constant",
    .technique = "direct, mask in constant memory",
    .taps_most = KERNEL_TAPS_CONSTANT,
    .load = load_constant_mask,
    .launch = constant_launch,
};
