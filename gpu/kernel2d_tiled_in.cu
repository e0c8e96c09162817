/* A block has a thread for each cell of its input tile, halo cells included. Threads on the rim
 * load a cell but write no output. Mask in constant memory. */
#include "gpu/constant_mask.cuh"
#include "gpu/kernel2d_device.cuh"

__global__ void convolve2d_tiled_in(kernel2d_job job)
{
    extern __shared__ float shared[];
    channel2d p = channel2d_of(job);
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
    put(p, row + y, column + x, sum_window(p, constant_mask, shared, x, y, width));
}

static cudaError_t tiled_in_launch(const struct kernel2d_job *job, cudaStream_t stream)
{
    return launch_tiles(&kernel2d_tiled_in, convolve2d_tiled_in, job, stream);
}

const struct kernel2d kernel2d_tiled_in = {
    .name = "tiled-in",
    .technique = "direct, a block as large as its input tile",
    .way = TILE2D_IN,
    .load = load_constant_mask,
    .launch = tiled_in_launch,
};
