/* Larger masks, of any shape. A block computes a patch of 128 columns and 32 rows. It takes the
 * mask in pieces of up to 16 rows and 32 columns, one after the other, with the piece's input in
 * shared memory. A thread owns 8 columns of 4 rows. For each row it slides a window of 16 cells
 * along a row of the mask, 8 coefficients at a time: 256 FMAs for 8 loads of 16 bytes. Threads are
 * 8 cells apart, so every 8 cells are followed by 4 unused ones (skew). Then eight threads' loads
 * use all 32 banks. Products are summed in runs of up to 128, then the runs are summed. */
#ifndef HALO_GPU_KERNEL2D_PATCH_CUH
#define HALO_GPU_KERNEL2D_PATCH_CUH

#include "gpu/constant_mask.cuh"
#include "gpu/kernel2d_device.cuh"

static constexpr int PATCH_THREADS = PATCH_ACROSS * PATCH_DOWN;
static constexpr int PATCH_BLOCKS = 3;        /* blocks per multiprocessor, at least */
static constexpr int PATCH_MASK_ROWS = 16;    /* rows of a piece of the mask */
static constexpr int PATCH_MASK_COLUMNS = 32; /* columns of a piece, a multiple of PATCH_COLUMNS */
static constexpr int PATCH_RUN = 4;           /* mask rows whose products are one sum */
static constexpr int PATCH_SKEWED = 12;       /* floats that 8 cells take in shared memory */
static constexpr int PATCH_PITCH =
    (PATCH_ACROSS * PATCH_COLUMNS + PATCH_MASK_COLUMNS) / PATCH_COLUMNS * PATCH_SKEWED;
static constexpr int PATCH_ACROSS_LOADS =
    (PATCH_ACROSS * PATCH_COLUMNS + PATCH_MASK_COLUMNS + 31) / 32;
static constexpr int PATCH_TILE_ROWS = PATCH_DOWN * PATCH_ROWS + PATCH_MASK_ROWS - 1;

typedef float patch_cells[PATCH_ROWS][PATCH_COLUMNS];

__device__ __forceinline__ void load_cells(patch_cells &cells, const float *from)
{
#pragma unroll
    for (int h = 0; h < PATCH_ROWS; h++)
#pragma unroll
        for (int c = 0; c < PATCH_COLUMNS; c += 4) {
            float4 four = *reinterpret_cast<const float4 *>(from + h * PATCH_PITCH + c);
            cells[h][c] = four.x, cells[h][c + 1] = four.y;
            cells[h][c + 2] = four.z, cells[h][c + 3] = four.w;
        }
}

/* sum += coefficients [first, first + 8) of a row, on windows of 16 cells. `near`: the outputs' own
 * cells. `far`: the 8 cells before them. LAST: only `count` coefficients. */
template <bool LAST>
__device__ __forceinline__ void add_eight(patch_cells &sum, const patch_cells &near,
                                          const patch_cells &far, int first, int count)
{
#pragma unroll
    for (int t = 0; t < PATCH_COLUMNS; t++) {
        if (LAST && t >= count)
            break;
        float tap = constant_mask[first + t];
#pragma unroll
        for (int h = 0; h < PATCH_ROWS; h++)
#pragma unroll
            for (int c = 0; c < PATCH_COLUMNS; c++)
                sum[h][c] += tap * (c >= t ? near[h][c >= t ? c - t : 0]
                                           : far[h][c >= t ? 0 : PATCH_COLUMNS + c - t]);
    }
}

/* Adds a row of a piece: `count` coefficients from `first` on. The first one meets cells `at`. */
__device__ __forceinline__ void add_mask_row(patch_cells &sum, const float *at, int first,
                                             int count)
{
    patch_cells even, odd;
    load_cells(even, at);
#pragma unroll
    for (int u = 0; u < PATCH_MASK_COLUMNS; u += 2 * PATCH_COLUMNS) {
        if (u >= count)
            break;
        load_cells(odd, at -= PATCH_SKEWED);
        if (u + PATCH_COLUMNS <= count)
            add_eight<false>(sum, even, odd, first + u, 0);
        else
            add_eight<true>(sum, even, odd, first + u, count - u);
        if (u + PATCH_COLUMNS >= count)
            break;
        load_cells(even, at -= PATCH_SKEWED);
        if (u + 2 * PATCH_COLUMNS <= count)
            add_eight<false>(sum, odd, even, first + u + PATCH_COLUMNS, 0);
        else
            add_eight<true>(sum, odd, even, first + u + PATCH_COLUMNS, count - u - PATCH_COLUMNS);
    }
}

__device__ __forceinline__ void move_sum(patch_cells &total, patch_cells &sum)
{
#pragma unroll
    for (int h = 0; h < PATCH_ROWS; h++)
#pragma unroll
        for (int c = 0; c < PATCH_COLUMNS; c++) {
            total[h][c] += sum[h][c];
            sum[h][c] = 0;
        }
}

/* Each warp loads a row. A lane's cells are 32 apart, a multiple of 8, so their skew is equal. */
__device__ __forceinline__ void load_tile(float *shared, const channel2d &p, int first_row,
                                          int first_column, int rows, int columns)
{
    int thread = (int)(threadIdx.y * PATCH_ACROSS + threadIdx.x), lane = thread % 32;
    bool is_inside = first_row >= 0 && first_row + rows <= p.rows_in && first_column >= 0 &&
                     first_column + columns <= p.columns;
    float *to = shared + lane / PATCH_COLUMNS * PATCH_SKEWED + lane % PATCH_COLUMNS;
    auto at = [](int r, int k) { return r * PATCH_PITCH + 32 / PATCH_COLUMNS * PATCH_SKEWED * k; };
    if (is_inside) {
        const float *from = row_at(p.in, first_row, p.pitch_in) + first_column + lane;
#pragma unroll 4
        for (int r = thread / 32; r < rows; r += PATCH_THREADS / 32)
#pragma unroll
            for (int k = 0; k < PATCH_ACROSS_LOADS; k++)
                if (lane + 32 * k < columns)
                    to[at(r, k)] = __ldg(row_at(from, r, p.pitch_in) + 32 * k);
    } else {
        for (int r = thread / 32; r < rows; r += PATCH_THREADS / 32)
            for (int k = 0; lane + 32 * k < columns; k++)
                to[at(r, k)] = cell(p, first_row + r, first_column + lane + 32 * k);
    }
}

/* The length of pieces of at most `most`, a multiple of `step`: as few and even as possible. */
__device__ __forceinline__ int piece_of(int length, int most, int step)
{
    int pieces = (length + most - 1) / most;
    return ((length + pieces - 1) / pieces + step - 1) / step * step;
}

/* Each row of the mask in constant memory is padded with zeros to `mask_columns` coefficients. */
__global__ void __launch_bounds__(PATCH_THREADS, PATCH_BLOCKS)
    convolve2d_patch(kernel2d_job job, int mask_columns)
{
    __shared__ __align__(16) float shared[PATCH_TILE_ROWS * PATCH_PITCH];
    channel2d p = channel2d_of(job);
    int x = (int)threadIdx.x * PATCH_COLUMNS, y = (int)threadIdx.y * PATCH_ROWS;
    int row, column;
    tile_corner(p.columns, PATCH_ACROSS * PATCH_COLUMNS, PATCH_DOWN * PATCH_ROWS, &row, &column);

    int height = piece_of(p.mask_rows, PATCH_MASK_ROWS, 1);
    int width = piece_of(mask_columns, PATCH_MASK_COLUMNS, PATCH_COLUMNS);
    patch_cells total = {}, sum = {};
    for (int i0 = 0; i0 < p.mask_rows; i0 += height)
        for (int j0 = 0; j0 < mask_columns; j0 += width) {
            int piece_rows = min(height, p.mask_rows - i0);
            int piece_columns = min(width, mask_columns - j0);
            int history = (piece_columns + PATCH_COLUMNS - 1) / PATCH_COLUMNS * PATCH_COLUMNS;
            int tile_columns = PATCH_ACROSS * PATCH_COLUMNS + history;
            int first_row = row + p.row_origin - (i0 + piece_rows - 1);
            int first_column = column + p.column_origin - j0 - history;
            __syncthreads();
            load_tile(shared, p, first_row, first_column, PATCH_DOWN * PATCH_ROWS + piece_rows - 1,
                      tile_columns);
            __syncthreads();
            const float *at = shared + (y + piece_rows - 1) * PATCH_PITCH +
                              (history + x) / PATCH_COLUMNS * PATCH_SKEWED;
            for (int i = 0; i < piece_rows; i++, at -= PATCH_PITCH) {
                add_mask_row(sum, at, (i0 + i) * mask_columns + j0, piece_columns);
                if (i % PATCH_RUN == PATCH_RUN - 1)
                    move_sum(total, sum);
            }
            move_sum(total, sum);
        }

#pragma unroll
    for (int h = 0; h < PATCH_ROWS; h++)
#pragma unroll
        for (int c = 0; c < PATCH_COLUMNS; c++)
            if (row + y + h < p.rows && column + x + c < p.columns)
                put(p, row + y + h, column + x + c, total[h][c]);
}

#endif
