/* Small masks: a thread runs down a strip of 4 columns. Each input row is loaded as a window in
 * registers, by 16-byte loads through the L1 cache, and multiplied into the sums of all output rows
 * that it contributes to, one for each mask row. The sums then move up by one at no cost: an FMA
 * reads one register and writes another. A thread loads no cell twice; mask coefficients are
 * constant-memory operands of a fully unrolled loop.
 *
 * Measured to cost a fifth or more in that loop: any branch, also one that skips unused products
 * at the ends of a strip; registers for cells beyond the picture; more than the 32 KB of the
 * instruction cache (8 columns with the largest mask). Strips at the picture's boundary therefore
 * have a loop of their own. Blocks with boundary columns are launched first, since they take
 * longer; a block is one warp for the same reason.
 *
 * The kernel for a square of odd side also serves smaller masks, padded with zeros around the
 * origin. */
#ifndef HALO_GPU_KERNEL2D_STRIP_CUH
#define HALO_GPU_KERNEL2D_STRIP_CUH

#include "gpu/constant_mask.cuh"
#include "gpu/kernel2d_device.cuh"

/* Resident blocks per multiprocessor: an architectural limit. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ != 700 && __CUDA_ARCH__ != 800 &&                      \
    __CUDA_ARCH__ != 900 && __CUDA_ARCH__ != 1000
static constexpr int STRIP_BLOCKS_MOST = 16;
#else
static constexpr int STRIP_BLOCKS_MOST = 32;
#endif

template <int SIDE> struct strip {
    static constexpr int BEFORE = (SIDE / 2 + 3) / 4 * 4; /* columns of the window, in fours */
    static constexpr int WINDOW = 2 * BEFORE + STRIP_OUTPUTS;
    static constexpr int BLOCKS =
        strip_blocks(SIDE) < STRIP_BLOCKS_MOST ? strip_blocks(SIDE) : STRIP_BLOCKS_MOST;
    /* Rows loaded together: small masks are bound by memory latency. */
    static constexpr int BATCH = SIDE <= 3 ? 6 : SIDE <= 5 ? 4 : SIDE <= 9 ? 2 : 1;
};

__device__ __forceinline__ void load_four(float *window, const float *from)
{
    float4 four = __ldg(reinterpret_cast<const float4 *>(from));
    window[0] = four.x, window[1] = four.y, window[2] = four.z, window[3] = four.w;
}

/* The bits 0x4B000000 | byte are 2^23 + byte: cheaper than a conversion. */
__device__ __forceinline__ void load_four(float *window, const unsigned char *from)
{
    unsigned word = __ldg(reinterpret_cast<const unsigned *>(from));
#pragma unroll
    for (unsigned k = 0; k < 4; k++)
        window[k] = __uint_as_float(__byte_perm(word, 0x4B000000u, 0x7650u + k)) - 8388608.0f;
}

__device__ __forceinline__ void store_four(float *at, const float *sum)
{
    __stcs(reinterpret_cast<float4 *>(at), make_float4(sum[0], sum[1], sum[2], sum[3]));
}

__device__ __forceinline__ void store_four(unsigned char *at, const float *sum)
{
    uchar4 four;
    store(&four.x, sum[0]), store(&four.y, sum[1]), store(&four.z, sum[2]), store(&four.w, sum[3]);
    *reinterpret_cast<uchar4 *>(at) = four;
}

/* Only the `left` columns within the picture. */
template <typename T>
__device__ __forceinline__ void store_cells(T *to, const float (&sum)[STRIP_OUTPUTS], int left)
{
#pragma unroll
    for (int w = 0; w < STRIP_OUTPUTS; w++)
        if (w < left)
            store(to + w, sum[w]);
}

/* Whether four cells can be read or written at once. */
template <typename T> __device__ __forceinline__ bool in_fours(const T *at, size_t pitch)
{
    return (reinterpret_cast<size_t>(at) | pitch) % (4 * sizeof(T)) == 0;
}

/* window[j] = from[j]. */
template <int WINDOW, typename T>
__device__ __forceinline__ void load_fours(float (&window)[WINDOW], const T *from)
{
#pragma unroll
    for (int j = 0; j < WINDOW; j += 4)
        load_four(&window[j], from + j);
}

/* The same for unaligned rows. */
template <int WINDOW, typename T>
__device__ __forceinline__ void load_cells(float (&window)[WINDOW], const T *from)
{
#pragma unroll
    for (int j = 0; j < WINDOW; j++)
        window[j] = (float)__ldg(from + j);
}

/* The columns of the values of a window, the same for all rows. */
template <int WINDOW> struct window_places {
    int at[WINDOW];
    unsigned is_there; /* bit j: at[j] is valid; else the value is zero */
};

template <int WINDOW, typename T>
__device__ __forceinline__ void find_places(window_places<WINDOW> &places, const channel2d<T> &p,
                                            int column)
{
    places.is_there = 0;
#pragma unroll
    for (int j = 0; j < WINDOW; j++) {
        int at = place(column + j, p.columns, p.boundary);
        places.is_there |= (at >= 0 ? 1u : 0u) << j;
        places.at[j] = max(at, 0);
    }
}

/* With ghost cells; without branches, so that all loads are issued together. */
template <int WINDOW, typename T>
__device__ __forceinline__ void load_ghosts(float (&window)[WINDOW], const channel2d<T> &p, int row,
                                            const window_places<WINDOW> &places)
{
    row = place(row, p.rows_in, p.boundary);
    const T *from = row_at(p.in, max(row, 0), p.pitch_in);
    unsigned is_there = row < 0 ? 0 : places.is_there;
#pragma unroll
    for (int j = 0; j < WINDOW; j++)
        window[j] = (float)__ldg(from + places.at[j]);
#pragma unroll
    for (int j = 0; j < WINDOW; j++)
        window[j] = is_there >> j & 1 ? window[j] : 0.0f;
}

/* Add an input row: sum k, for the output whose mask row k meets it, moves from sum k + 1. */
template <int SIDE>
__device__ __forceinline__ void add_row(float (&sum)[SIDE][STRIP_OUTPUTS],
                                        const float (&window)[strip<SIDE>::WINDOW])
{
#pragma unroll
    for (int k = 0; k < SIDE; k++) {
#pragma unroll
        for (int w = 0; w < STRIP_OUTPUTS; w++)
            sum[k][w] = k + 1 < SIDE ? sum[k + 1 < SIDE ? k + 1 : k][w] : 0.0f;
#pragma unroll
        for (int j = 0; j < SIDE; j++)
#pragma unroll
            for (int w = 0; w < STRIP_OUTPUTS; w++)
                sum[k][w] +=
                    constant_mask[k * SIDE + j] * window[strip<SIDE>::BEFORE + SIDE / 2 + w - j];
    }
}

/* The strip of a thread. */
struct strip_start {
    int top; /* of out */
    int column;
    int count;      /* rows */
    bool is_inside; /* the columns of all windows of the warp are within the picture */
};

/* INSIDE: the rows are within the picture too, and all accesses are 16 bytes. */
template <int SIDE, bool INSIDE, typename T>
__device__ __forceinline__ void run_down(const channel2d<T> &p, const strip_start &start)
{
    constexpr int BEFORE = strip<SIDE>::BEFORE, WINDOW = strip<SIDE>::WINDOW;
    constexpr int BATCH = INSIDE ? strip<SIDE>::BATCH : SIDE <= 3 ? 2 : 1;
    bool fours_in = INSIDE || in_fours(p.in, p.pitch_in);
    bool fours_out = INSIDE || (start.is_inside && in_fours(p.out, p.pitch_out));
    int row = start.top + p.row_origin + SIDE / 2 - p.mask_rows / 2 - (SIDE - 1);
    const char *from = reinterpret_cast<const char *>(p.in + start.column - BEFORE) +
                       (long long)row * (long long)p.pitch_in;
    char *to = reinterpret_cast<char *>(p.out + start.column) + (size_t)start.top * p.pitch_out;
    window_places<WINDOW> places;
    if (!INSIDE)
        find_places(places, p, start.column - BEFORE);
    float sum[SIDE][STRIP_OUTPUTS] = {};
#pragma unroll 1
    for (int t = 0; t < start.count + SIDE - 1; t += BATCH, row += BATCH) {
        float window[BATCH][WINDOW];
        bool is_inside = INSIDE || (start.is_inside && row >= 0 && row + BATCH <= p.rows_in);
#pragma unroll
        for (int b = 0; b < BATCH; b++, from += p.pitch_in) {
            const T *cells = reinterpret_cast<const T *>(from);
            if (!is_inside)
                load_ghosts(window[b], p, row + b, places);
            else if (fours_in)
                load_fours(window[b], cells);
            else
                load_cells(window[b], cells);
        }
#pragma unroll
        for (int b = 0; b < BATCH; b++) {
            int done = t + b - (SIDE - 1); /* the output row that this input row completes */
            add_row<SIDE>(sum, window[b]);
            if (done < 0 || done >= start.count)
                continue;
            if (fours_out)
                store_four(reinterpret_cast<T *>(to), sum[0]);
            else
                store_cells(reinterpret_cast<T *>(to), sum[0], p.columns - start.column);
            to += p.pitch_out;
        }
    }
}

/* Not inlined, so that it takes no registers from the other loop. */
template <int SIDE, typename T>
__device__ __noinline__ void run_isolated(const kernel2d_job &job, strip_start start)
{
    run_down<SIDE, false>(channel2d_of<T>(job), start);
}

/* Strips of the first and last columns first. */
__device__ __forceinline__ void strip_corner(int columns, int rows, int height, int *row,
                                             int *column)
{
    int across = (columns + STRIP_COLUMNS - 1) / STRIP_COLUMNS, down = (rows + height - 1) / height;
    int block = (int)blockIdx.x, inner = across - 2, rest = block - 2 * down;
    if (inner <= 0) {
        *row = block / across, *column = block % across;
    } else if (rest < 0) {
        *row = block / 2, *column = block % 2 * (across - 1);
    } else {
        *row = rest / inner, *column = 1 + rest % inner;
    }
    *row *= height;
    *column *= STRIP_COLUMNS;
}

template <int SIDE, typename T>
__global__ void __launch_bounds__(STRIP_THREADS, strip<SIDE>::BLOCKS)
    convolve2d_strip(const __grid_constant__ kernel2d_job job, int height)
{
    constexpr int BEFORE = strip<SIDE>::BEFORE, WINDOW = strip<SIDE>::WINDOW;
    constexpr int BATCH = strip<SIDE>::BATCH;
    channel2d<T> p = channel2d_of<T>(job);
    strip_start start;
    strip_corner(p.columns, p.rows, height, &start.top, &start.column);
    start.column += (int)threadIdx.x * STRIP_OUTPUTS;
    start.count = min(height, p.rows - start.top);
    start.is_inside = __all_sync(0xFFFFFFFFu, start.column >= BEFORE &&
                                                  start.column - BEFORE + WINDOW <= p.columns);
    if (start.column >= p.columns)
        return;
    int first_row = start.top + p.row_origin + SIDE / 2 - p.mask_rows / 2 - (SIDE - 1);
    int end_row = first_row + (start.count + SIDE - 2) / BATCH * BATCH + BATCH;
    if (start.is_inside && first_row >= 0 && end_row <= p.rows_in && in_fours(p.in, p.pitch_in) &&
        in_fours(p.out, p.pitch_out))
        run_down<SIDE, true>(p, start);
    else
        run_isolated<SIDE, T>(job, start);
}

/* Finds the kernel made for this side. */
template <int SIDE, typename T>
static void launch_strip(const struct kernel2d_job *job, const struct tile2d *tile, size_t side,
                         cudaStream_t stream)
{
    if constexpr (SIDE > 3) {
        if (side < (size_t)SIDE) {
            launch_strip<SIDE - 2, T>(job, tile, side, stream);
            return;
        }
    }
    convolve2d_strip<SIDE, T>
        <<<grid_of(job, tile), STRIP_THREADS, 0, stream>>>(*job, (int)tile->block.rows);
}

#endif
