/* Sums or windows are in registers, to use a loaded cell often. Strips or patches: see tile2d.c. */
#include "gpu/kernel2d_patch.cuh"
#include "gpu/kernel2d_strip.cuh"

/* Loads the mask, which begins at `row`, `column` of an array of `rows` x `columns`, else zeros. */
static cudaError_t load_padded(const struct kernel2d_job *job, size_t rows, size_t columns,
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

static cudaError_t register_load(const struct kernel2d_job *job, cudaStream_t stream)
{
    struct strip_shape shape = strip_shape_for(job->mask_rows, job->mask_columns);
    if (shape.rows > 0) /* puts the mask's origin on the kernel's origin */
        return load_padded(job, shape.rows, shape.columns, shape.rows / 2 - job->mask_rows / 2,
                           shape.columns / 2 - job->mask_columns / 2, stream);
    return load_padded(job, job->mask_rows, patch_mask_columns(job->mask_rows, job->mask_columns),
                       0, 0, stream);
}

static cudaError_t register_launch(const struct kernel2d_job *job, cudaStream_t stream)
{
    struct tile2d tile = kernel2d_tile(&kernel2d_register, job);
    struct strip_shape shape = strip_shape_for(job->mask_rows, job->mask_columns);
    if (shape.rows > 0)
        return launch_strip(job, &tile, shape, stream);
    int columns = (int)patch_mask_columns(job->mask_rows, job->mask_columns);
    convolve2d_patch<<<grid_of(job, &tile), threads_of(&tile), 0, stream>>>(*job, columns);
    return cudaGetLastError();
}

const struct kernel2d kernel2d_register = {
    .name = "register",
    .technique = "direct, strips and patches in registers",
    .way = TILE2D_REGISTER,
    .load = register_load,
    .launch = register_launch,
};
