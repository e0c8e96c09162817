/* Sums or windows in registers, so that a loaded cell is used many times: strips for small masks,
 * patches for larger ones (tile2d.c chooses). Kernels for floats and for bytes are in two files,
 * to be compiled in parallel; each has its own bank of constant memory. */
#ifndef HALO_GPU_KERNEL2D_REGISTER_CUH
#define HALO_GPU_KERNEL2D_REGISTER_CUH

#include "gpu/kernel2d_patch.cuh"
#include "gpu/kernel2d_strip.cuh"

cudaError_t kernel2d_register_load_bytes(const struct kernel2d_job *job, cudaStream_t stream);
cudaError_t kernel2d_register_launch_bytes(const struct kernel2d_job *job, cudaStream_t stream);

/* For strips: the mask within zeros, origin on origin. */
static inline cudaError_t load_padded(const struct kernel2d_job *job, struct strip_shape shape,
                                      cudaStream_t stream)
{
    void *bank;
    CUDA_TRY(cudaGetSymbolAddress(&bank, constant_mask));
    CUDA_TRY(cudaMemsetAsync(bank, 0, (size_t)shape.rows * shape.columns * sizeof(float), stream));
    size_t row = shape.rows / 2 - job->mask_rows / 2;
    size_t column = shape.columns / 2 - job->mask_columns / 2;
    size_t width = job->mask_columns * sizeof(float);
    return cudaMemcpy2DAsync((float *)bank + row * shape.columns + column,
                             shape.columns * sizeof(float), job->mask, width, width, job->mask_rows,
                             cudaMemcpyDeviceToDevice, stream);
}

static inline cudaError_t load_register_mask(const struct kernel2d_job *job, cudaStream_t stream)
{
    struct strip_shape shape = strip_shape_for(job->mask_rows, job->mask_columns);
    if (shape.rows > 0)
        return load_padded(job, shape, stream);
    return load_constant_mask(job, stream);
}

template <typename T>
static cudaError_t launch_register(const struct kernel2d_job *job, cudaStream_t stream)
{
    struct tile2d tile = kernel2d_tile(&kernel2d_register, job);
    struct strip_shape shape = strip_shape_for(job->mask_rows, job->mask_columns);
    if (shape.rows > 0)
        return launch_strip<T>(job, &tile, shape, stream);
    convolve2d_patch<T><<<grid_of(job, &tile), threads_of(&tile), 0, stream>>>(*job);
    return cudaGetLastError();
}

#endif
