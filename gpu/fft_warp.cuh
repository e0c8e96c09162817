/* Transforms of the fused kernel. Each thread holds 32 points in registers (decimation in
 * frequency, Gentleman and Sande 1966). A warp transforms 1,024 points in two stages of radix 32.
 * It exchanges them through its own part of shared memory without waiting for other warps. Longer
 * sequences first have one stage of radix N / 1024, in which all threads of a block take part. On
 * the way back this stage is the last. The transform back is a forward transform with real and
 * imaginary parts exchanged.
 *
 * Large radices make few stages. The limits are exchanges and factors: each moves 64 bits a point
 * through shared memory or a cache, which takes as long as eight sums or products.
 */
#ifndef HALO_GPU_FFT_WARP_CUH
#define HALO_GPU_FFT_WARP_CUH

#include "gpu/fft_device.cuh"

static constexpr int HELD = 32; /* points of a thread */
static constexpr int WARP_POINTS = 1024;
static constexpr int WARP_PITCH =
    1024 + 1024 / 32; /* one unused point after every 32 avoids bank conflicts */

/* How a transform of N points is split. */
template <int N> struct split_of {
    static constexpr int RADIX = N / WARP_POINTS; /* radix of the stage of all threads */
    static constexpr int THREADS = N / HELD;
    static constexpr int BUTTERFLIES = HELD / RADIX; /* butterflies of a thread in that stage */
    static constexpr int SHARED = RADIX * WARP_PITCH * (int)sizeof(float2);
    static constexpr int BLOCKS = 16 * 32 / THREADS; /* thread blocks; 128 registers a thread */
};

/* ---- factors ---- */

/* Factors for a stage of radix R on R COUNT points: exp(-2 pi i j k / (R COUNT)), for j = 0 to
 * COUNT - 1 and k = 1, 2, 3, 4, 8, 12, ... Factors for other k are products of two of these. */
template <int R> static constexpr int factor_rows()
{
    return R <= 4 ? R - 1 : 3 + R / 4 - 1;
}

template <int R, int COUNT> static void fill_factors(float2 *table)
{
    for (int k = 1; k < R; k += k < 4 ? 1 : 4)
        for (int j = 0; j < COUNT; j++) {
            double angle = -2 * M_PI * (double)j * k / (R * COUNT);
            *table++ = make_float2((float)cos(angle), (float)sin(angle));
        }
}

/* Multiplies v[k] by its factor. `factors`: the factor for the thread's j in the first row. */
template <int R, int COUNT>
__device__ __forceinline__ void turn_all(float2 *v, const float2 *__restrict__ factors)
{
    constexpr int LOW = R < 4 ? R : 4;
    float2 low[4];
#pragma unroll
    for (int k = 1; k < LOW; k++) {
        low[k] = __ldg(factors + (k - 1) * COUNT);
        v[k] = v[k] * low[k];
    }
#pragma unroll
    for (int four = 4; four < R; four += 4) {
        float2 high = __ldg(factors + (2 + four / 4) * COUNT);
        v[four] = v[four] * high;
#pragma unroll
        for (int k = 1; k < 4; k++)
            v[four + k] = v[four + k] * (high * low[k]);
    }
}

/* The table for N points: first the warps' factors, then those of the stage of all threads. */
static constexpr int WARP_TABLE = factor_rows<32>() * 32;

template <int N> static constexpr int split_table_points()
{
    return WARP_TABLE + factor_rows<split_of<N>::RADIX>() * WARP_POINTS;
}

template <int N> static void fill_split_table(float2 *table)
{
    fill_factors<32, 32>(table);
    fill_factors<split_of<N>::RADIX, WARP_POINTS>(table + WARP_TABLE);
}

/* ---- stages ---- */

/* Index of a thread's points by place: point thread + row THREADS is v[held_at(row)]. */
template <int N> __device__ __forceinline__ constexpr int held_at(int row)
{
    return row % split_of<N>::BUTTERFLIES * split_of<N>::RADIX + row / split_of<N>::BUTTERFLIES;
}

/* Calls visit(i, p) for each of the thread's points: v[i] is point thread + p of the sequence. */
template <int N, typename F> __device__ __forceinline__ void each_held(F visit)
{
#pragma unroll
    for (int row = 0; row < HELD; row++)
        visit(held_at<N>(row), row * split_of<N>::THREADS);
}

/* Transforms a warp's 1,024 points. v[k]: point lane + 32 k before, frequency lane + 32 k after. */
__device__ __forceinline__ void warp_transform(float2 *v, float2 *own,
                                               const float2 *__restrict__ table, int lane)
{
    butterfly<32, false>(v);
    turn_all<32, 32>(v, table + lane);
#pragma unroll
    for (int k = 0; k < 32; k++)
        own[lane + 33 * k] = v[k];
    __syncwarp();
#pragma unroll
    for (int k = 0; k < 32; k++)
        v[k] = own[33 * lane + k];
    butterfly<32, false>(v);
    __syncwarp(); /* before the points are overwritten */
}

/* The stage of all threads. It leaves the points where warp_transform takes them. */
template <int N>
__device__ __forceinline__ void split(float2 *v, float2 *shared, const float2 *__restrict__ table,
                                      int thread)
{
    using at = split_of<N>;
    if constexpr (at::RADIX > 1) {
#pragma unroll
        for (int b = 0; b < at::BUTTERFLIES; b++) {
            int j = thread + b * at::THREADS;
            butterfly<at::RADIX, false>(v + b * at::RADIX);
            turn_all<at::RADIX, WARP_POINTS>(v + b * at::RADIX, table + WARP_TABLE + j);
#pragma unroll
            for (int k = 0; k < at::RADIX; k++)
                shared[k * WARP_PITCH + j + j / 32] = v[b * at::RADIX + k];
        }
        __syncthreads();
        const float2 *own = shared + thread / 32 * WARP_PITCH + thread % 32;
#pragma unroll
        for (int k = 0; k < 32; k++)
            v[k] = own[33 * k];
    }
}

/* The stage of all threads on the way back, from the warps' frequencies to points. */
template <int N>
__device__ __forceinline__ void join(float2 *v, float2 *shared, const float2 *__restrict__ table,
                                     int thread)
{
    using at = split_of<N>;
    if constexpr (at::RADIX > 1) {
        float2 *own = shared + thread / 32 * WARP_PITCH + thread % 32;
#pragma unroll
        for (int k = 0; k < 32; k++)
            own[33 * k] = v[k];
        __syncthreads();
#pragma unroll
        for (int b = 0; b < at::BUTTERFLIES; b++) {
            int j = thread + b * at::THREADS;
#pragma unroll
            for (int k = 0; k < at::RADIX; k++)
                v[b * at::RADIX + k] = shared[k * WARP_PITCH + j + j / 32];
            turn_all<at::RADIX, WARP_POINTS>(v + b * at::RADIX, table + WARP_TABLE + j);
            butterfly<at::RADIX, false>(v + b * at::RADIX);
        }
    }
}

/* Transforms the points, multiplies them by a spectrum in the warps' order, and transforms them
 * back. The transform back is a forward transform with real and imaginary parts exchanged, and they
 * stay exchanged. */
template <int N>
__device__ __forceinline__ void multiply_spectrum(float2 *v, float2 *shared,
                                                  const float2 *__restrict__ table,
                                                  const float2 *__restrict__ form, int thread)
{
    split<N>(v, shared, table, thread);
    const float2 *__restrict__ own = form + thread;
    int turn;
    /* The compiler does not see the value, so that it keeps the loop over both transforms. */
    asm volatile("mov.u32 %0, 0;" : "=r"(turn));
#pragma unroll 1
    do {
        warp_transform(v, shared + thread / 32 * WARP_PITCH, table, thread % 32);
        if (turn == 0)
#pragma unroll
            for (int m = 0; m < HELD; m++) {
                float2 product = v[m] * __ldg(own + m * split_of<N>::THREADS);
                v[m] = make_float2(product.y, product.x);
            }
        asm volatile("add.s32 %0, %0, 1;" : "+r"(turn));
    } while (turn < 2);
    join<N>(v, shared, table, thread);
}

#endif
