/* One thread per output. basic: mask in global memory; constant: mask in constant memory. */
#include "gpu/constant_mask.cuh"
#include "gpu/kernel_device.cuh"

__device__ __forceinline__ void convolve_output(const kernel_job &job,
                                                const float *__restrict__ mask)
{
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

__global__ void convolve_basic(kernel_job job)
{
    convolve_output(job, job.mask);
}

__global__ void convolve_constant(kernel_job job)
{
    convolve_output(job, constant_mask);
}

static cudaError_t basic_launch(const struct kernel_job *job, cudaStream_t stream)
{
    return launch_threads(convolve_basic, job, 0, stream);
}

static cudaError_t constant_launch(const struct kernel_job *job, cudaStream_t stream)
{
    return launch_threads(convolve_constant, job, 0, stream);
}

const struct kernel kernel_basic = {
    .name = "basic",
    .technique = "direct, mask in global memory",
    .taps_most = KERNEL_TAPS_CONSTANT, /* the two-level sum of longer masks is less accurate */
    .launch = basic_launch,
};

const struct kernel kernel_constant = {
    .name = "constant",
    .technique = "direct, mask in constant memory",
    .taps_most = KERNEL_TAPS_CONSTANT,
    .load = load_constant_mask,
    .launch = constant_launch,
};
