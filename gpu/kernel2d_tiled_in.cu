/* A block is as large as the tile that it loads, halo cells and all: each thread loads one cell,
 * and then those at the rim, which have not the whole window of an output, put nothing out.
 * Mask in constant memory. */
#include "gpu/constant_mask.cuh"
#include "gpu/kernel2d_device.cuh"

template <typename T> __global__ void convolve2d_tiled_in(kernel2d_job job)
{
    extern __shared__ float shared[];
    channel2d<T> p = channel2d_of<T>(job);
    int width = (int)blockDim.x, x = (int)threadIdx.x, y = (int)threadIdx.y;
    int tile_columns = width - p.mask_columns + 1;
    int tile_rows = (int)blockDim.y - p.mask_rows + 1;
    int row, column;
    tile_corner(p.columns, tile_columns, tile_rows, &row, &column);
    shared[y * width + x] = cell(p, row + p.row_origin - (p.mask_rows - 1) + y,
                                 column + p.column_origin - (p.mask_columns - 1) + x);
    __syncthreads();
    if (x >= tile_columns || y >= tile_rows || row + y >= p.rows || column + x >= p.columns)
        return;
    float sum = 0;
    for (int i = 0; i < p.mask_rows; i++) {
        const float *window = shared + (y + p.mask_rows - 1 - i) * width + x + p.mask_columns - 1;
        float run = 0;
        for (int j = 0; j < p.mask_columns; j++)
            run += constant_mask[i * p.mask_columns + j] * window[-j];
        sum += run;
    }
    put(p, row + y, column + x, sum);
}

static cudaError_t tiled_in_launch(const struct kernel2d_job *job, cudaStream_t stream)
{
    struct tile2d tile = kernel2d_tile(&kernel2d_tiled_in, job);
    size_t bytes = tile.shared_cells * sizeof(float); /* 4 KB at most: 1024 threads */
    if (job->cells == KERNEL2D_BYTE)
        convolve2d_tiled_in<unsigned char>
            <<<grid_of(job, &tile), threads_of(&tile), bytes, stream>>>(*job);
    else
        convolve2d_tiled_in<float>
            <<<grid_of(job, &tile), threads_of(&tile), bytes, stream>>>(*job);
    return cudaGetLastError();
}

const struct kernel2d kernel2d_tiled_in = {
    .name = "tiled-in",
    .technique = "direct, a block as large as the tile it loads",
    .way = TILE2D_IN,
    .load = load_constant_mask,
    .launch = tiled_in_launch,
};
