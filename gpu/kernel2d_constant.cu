/* One thread an output; the mask in constant memory. */
#include "gpu/constant_mask.cuh"
#include "gpu/kernel2d_device.cuh"

template <typename T> __global__ void convolve2d_constant(kernel2d_job job)
{
    channel2d<T> p = channel2d_of<T>(job);
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
            run += constant_mask[i * p.mask_columns + j] *
                   cell(p, row + p.row_origin - i, column + p.column_origin - j);
        sum += run;
    }
    put(p, row, column, sum);
}

static cudaError_t constant_launch(const struct kernel2d_job *job, cudaStream_t stream)
{
    struct tile2d tile = kernel2d_tile(&kernel2d_constant, job);
    if (job->cells == KERNEL2D_BYTE)
        convolve2d_constant<unsigned char>
            <<<grid_of(job, &tile), threads_of(&tile), 0, stream>>>(*job);
    else
        convolve2d_constant<float><<<grid_of(job, &tile), threads_of(&tile), 0, stream>>>(*job);
    return cudaGetLastError();
}

const struct kernel2d kernel2d_constant = {
    .name = "constant",
    .technique = "direct, mask in constant memory",
    .way = TILE2D_NONE,
    .load = load_constant_mask,
    .launch = constant_launch,
};
