/* One thread per output. basic: mask in global memory; constant: mask in constant memory. */
#include "gpu/constant_mask.cuh"
#include "gpu/kernel2d_device.cuh"

__device__ __forceinline__ void convolve2d_output(const kernel2d_job &job,
                                                  const float *__restrict__ mask)
{
    channel2d p = channel2d_of(job);
    int row, column;
    tile_corner(p.columns, (int)blockDim.x, (int)blockDim.y, &row, &column);
    row += (int)threadIdx.y;
    column += (int)threadIdx.x;
    if (row >= p.rows || column >= p.columns)
        return;
    float sum = 0;
    for (int i = 0; i < p.mask_rows; i++) {
        float run = 0;
        for (int j = 0; j < p.mask_columns; j++)
            run += mask[i * p.mask_columns + j] *
                   cell(p, row + p.row_origin - i, column + p.column_origin - j);
        sum += run;
    }
    put(p, row, column, sum);
}

__global__ void convolve2d_basic(kernel2d_job job)
{
    convolve2d_output(job, job.mask);
}

__global__ void convolve2d_constant(kernel2d_job job)
{
    convolve2d_output(job, constant_mask);
}

static cudaError_t basic_launch(const struct kernel2d_job *job, cudaStream_t stream)
{
    return launch_tiles(&kernel2d_basic, convolve2d_basic, job, stream);
}

static cudaError_t constant_launch(const struct kernel2d_job *job, cudaStream_t stream)
{
    return launch_tiles(&kernel2d_constant, convolve2d_constant, job, stream);
}

const struct kernel2d kernel2d_basic = {
    .name = "basic",
    .technique = "direct, mask in global memory",
    .way = TILE2D_NONE,
    .load = NULL,
    .launch = basic_launch,
};

const struct kernel2d kernel2d_constant = {
    .name = "constant",
    .technique = "direct, mask in constant memory",
    .way = TILE2D_NONE,
    .load = load_constant_mask,
    .launch = constant_launch,
};
