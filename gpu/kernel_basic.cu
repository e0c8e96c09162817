/* One thread an output; mask and sound both in global memory. */
#include "gpu/kernel_device.cuh"

static constexpr unsigned THREADS = 256;

__global__ void convolve_basic(kernel_job job)
{
    const float *__restrict__ mask = job.mask;
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= (long long)job.frames)
        return;
    float sum = 0;
    for (int start = 0; start < (int)job.taps; start += RUN) {
        float run = 0;
        for (int k = start; k < (int)job.taps && k < start + RUN; k++)
            run += mask[k] * ghost(job.in, i + (long long)job.origin - k, (long long)job.frames_in,
                                 job.boundary);
        sum += run;
    }
    put(job, i, sum);
}

static cudaError_t basic_launch(const struct kernel_job *job, cudaStream_t stream)
{
    unsigned threads = job->threads ? job->threads : THREADS;
    convolve_basic<<<blocks_for(job->frames, threads), threads, 0, stream>>>(*job);
    return cudaGetLastError();
}

const struct kernel kernel_basic = {
    .name = "basic",
    .technique = "direct, mask in global memory",
    .taps_most = KERNEL_TAPS_CONSTANT, /* for the rounding's sake: its sums have two steps */
    .launch = basic_launch,
};
