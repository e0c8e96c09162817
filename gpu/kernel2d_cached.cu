/* A block loads only its tile into shared memory. It reads halo cells from global memory, since
 * neighbouring blocks have just brought them into the caches. Mask in constant memory. */
#include "gpu/constant_mask.cuh"
#include "gpu/kernel2d_device.cuh"

__global__ void convolve2d_cached(kernel2d_job job)
{
    extern __shared__ float shared[];
    channel2d p = channel2d_of(job);
    int width = (int)blockDim.x, height = (int)blockDim.y;
    int x = (int)threadIdx.x, y = (int)threadIdx.y;
    int row, column;
    tile_corner(p.columns, width, height, &row, &column);
    int top = row + (int)job.first; /* the tile's first row of `in` */
    shared[y * width + x] = cell(p, top + y, column + x);
    __syncthreads();
    if (row + y >= p.rows || column + x >= p.columns)
        return;
    float sum = 0;
    for (int i = 0; i < p.mask_rows; i++) {
        int r = y + p.mask_rows / 2 - i;
        float run = 0;
        for (int j = 0; j < p.mask_columns; j++) {
            int c = x + p.column_origin - j;
            bool inside = r >= 0 && r < height && c >= 0 && c < width;
            run += constant_mask[i * p.mask_columns + j] *
                   (inside ? shared[r * width + c] : cell(p, top + r, column + c));
        }
        sum += run;
    }
    put(p, row + y, column + x, sum);
}

static cudaError_t cached_launch(const struct kernel2d_job *job, cudaStream_t stream)
{
    return launch_tiles(&kernel2d_cached, convolve2d_cached, job, stream);
}

const struct kernel2d kernel2d_cached = {
    .name = "cached",
    .technique = "direct, tile in shared memory, halo cells cached",
    .way = TILE2D_CACHED,
    .load = load_constant_mask,
    .launch = cached_launch,
};
