/* A block is as large as the tile that it puts out: its threads load that and the halo cells
 * round it into shared memory, in several goes. Mask in constant memory. */
#include "gpu/constant_mask.cuh"
#include "gpu/kernel2d_device.cuh"

template <typename T> __global__ void convolve2d_tiled_out(kernel2d_job job)
{
    extern __shared__ float shared[];
    channel2d<T> p = channel2d_of<T>(job);
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

static cudaError_t tiled_out_load(const struct kernel2d_job *job, cudaStream_t stream)
{
    /* Beyond 48 KB a kernel has to ask. */
    struct tile2d tile = kernel2d_tile(&kernel2d_tiled_out, job);
    int bytes = (int)(tile.shared_cells * sizeof(float));
    CUDA_TRY(cudaFuncSetAttribute(
        convolve2d_tiled_out<float>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    CUDA_TRY(cudaFuncSetAttribute(convolve2d_tiled_out<unsigned char>,
                                     cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    return load_constant_mask(job, stream);
}

static cudaError_t tiled_out_launch(const struct kernel2d_job *job, cudaStream_t stream)
{
    struct tile2d tile = kernel2d_tile(&kernel2d_tiled_out, job);
    size_t bytes = tile.shared_cells * sizeof(float);
    if (job->cells == KERNEL2D_BYTE)
        convolve2d_tiled_out<unsigned char>
            <<<grid_of(job, &tile), threads_of(&tile), bytes, stream>>>(*job);
    else
        convolve2d_tiled_out<float>
            <<<grid_of(job, &tile), threads_of(&tile), bytes, stream>>>(*job);
    return cudaGetLastError();
}

const struct kernel2d kernel2d_tiled_out = {
    .name = "tiled-out",
    .technique = "direct, a block as large as the tile it puts out",
    .way = TILE2D_OUT,
    .load = tiled_out_load,
    .launch = tiled_out_launch,
};
