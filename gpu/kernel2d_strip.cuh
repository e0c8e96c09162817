/* Small masks. A thread runs down a strip of 4 columns, or of 2 columns for masks above 15x15. It
 * loads each input row as a window in registers, by 16-byte (8-byte) loads through the L1 cache. It
 * multiplies the window into the sums of all output rows that the input row contributes to, one for
 * each mask row. The sums then move up by one row at no cost, since an FMA reads one register and
 * writes another. A thread loads no cell twice. Mask coefficients are constant-memory operands of a
 * fully unrolled loop.
 *
 * By measurement, each of these costs a fifth or more in that loop: any branch, even one that skips
 * unused products at the ends of a strip; registers for cells beyond the picture; more than the 32
 * KB of the instruction cache (8 columns with 15x15). Strips at the picture's boundary therefore
 * have a loop of their own. Blocks with boundary columns are launched first, since they take
 * longer. For the same reason a block is one warp.
 *
 * A kernel made for an odd number of rows and columns also serves smaller masks, padded with zeros
 * around the origin (tile2d.c chooses).
 */
#ifndef HALO_GPU_KERNEL2D_STRIP_CUH
#define HALO_GPU_KERNEL2D_STRIP_CUH

#include "gpu/constant_mask.cuh"
#include "gpu/kernel2d_device.cuh"

#include <type_traits>

/* Resident blocks per multiprocessor: an architectural limit. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ != 700 && __CUDA_ARCH__ != 800 &&                      \
    __CUDA_ARCH__ != 900 && __CUDA_ARCH__ != 1000
static constexpr int STRIP_BLOCKS_MOST = 16;
#else
static constexpr int STRIP_BLOCKS_MOST = 32;
#endif

template <int ROWS, int COLUMNS> struct strip {
    static constexpr int OUTPUTS = strip_outputs(ROWS, COLUMNS);
    static constexpr int BEFORE =
        /* columns of the window before the outputs */
        (COLUMNS / 2 + OUTPUTS - 1) / OUTPUTS * OUTPUTS;
    static constexpr int WINDOW = 2 * BEFORE + OUTPUTS;
    static constexpr int FITTING = strip_blocks(ROWS, COLUMNS);
    static constexpr int BLOCKS = FITTING < STRIP_BLOCKS_MOST ? FITTING : STRIP_BLOCKS_MOST;
    /* Rows that are loaded together, since memory latency limits small masks. */
    static constexpr int AREA = ROWS * COLUMNS;
    static constexpr int BATCH = AREA <= 9      ? 6
                                 : AREA <= 25   ? 4
                                 : COLUMNS == 1 ? 4
                                 : WINDOW > 20  ? 1
                                 : AREA <= 81   ? 2
                                                : 1;
};

/* Loads `OUTPUTS` cells at once. */
template <int OUTPUTS> __device__ __forceinline__ void load_few(float *window, const float *from)
{
    if constexpr (OUTPUTS == 4) {
        float4 four = __ldg(reinterpret_cast<const float4 *>(from));
        window[0] = four.x, window[1] = four.y, window[2] = four.z, window[3] = four.w;
    } else {
        float2 two = __ldg(reinterpret_cast<const float2 *>(from));
        window[0] = two.x, window[1] = two.y;
    }
}

template <int OUTPUTS>
__device__ __forceinline__ void store_few(float *at, const float (&sum)[OUTPUTS])
{
    if constexpr (OUTPUTS == 4)
        __stcs(reinterpret_cast<float4 *>(at), make_float4(sum[0], sum[1], sum[2], sum[3]));
    else
        __stcs(reinterpret_cast<float2 *>(at), make_float2(sum[0], sum[1]));
}

/* Stores only the `left` columns within the picture. */
template <int OUTPUTS>
__device__ __forceinline__ void store_cells(float *to, const float (&sum)[OUTPUTS], int left)
{
#pragma unroll
    for (int w = 0; w < OUTPUTS; w++)
        if (w < left)
            to[w] = sum[w];
}

/* Whether `OUTPUTS` cells can be read or written at once. */
template <int OUTPUTS> __device__ __forceinline__ bool is_aligned(const float *at, size_t pitch)
{
    return (reinterpret_cast<size_t>(at) | pitch) % (OUTPUTS * sizeof(float)) == 0;
}

/* window[j] = from[j]. */
template <int OUTPUTS, int WINDOW>
__device__ __forceinline__ void load_window(float (&window)[WINDOW], const float *from)
{
#pragma unroll
    for (int j = 0; j < WINDOW; j += OUTPUTS)
        load_few<OUTPUTS>(&window[j], from + j);
}

/* load_window for unaligned rows. */
template <int WINDOW>
__device__ __forceinline__ void load_cells(float (&window)[WINDOW], const float *from)
{
#pragma unroll
    for (int j = 0; j < WINDOW; j++)
        window[j] = __ldg(from + j);
}

/* The columns of a window's values, for all rows. */
template <int WINDOW> struct window_places {
    using bits = typename std::conditional<(WINDOW > 32), unsigned long long, unsigned>::type;
    int at[WINDOW];
    bits is_there; /* bit j: at[j] is valid; otherwise the value is zero */
};

template <int WINDOW>
__device__ __forceinline__ void find_places(window_places<WINDOW> &places, const channel2d &p,
                                            int column)
{
    places.is_there = 0;
#pragma unroll
    for (int j = 0; j < WINDOW; j++) {
        int at = place(column + j, p.columns, p.boundary);
        places.is_there |= (typename window_places<WINDOW>::bits)(at >= 0 ? 1 : 0) << j;
        places.at[j] = max(at, 0);
    }
}

/* Loads a window with ghost cells. There are no branches, so that all loads are issued together. */
template <int WINDOW>
__device__ __forceinline__ void load_ghosts(float (&window)[WINDOW], const channel2d &p, int row,
                                            const window_places<WINDOW> &places)
{
    row = place(row, p.rows_in, p.boundary);
    const float *from = row_at(p.in, max(row, 0), p.pitch_in);
    auto is_there = row < 0 ? 0 : places.is_there;
#pragma unroll
    for (int j = 0; j < WINDOW; j++)
        window[j] = __ldg(from + places.at[j]);
#pragma unroll
    for (int j = 0; j < WINDOW; j++)
        window[j] = is_there >> j & 1 ? window[j] : 0.0f;
}

/* Moves sum k + 1 to sum k and adds the input row times mask row k, for each k. */
template <int ROWS, int COLUMNS>
__device__ __forceinline__ void add_row(float (&sum)[ROWS][strip<ROWS, COLUMNS>::OUTPUTS],
                                        const float (&window)[strip<ROWS, COLUMNS>::WINDOW])
{
    constexpr int OUTPUTS = strip<ROWS, COLUMNS>::OUTPUTS, BEFORE = strip<ROWS, COLUMNS>::BEFORE;
#pragma unroll
    for (int k = 0; k < ROWS; k++) {
#pragma unroll
        for (int w = 0; w < OUTPUTS; w++)
            sum[k][w] = k + 1 < ROWS ? sum[k + 1 < ROWS ? k + 1 : k][w] : 0.0f;
#pragma unroll
        for (int j = 0; j < COLUMNS; j++)
#pragma unroll
            for (int w = 0; w < OUTPUTS; w++)
                sum[k][w] += constant_mask[k * COLUMNS + j] * window[BEFORE + COLUMNS / 2 + w - j];
    }
}

/* The strip of a thread. */
struct strip_start {
    int top; /* first row of out */
    int column;
    int count;      /* rows of the strip */
    bool is_inside; /* columns of all windows of the warp are within the picture */
};

/* INSIDE: all rows are within the picture, too, and all accesses are aligned. */
template <int ROWS, int COLUMNS, bool INSIDE>
__device__ __forceinline__ void run_down(const channel2d &p, const strip_start &start)
{
    using shape = strip<ROWS, COLUMNS>;
    constexpr int BEFORE = shape::BEFORE, WINDOW = shape::WINDOW, OUTPUTS = shape::OUTPUTS;
    constexpr int BATCH = INSIDE ? shape::BATCH : shape::AREA <= 9 ? 2 : 1;
    bool aligned_in = INSIDE || is_aligned<OUTPUTS>(p.in, p.pitch_in);
    bool aligned_out = INSIDE || (start.is_inside && is_aligned<OUTPUTS>(p.out, p.pitch_out));
    int row = start.top + p.row_origin + ROWS / 2 - p.mask_rows / 2 - (ROWS - 1);
    const char *from = reinterpret_cast<const char *>(p.in + start.column - BEFORE) +
                       (long long)row * (long long)p.pitch_in;
    char *to = reinterpret_cast<char *>(p.out + start.column) + (size_t)start.top * p.pitch_out;
    window_places<WINDOW> places;
    if (!INSIDE)
        find_places(places, p, start.column - BEFORE);
    float sum[ROWS][OUTPUTS] = {};
#pragma unroll 1
    for (int t = 0; t < start.count + ROWS - 1; t += BATCH, row += BATCH) {
        float window[BATCH][WINDOW];
        bool is_inside = INSIDE || (start.is_inside && row >= 0 && row + BATCH <= p.rows_in);
#pragma unroll
        for (int b = 0; b < BATCH; b++, from += p.pitch_in) {
            const float *cells = reinterpret_cast<const float *>(from);
            if (!is_inside)
                load_ghosts(window[b], p, row + b, places);
            else if (aligned_in)
                load_window<OUTPUTS>(window[b], cells);
            else
                load_cells(window[b], cells);
        }
#pragma unroll
        for (int b = 0; b < BATCH; b++) {
            int done = t + b - (ROWS - 1); /* the output row that this input row completes */
            add_row<ROWS, COLUMNS>(sum, window[b]);
            if (done < 0 || done >= start.count)
                continue;
            if (aligned_out)
                store_few<OUTPUTS>(reinterpret_cast<float *>(to), sum[0]);
            else
                store_cells<OUTPUTS>(reinterpret_cast<float *>(to), sum[0],
                                     p.columns - start.column);
            to += p.pitch_out;
        }
    }
}

/* For strips that are at the boundary or not aligned. Not inlined, so that the other loop keeps its
 * registers. */
template <int ROWS, int COLUMNS>
__device__ __noinline__ void run_isolated(const kernel2d_job &job, strip_start start)
{
    run_down<ROWS, COLUMNS, false>(channel2d_of(job), start);
}

/* The place of this thread block's strips. Strips of the first and last columns come first. */
__device__ __forceinline__ void strip_corner(int columns, int rows, int width, int height, int *row,
                                             int *column)
{
    int across = (columns + width - 1) / width, down = (rows + height - 1) / height;
    int block = (int)blockIdx.x, inner = across - 2, rest = block - 2 * down;
    if (inner <= 0) {
        *row = block / across, *column = block % across;
    } else if (rest < 0) {
        *row = block / 2, *column = block % 2 * (across - 1);
    } else {
        *row = rest / inner, *column = 1 + rest % inner;
    }
    *row *= height;
    *column *= width;
}

template <int ROWS, int COLUMNS>
__global__ void __launch_bounds__(STRIP_THREADS, strip<ROWS, COLUMNS>::BLOCKS)
    convolve2d_strip(const __grid_constant__ kernel2d_job job, int height)
{
    using shape = strip<ROWS, COLUMNS>;
    constexpr int BEFORE = shape::BEFORE, WINDOW = shape::WINDOW, OUTPUTS = shape::OUTPUTS;
    constexpr int BATCH = shape::BATCH;
    channel2d p = channel2d_of(job);
    strip_start start;
    strip_corner(p.columns, p.rows, STRIP_THREADS * OUTPUTS, height, &start.top, &start.column);
    start.column += (int)threadIdx.x * OUTPUTS;
    start.count = min(height, p.rows - start.top);
    start.is_inside = __all_sync(0xFFFFFFFFu, start.column >= BEFORE &&
                                                  start.column - BEFORE + WINDOW <= p.columns);
    if (start.column >= p.columns)
        return;
    int first_row = start.top + p.row_origin + ROWS / 2 - p.mask_rows / 2 - (ROWS - 1);
    int end_row = first_row + (start.count + ROWS - 2) / BATCH * BATCH + BATCH;
    if (start.is_inside && first_row >= 0 && end_row <= p.rows_in &&
        is_aligned<OUTPUTS>(p.in, p.pitch_in) && is_aligned<OUTPUTS>(p.out, p.pitch_out))
        run_down<ROWS, COLUMNS, true>(p, start);
    else
        run_isolated<ROWS, COLUMNS>(job, start);
}

/* False: the kernel was made for another shape. */
template <int ROWS, int COLUMNS>
static bool launches_strip(const struct kernel2d_job *job, const struct tile2d *tile,
                           struct strip_shape shape, cudaStream_t stream)
{
    if (shape.rows != ROWS || shape.columns != COLUMNS)
        return false;
    convolve2d_strip<ROWS, COLUMNS>
        <<<grid_of(job, tile), STRIP_THREADS, 0, stream>>>(*job, (int)tile->block.rows);
    return true;
}

static cudaError_t launch_strip(const struct kernel2d_job *job, const struct tile2d *tile,
                                struct strip_shape shape, cudaStream_t stream)
{
#define OR_LAUNCH(ROWS, COLUMNS, ROWS_MOST)                                                        \
    || launches_strip<ROWS, COLUMNS>(job, tile, shape, stream)
    bool launched = false STRIP_KERNELS(OR_LAUNCH);
#undef OR_LAUNCH
    return launched ? cudaGetLastError() : cudaErrorInvalidDeviceFunction;
}

#endif
