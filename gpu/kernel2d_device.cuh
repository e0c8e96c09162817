/* Shared by the two-dimensional kernels. */
#ifndef HALO_GPU_KERNEL2D_DEVICE_CUH
#define HALO_GPU_KERNEL2D_DEVICE_CUH

extern "C" {
#include "gpu/kernel2d.h"
}

#include <cuda_runtime.h>

/* One channel of a job, with 32-bit sizes. */
struct channel2d {
    const float *in;
    float *out;
    int rows_in;
    int rows;
    int columns;
    int row_origin; /* the row of `in` that mask row 0 meets for row 0 of out */
    int column_origin;
    int mask_rows;
    int mask_columns;
    size_t pitch_in;
    size_t pitch_out;
    kernel_boundary boundary;
};

/* The channel of this thread block, which is blockIdx.y. */
__device__ __forceinline__ channel2d channel2d_of(const kernel2d_job &job)
{
    size_t channel = blockIdx.y;
    return {
        reinterpret_cast<const float *>(static_cast<const char *>(job.in) + channel * job.plane_in),
        reinterpret_cast<float *>(static_cast<char *>(job.out) + channel * job.plane_out),
        (int)job.rows_in,
        (int)job.rows,
        (int)job.columns,
        (int)(job.first + job.mask_rows / 2),
        (int)(job.mask_columns / 2),
        (int)job.mask_rows,
        (int)job.mask_columns,
        job.pitch_in,
        job.pitch_out,
        job.boundary,
    };
}

/* The index of the value at `at` under the boundary policy. -1: the value is zero. */
__device__ __forceinline__ int place(int at, int count, kernel_boundary boundary)
{
    if (at >= 0 && at < count)
        return at;
    if (boundary == KERNEL_ZERO)
        return -1;
    if (boundary == KERNEL_REPLICATE || count == 1)
        return at < 0 ? 0 : count - 1;
    int period = 2 * (count - 1);
    at = (at < 0 ? -at : at) % period;
    return at < count ? at : period - at;
}

__device__ __forceinline__ const float *row_at(const float *in, int row, size_t pitch)
{
    return reinterpret_cast<const float *>(reinterpret_cast<const char *>(in) +
                                           (size_t)row * pitch);
}

/* The cell at that place, or a ghost cell beyond the boundary. */
__device__ __forceinline__ float cell(const channel2d &p, int row, int column)
{
    row = place(row, p.rows_in, p.boundary);
    column = place(column, p.columns, p.boundary);
    return row < 0 || column < 0 ? 0.0f : row_at(p.in, row, p.pitch_in)[column];
}

/* The output whose window begins at (x, y) of the shared tile, which is `width` cells wide. */
__device__ __forceinline__ float sum_window(const channel2d &p, const float *mask,
                                            const float *shared, int x, int y, int width)
{
    float sum = 0;
    for (int i = 0; i < p.mask_rows; i++) {
        const float *window = shared + (y + p.mask_rows - 1 - i) * width + x + p.mask_columns - 1;
        float run = 0;
        for (int j = 0; j < p.mask_columns; j++)
            run += mask[i * p.mask_columns + j] * window[-j];
        sum += run;
    }
    return sum;
}

__device__ __forceinline__ void put(const channel2d &p, int row, int column, float sum)
{
    reinterpret_cast<float *>(reinterpret_cast<char *>(p.out) + (size_t)row * p.pitch_out)[column] =
        sum;
}

/* This thread block's first output. The grid is one row, since pictures may have any height. */
__device__ __forceinline__ void tile_corner(int columns, int tile_columns, int tile_rows, int *row,
                                            int *column)
{
    int across = (columns + tile_columns - 1) / tile_columns;
    *row = (int)blockIdx.x / across * tile_rows;
    *column = (int)blockIdx.x % across * tile_columns;
}

static inline dim3 grid_of(const struct kernel2d_job *job, const struct tile2d *tile)
{
    size_t across = (job->columns + tile->columns - 1) / tile->columns;
    size_t down = (job->rows + tile->rows - 1) / tile->rows;
    return dim3((unsigned)(across * down), (unsigned)job->channels);
}

static inline dim3 threads_of(const struct tile2d *tile)
{
    return dim3(tile->block.columns, tile->block.rows);
}

/* Launches the kernel over all tiles. */
static inline cudaError_t launch_tiles(const struct kernel2d *kernel,
                                       void (*convolve)(kernel2d_job),
                                       const struct kernel2d_job *job, cudaStream_t stream)
{
    struct tile2d tile = kernel2d_tile(kernel, job);
    convolve<<<grid_of(job, &tile), threads_of(&tile), tile.shared_cells * sizeof(float), stream>>>(
        *job);
    return cudaGetLastError();
}

#endif
