#include "gpu/kernel2d_register.cuh"

cudaError_t kernel2d_register_load_bytes(const struct kernel2d_job *job, cudaStream_t stream)
{
    return load_register_mask(job, stream);
}

cudaError_t kernel2d_register_launch_bytes(const struct kernel2d_job *job, cudaStream_t stream)
{
    return launch_register<unsigned char>(job, stream);
}
