/* As arrays_fused.cu, for transforms that C neighbouring thread blocks hold together. A first stage
 * of radix C takes the points to the blocks, through their shared memory. Each block then
 * transforms N / C points. On the way back this stage is the last. Needs compute capability 9.0. */
#include "gpu/arrays_device.cuh"
#include "gpu/fft_warp.cuh"

#include <cooperative_groups.h>

static constexpr int PART = 16384; /* points of a block */
static constexpr int THREADS = split_of<PART>::THREADS, SHARED = split_of<PART>::SHARED;

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

/* In the first stage a block has the butterflies of PART / C neighbouring frames. Butterfly b of a
 * thread has v[b C] to v[b C + C - 1]. Its point m is frame first + b THREADS + m PART. */
template <int C> struct slice_of {
    static constexpr int FRAMES = PART / C, BUTTERFLIES = HELD / C;
};

/* v: points of the window, times `scale`, with the twist of m. */
template <int C>
__device__ __forceinline__ void load_slice(float2 *v, const array_window &in, float scale,
                                           int first, float2 *shared)
{
    constexpr int N = C * PART;
    int thread = (int)threadIdx.x;
    if (in.is_plain(2 * N)) {
        const float *__restrict__ from = static_cast<const float *>(in.samples) + in.at + first;
#pragma unroll
        for (int i = 0; i < HELD; i++) {
            int n = i / C * THREADS + i % C * PART;
            v[i] = make_float2(__ldg(from + n), __ldg(from + N + n));
        }
    } else {
#pragma unroll 1
        for (int i = 0; i < HELD; i++) {
            int n = first + i / C * THREADS + i % C * PART;
            shared[i * THREADS + thread] = make_float2(in.frame<float>(n), in.frame<float>(N + n));
        }
#pragma unroll
        for (int i = 0; i < HELD; i++)
            v[i] = shared[i * THREADS + thread];
    }
#pragma unroll
    for (int b = 0; b < slice_of<C>::BUTTERFLIES; b++)
        twist<C>(v + b * C, make_float2(scale, 0), [](int m) { return m; });
}

/* Multiplies output k of a butterfly by exp(i pi frame (1 - 4 k) / (2 N)): the frame's part of the
 * twist, and the factors of the stage. */
template <int C> __device__ __forceinline__ void turn_slice(float2 *v, int frame)
{
    constexpr float SCALE = 0.5f / (C * PART);
    float2 factor = unit(SCALE * (float)frame), step = unit(-4 * SCALE * (float)frame);
#pragma unroll
    for (int k = 0; k < C; k++) {
        v[k] = v[k] * factor;
        factor = factor * step;
    }
}

/* To the blocks' own points: v[held_at(row)] is point thread + row THREADS of part `rank`. */
template <int C, typename G>
__device__ __forceinline__ void scatter_slice(float2 *v, int first, float2 *shared, G &cluster)
{
    int thread = (int)threadIdx.x;
#pragma unroll
    for (int b = 0; b < slice_of<C>::BUTTERFLIES; b++) {
        butterfly<C, false>(v + b * C);
        turn_slice<C>(v + b * C, first + b * THREADS);
    }
    cluster.sync(); /* all blocks run, and have read their shared memory */
#pragma unroll
    for (int k = 0; k < C; k++) {
        float2 *to = cluster.map_shared_rank(shared, k) + first;
#pragma unroll
        for (int b = 0; b < slice_of<C>::BUTTERFLIES; b++)
            to[b * THREADS] = v[b * C + k];
    }
    cluster.sync();
    each_held<PART>([&](int i, int p) { v[i] = shared[thread + p]; });
    __syncthreads();
}

/* Back to slices; parts of points are exchanged. */
template <int C, typename G>
__device__ __forceinline__ void gather_slice(float2 *v, int rank, int first, float2 *shared,
                                             G &cluster)
{
    using slice = slice_of<C>;
    int thread = (int)threadIdx.x;
    cluster.sync();
#pragma unroll
    for (int row = 0; row < HELD; row++) {
        float2 *to = cluster.map_shared_rank(shared, row / slice::BUTTERFLIES);
        to[rank * slice::FRAMES + thread + row % slice::BUTTERFLIES * THREADS] =
            v[held_at<PART>(row)];
    }
    cluster.sync();
#pragma unroll
    for (int b = 0; b < slice::BUTTERFLIES; b++) {
#pragma unroll
        for (int k = 0; k < C; k++)
            v[b * C + k] = shared[k * slice::FRAMES + thread + b * THREADS];
        turn_slice<C>(v + b * C, first + b * THREADS);
        butterfly<C, false>(v + b * C);
        twist<C>(v + b * C, make_float2(1, 0), [](int m) { return m; });
    }
}

/* Writes outputs. The parts of a point are exchanged. */
template <int C>
__device__ __forceinline__ void store_slice(const float2 *v, const array_item &item, int first,
                                            float2 *shared)
{
    constexpr int N = C * PART;
    int thread = (int)threadIdx.x;
    if (item.sample == ARRAYS_FLOAT32) {
        int at = first - item.skip;
        float *out = static_cast<float *>(item.y) + item.y_at + at;
#pragma unroll
        for (int i = 0; i < HELD; i++) {
            int n = i / C * THREADS + i % C * PART;
            if ((unsigned)(at + n) < (unsigned)item.count)
                __stcs(out + n, v[i].y);
            if ((unsigned)(at + N + n) < (unsigned)item.count)
                __stcs(out + N + n, v[i].x);
        }
    } else {
        __syncthreads();
#pragma unroll
        for (int i = 0; i < HELD; i++)
            shared[i * THREADS + thread] = v[i];
#pragma unroll 1
        for (int i = 0; i < HELD; i++) {
            int n = first + i / C * THREADS + i % C * PART;
            item.put(n, shared[i * THREADS + thread].y);
            item.put(N + n, shared[i * THREADS + thread].x);
        }
    }
}

#endif

template <int C>
__global__ void __cluster_dims__(C, 1, 1) __launch_bounds__(THREADS, 1)
    form_cluster(const __grid_constant__ array_pieces pieces, const float2 *__restrict__ table,
                 float2 *__restrict__ forms)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    extern __shared__ float2 shared[];
    auto cluster = cooperative_groups::this_cluster();
    int thread = (int)threadIdx.x, rank = (int)(blockIdx.x % C);
    int first = rank * slice_of<C>::FRAMES + thread;
    float2 v[HELD], *form = forms + (size_t)blockIdx.x * PART + thread;
    load_slice<C>(v, mask_of(pieces, blockIdx.x / C), 1.0f / (C * PART), first, shared);
    scatter_slice<C>(v, first, shared, cluster);
    split<PART>(v, shared, table, thread);
    warp_transform(v, shared + thread / 32 * WARP_PITCH, table, thread % 32);
#pragma unroll
    for (int m = 0; m < HELD; m++)
        form[m * THREADS] = v[m];
#endif
}

template <int C>
__global__ void __cluster_dims__(C, 1, 1) __launch_bounds__(THREADS, 1)
    convolve_cluster(const __grid_constant__ array_pieces pieces, const float2 *__restrict__ table,
                     const float2 *__restrict__ forms)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    extern __shared__ float2 shared[];
    auto cluster = cooperative_groups::this_cluster();
    int thread = (int)threadIdx.x, rank = (int)(blockIdx.x % C);
    int first = rank * slice_of<C>::FRAMES + thread;
    const array_item item = item_of(pieces, blockIdx.x / C);
    const float2 *__restrict__ form = forms + ((size_t)item.form * C + rank) * PART + thread;
    float2 v[HELD];
    load_slice<C>(v, item.in, 1, first, shared);
    scatter_slice<C>(v, first, shared, cluster);
    split<PART>(v, shared, table, thread);
    int turn; /* as in arrays_fused.cu */
    asm volatile("mov.u32 %0, 0;" : "=r"(turn));
#pragma unroll 1
    do {
        warp_transform(v, shared + thread / 32 * WARP_PITCH, table, thread % 32);
        if (turn == 0)
#pragma unroll
            for (int m = 0; m < HELD; m++) {
                float2 product = v[m] * __ldg(form + m * THREADS);
                v[m] = make_float2(product.y, product.x);
            }
        asm volatile("add.s32 %0, %0, 1;" : "+r"(turn));
    } while (turn < 2);
    join<PART>(v, shared, table, thread);
    gather_slice<C>(v, rank, first, shared, cluster);
    store_slice<C>(v, item, first, shared);
#endif
}

template <int C> static cudaError_t allow_shared()
{
    constexpr cudaFuncAttribute BYTES = cudaFuncAttributeMaxDynamicSharedMemorySize;
    CUDA_TRY(cudaFuncSetAttribute(form_cluster<C>, BYTES, SHARED));
    return cudaFuncSetAttribute(convolve_cluster<C>, BYTES, SHARED);
}

template <int C>
static void launch_form(const array_pieces *pieces, const float2 *table, float2 *forms,
                        cudaStream_t stream)
{
    form_cluster<C><<<C * pieces->masks, THREADS, SHARED, stream>>>(*pieces, table, forms);
}

template <int C>
static void launch_run(const array_pieces *pieces, const float2 *table, const float2 *forms,
                       cudaStream_t stream)
{
    convolve_cluster<C><<<C * pieces->items, THREADS, SHARED, stream>>>(*pieces, table, forms);
}

#define FOR_POWER(power, function, ...)                                                            \
    ((power) == 15   ? function<2>(__VA_ARGS__)                                                    \
     : (power) == 16 ? function<4>(__VA_ARGS__)                                                    \
                     : function<8>(__VA_ARGS__))

cudaError_t arrays_cluster_prepare(unsigned power)
{
    return FOR_POWER(power, allow_shared);
}

cudaError_t arrays_cluster_form(unsigned power, const struct array_pieces *pieces,
                                const void *table, void *forms, cudaStream_t stream)
{
    FOR_POWER(power, launch_form, pieces, static_cast<const float2 *>(table),
              static_cast<float2 *>(forms), stream);
    return cudaGetLastError();
}

cudaError_t arrays_cluster_run(unsigned power, const struct array_pieces *pieces, const void *table,
                               const void *forms, cudaStream_t stream)
{
    FOR_POWER(power, launch_run, pieces, static_cast<const float2 *>(table),
              static_cast<const float2 *>(forms), stream);
    return cudaGetLastError();
}
