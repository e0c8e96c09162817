/* A block has a thread for each cell of its output tile. A thread loads several cells of the tile
 * and its halo into shared memory. Mask in constant memory. */
#include "gpu/constant_mask.cuh"
#include "gpu/kernel2d_device.cuh"

__global__ void convolve2d_tiled_out(kernel2d_job job)
{
    extern __shared__ float shared[];
    channel2d p = channel2d_of(job);
    int x = (int)threadIdx.x, y = (int)threadIdx.y;
    int width = (int)blockDim.x + p.mask_columns - 1, height = (int)blockDim.y + p.mask_rows - 1;
    int row, column;
    tile_corner(p.columns, (int)blockDim.x, (int)blockDim.y, &row, &column);
    for (int r = y; r < height; r += (int)blockDim.y)
        for (int c = x; c < width; c += (int)blockDim.x)
            shared[r * width + c] = cell(p, row + p.row_origin - (p.mask_rows - 1) + r,
                                         column + p.column_origin - (p.mask_columns - 1) + c);
    __syncthreads();
    if (row + y >= p.rows || column + x >= p.columns)
        return;
    put(p, row + y, column + x, sum_window(p, constant_mask, shared, x, y, width));
}

static cudaError_t tiled_out_load(const struct kernel2d_job *job, cudaStream_t stream)
{
    struct tile2d tile = kernel2d_tile(&kernel2d_tiled_out, job);
    /* A kernel must ask for more than 48 KB. */
    int bytes = (int)(tile.shared_cells * sizeof(float));
    CUDA_TRY(cudaFuncSetAttribute(convolve2d_tiled_out, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  bytes));
    return load_constant_mask(job, stream);
}

static cudaError_t tiled_out_launch(const struct kernel2d_job *job, cudaStream_t stream)
{
    return launch_tiles(&kernel2d_tiled_out, convolve2d_tiled_out, job, stream);
}

const struct kernel2d kernel2d_tiled_out = {
    .name = "tiled-out",
    .technique = "direct, a block as large as its output tile",
    .way = TILE2D_OUT,
    .load = tiled_out_load,
    .launch = tiled_out_launch,
};
