/* One thread an output; mask and picture both in global memory. */
#include "gpu/kernel2d_device.cuh"

template <typename T> __global__ void convolve2d_basic(kernel2d_job job)
{
    const float *__restrict__ mask = job.mask;
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
            run += mask[i * p.mask_columns + j] *
                   cell(p, row + p.row_origin - i, column + p.column_origin - j);
        sum += run;
    }
    put(p, row, column, sum);
}

static cudaError_t basic_launch(const struct kernel2d_job *job, cudaStream_t stream)
{
    struct tile2d tile = kernel2d_tile(&kernel2d_basic, job);
    if (job->cells == KERNEL2D_BYTE)
        convolve2d_basic<unsigned char>
            <<<grid_of(job, &tile), threads_of(&tile), 0, stream>>>(*job);
    else
        convolve2d_basic<float><<<grid_of(job, &tile), threads_of(&tile), 0, stream>>>(*job);
    return cudaGetLastError();
}

const struct kernel2d kernel2d_basic = {
    .name = "basic",
    .technique = "direct, mask in global memory",
    .way = TILE2D_NONE,
    .load = NULL,
    .launch = basic_launch,
};
