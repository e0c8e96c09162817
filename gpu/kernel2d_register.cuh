/* Sums or windows in registers, so that a loaded cell is used many times: strips for small masks,
 * patches for larger ones (tile2d.c chooses). Kernels for floats and for bytes are in two files,
 * to be compiled in parallel; each has its own bank of constant memory. */
#ifndef HALO_GPU_KERNEL2D_REGISTER_CUH
#define HALO_GPU_KERNEL2D_REGISTER_CUH

#include "gpu/kernel2d_patch.cuh"
#include "gpu/kernel2d_strip.cuh"

cudaError_t kernel2d_register_load_bytes(const struct kernel2d_job *job, cudaStream_t stream);
cudaError_t kernel2d_register_launch_bytes(const struct kernel2d_job *job, cudaStream_t stream);

/* The mask within zeros: from `row` and `column` of a bank of `rows` x `columns` on. */
static inline cudaError_t load_padded(const struct kernel2d_job *job, size_t rows, size_t columns,
                                      size_t row, size_t column, cudaStream_t stream)
{
    void *bank;
    CUDA_TRY(cudaGetSymbolAddress(&bank, constant_mask));
    CUDA_TRY(cudaMemsetAsync(bank, 0, rows * columns * sizeof(float), stream));
    size_t width = job->mask_columns * sizeof(float);
    return cudaMemcpy2DAsync((float *)bank + row * columns + column, columns * sizeof(float),
                             job->mask, width, width, job->mask_rows, cudaMemcpyDeviceToDevice,
                             stream);
}

static inline cudaError_t load_register_mask(const struct kernel2d_job *job, cudaStream_t stream)
{
    struct strip_shape shape = strip_shape_for(job->mask_rows, job->mask_columns);
    if (shape.rows > 0) /* origin on origin */
        return load_padded(job, shape.rows, shape.columns, shape.rows / 2 - job->mask_rows / 2,
                           shape.columns / 2 - job->mask_columns / 2, stream);
    return load_padded(job, job->mask_rows, patch_mask_columns(job->mask_rows, job->mask_columns),
                       0, 0, stream);
}

template <typename T>
static cudaError_t launch_register(const struct kernel2d_job *job, cudaStream_t stream)
{
    struct tile2d tile = kernel2d_tile(&kernel2d_register, job);
    struct strip_shape shape = strip_shape_for(job->mask_rows, job->mask_columns);
    if (shape.rows > 0)
        return launch_strip<T>(job, &tile, shape, stream);
    int columns = (int)patch_mask_columns(job->mask_rows, job->mask_columns);
    convolve2d_patch<T><<<grid_of(job, &tile), threads_of(&tile), 0, stream>>>(*job, columns);
    return cudaGetLastError();
}

#endif
