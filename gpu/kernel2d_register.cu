/* Ours: the picture goes through registers, so that a loaded cell serves many products. Small
 * masks run down strips, larger ones over patches; tile2d.c tells which. */
#include "gpu/kernel2d_patch.cuh"
#include "gpu/kernel2d_strip.cuh"

/* For strips, the mask in the middle of a square, as its origin has it. */
static cudaError_t load_square(const struct kernel2d_job *job, size_t side, cudaStream_t stream)
{
    void *bank;
    cudaError_t error = cudaGetSymbolAddress(&bank, constant_mask);
    if (error == cudaSuccess)
        error = cudaMemsetAsync(bank, 0, side * side * sizeof(float), stream);
    size_t row = side / 2 - job->mask_rows / 2, column = side / 2 - job->mask_columns / 2;
    size_t width = job->mask_columns * sizeof(float);
    if (error == cudaSuccess)
        error = cudaMemcpy2DAsync((float *)bank + row * side + column, side * sizeof(float),
                                  job->mask, width, width, job->mask_rows,
                                  cudaMemcpyDeviceToDevice, stream);
    return error;
}

static cudaError_t register_load(const struct kernel2d_job *job, cudaStream_t stream)
{
    size_t side = strip_side(job->mask_rows, job->mask_columns);
    if (side > 0)
        return load_square(job, side, stream);
    return constant_mask_load(job->mask, 0, job->mask_rows * job->mask_columns, stream);
}

template <typename T>
static void launch(const struct kernel2d_job *job, const struct tile2d *tile, cudaStream_t stream)
{
    size_t side = strip_side(job->mask_rows, job->mask_columns);
    if (side > 0)
        launch_strip<STRIP_SIDE_MOST, T>(job, tile, side, stream);
    else
        convolve2d_patch<T><<<grid_of(job, tile), threads_of(tile), 0, stream>>>(*job);
}

static cudaError_t register_launch(const struct kernel2d_job *job, cudaStream_t stream)
{
    struct tile2d tile = kernel2d_tile(&kernel2d_register, job);
    if (job->cells == KERNEL2D_BYTE)
        launch<unsigned char>(job, &tile, stream);
    else
        launch<float>(job, &tile, stream);
    return cudaGetLastError();
}

const struct kernel2d kernel2d_register = {
    .name = "register",
    .technique = "direct, strips and patches in registers",
    .way = TILE2D_REGISTER,
    .load = register_load,
    .launch = register_launch,
};
