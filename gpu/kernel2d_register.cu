#include "gpu/kernel2d_register.cuh"

static cudaError_t register_load(const struct kernel2d_job *job, cudaStream_t stream)
{
    return job->cells == KERNEL2D_BYTE ? kernel2d_register_load_bytes(job, stream)
                                       : load_register_mask(job, stream);
}

static cudaError_t register_launch(const struct kernel2d_job *job, cudaStream_t stream)
{
    return job->cells == KERNEL2D_BYTE ? kernel2d_register_launch_bytes(job, stream)
                                       : launch_register<float>(job, stream);
}

const struct kernel2d kernel2d_register = {
    .name = "register",
    .technique = "direct, strips and patches in registers",
    .way = TILE2D_REGISTER,
    .load = register_load,
    .launch = register_launch,
};
