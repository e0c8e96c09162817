/* Overlap-save in one pass over device memory. A thread block loads two chunks as one complex
 * sequence, transforms it, multiplies it by the mask's spectrum, transforms it back and writes the
 * valid part of both chunks. The spectrum stays in the warps' order, like the mask's. */
extern "C" {
#include "gpu/fft_kernels.h"
#include "gpu/gpu.h"
}
#include "gpu/fft_warp.cuh"
#include "gpu/kernel_device.cuh"

/* ---- kernels ---- */

/* Computes a form. Point m of thread t is at m * threads + t, scaled by 1 / N for the inverse. */
template <int N>
__global__ void __launch_bounds__(split_of<N>::THREADS)
    fused_form(const float *__restrict__ taps, int count, const float2 *__restrict__ table,
               float2 *__restrict__ form)
{
    extern __shared__ float2 shared[];
    float2 v[HELD];
    int thread = (int)threadIdx.x;
    each_held<N>([&](int i, int p) {
        v[i] = make_float2(thread + p < count ? taps[thread + p] * (1.0f / N) : 0.0f, 0.0f);
    });
    split<N>(v, shared, table, thread);
    warp_transform(v, shared + thread / 32 * WARP_PITCH, table, thread % 32);
#pragma unroll
    for (int m = 0; m < HELD; m++)
        form[m * split_of<N>::THREADS + thread] = v[m];
}

/* Stores the points from history_frames on. `out` and `second`: places for point `thread`. Rows are
 * stored in groups, most of which need no predicate. */
template <int N>
__device__ __forceinline__ void store_rows(const float2 *v, float *out, float *second, int thread,
                                           int history_frames)
{
    constexpr int GROUP = 4, THREADS = split_of<N>::THREADS;
#pragma unroll
    for (int first = 0; first < HELD; first += GROUP) {
        if (first * THREADS >= history_frames) {
#pragma unroll
            for (int row = first; row < first + GROUP; row++) {
                __stcs(out + row * THREADS, v[held_at<N>(row)].y);
                __stcs(second + row * THREADS, v[held_at<N>(row)].x);
            }
        } else if ((first + GROUP) * THREADS > history_frames) {
#pragma unroll
            for (int row = first; row < first + GROUP; row++)
                if (thread + row * THREADS >= history_frames) {
                    __stcs(out + row * THREADS, v[held_at<N>(row)].y);
                    __stcs(second + row * THREADS, v[held_at<N>(row)].x);
                }
        }
    }
}

/* Convolves two chunks, from output frame `base` on. */
template <int N>
__device__ __forceinline__ void convolve_pair(const kernel_job &job, int history_frames,
                                              long long base, float2 *shared,
                                              const float2 *__restrict__ table)
{
    using at = split_of<N>;
    int thread = (int)threadIdx.x;
    float2 v[HELD];
    int hop = N - history_frames;
    long long from = base + (long long)job.origin - history_frames;
    long long frames_in = (long long)job.frames_in, frames = (long long)job.frames;
    if (from >= 0 && from + hop + N <= frames_in) {
        const float *__restrict__ in = job.in + from + thread;
        const float *__restrict__ second = in + hop;
        each_held<N>([&](int i, int p) { v[i] = make_float2(__ldg(in + p), __ldg(second + p)); });
    } else { /* through shared memory; a loop takes less code and fewer registers */
#pragma unroll 1
        for (int p = thread; p < N; p += at::THREADS)
            shared[p] = make_float2(ghost(job.in, from + p, frames_in, job.boundary),
                                    ghost(job.in, from + p + hop, frames_in, job.boundary));
        each_held<N>([&](int i, int p) { v[i] = shared[thread + p]; });
        __syncthreads();
    }
    multiply_spectrum<N>(v, shared, table, reinterpret_cast<const float2 *>(job.mask), thread);
    if (base + 2 * hop <= frames && !job.add) {
        float *out = job.out + base - history_frames + thread, *second = out + hop;
        store_rows<N>(v, out, second, thread, history_frames);
    } else {
        __syncthreads();
        each_held<N>([&](int i, int p) { shared[thread + p] = v[i]; });
#pragma unroll 1
        for (int p = thread; p < N; p += at::THREADS) {
            int q = p - history_frames;
            if (q >= 0 && base + q < frames)
                put(job, base + q, shared[p].y);
            if (q >= 0 && base + hop + q < frames)
                put(job, base + hop + q, shared[p].x);
        }
    }
}

template <int N>
__global__ void __launch_bounds__(split_of<N>::THREADS, split_of<N>::BLOCKS)
    fused_convolve(kernel_job job, int history_frames, const float2 *__restrict__ table)
{
    extern __shared__ float2 shared[];
    long long base =
        (long long)blockIdx.x * 2 * (N - history_frames); /* frame of the first output */
    convolve_pair<N>(job, history_frames, base, shared, table);
}

/* Each thread block convolves one pair of chunks, of any sound. */
template <int N>
__global__ void __launch_bounds__(split_of<N>::THREADS, split_of<N>::BLOCKS)
    fused_pairs(const fft_pair *__restrict__ pairs, const float2 *__restrict__ table)
{
    extern __shared__ float2 shared[];
    const kernel_job job = pairs[blockIdx.x].job;
    convolve_pair<N>(job, (int)pairs[blockIdx.x].history_frames, 0, shared, table);
}

/* ---- launchers ---- */

template <int N>
static cudaError_t launch_form(const float *table, const float *taps, size_t count, float *form,
                               cudaStream_t stream)
{
    constexpr cudaFuncAttribute SHARED = cudaFuncAttributeMaxDynamicSharedMemorySize;
    CUDA_TRY(cudaFuncSetAttribute(fused_form<N>, SHARED, split_of<N>::SHARED));
    CUDA_TRY(cudaFuncSetAttribute(fused_convolve<N>, SHARED, split_of<N>::SHARED));
    fused_form<N><<<1, split_of<N>::THREADS, split_of<N>::SHARED, stream>>>(
        taps, (int)count, reinterpret_cast<const float2 *>(table),
        reinterpret_cast<float2 *>(form));
    return cudaGetLastError();
}

template <int N>
static cudaError_t launch_convolve(const struct kernel_job *job, size_t history_frames,
                                   const float *table, cudaStream_t stream)
{
    unsigned pairs = blocks_for(job->frames, 2 * (N - history_frames));
    fused_convolve<N><<<pairs, split_of<N>::THREADS, split_of<N>::SHARED, stream>>>(
        *job, (int)history_frames, reinterpret_cast<const float2 *>(table));
    return cudaGetLastError();
}

template <int N>
static cudaError_t launch_pairs(const struct fft_pair *pairs, size_t count, const float *table,
                                cudaStream_t stream)
{
    constexpr cudaFuncAttribute SHARED = cudaFuncAttributeMaxDynamicSharedMemorySize;
    CUDA_TRY(cudaFuncSetAttribute(fused_pairs<N>, SHARED, split_of<N>::SHARED));
    fused_pairs<N><<<(unsigned)count, split_of<N>::THREADS, split_of<N>::SHARED, stream>>>(
        pairs, reinterpret_cast<const float2 *>(table));
    return cudaGetLastError();
}

template <int N> static constexpr int fused_shared()
{
    return split_of<N>::SHARED;
}

/* Calls `function<N>(...)` for the length. */
#define FOR_LENGTH(fft, function, ...)                                                             \
    ((fft) == 1024   ? function<1024>(__VA_ARGS__)                                                 \
     : (fft) == 2048 ? function<2048>(__VA_ARGS__)                                                 \
     : (fft) == 4096 ? function<4096>(__VA_ARGS__)                                                 \
     : (fft) == 8192 ? function<8192>(__VA_ARGS__)                                                 \
                     : function<16384>(__VA_ARGS__))

size_t fft_fused_table_floats(size_t fft)
{
    return 2 * (size_t)FOR_LENGTH(fft, split_table_points);
}

void fft_fused_fill_table(size_t fft, float *table)
{
    FOR_LENGTH(fft, fill_split_table, reinterpret_cast<float2 *>(table));
}

size_t fft_fused_shared(size_t fft)
{
    return (size_t)FOR_LENGTH(fft, fused_shared);
}

cudaError_t fft_fused_form(size_t fft, const float *table, const float *taps, size_t count,
                           float *form, cudaStream_t stream)
{
    return FOR_LENGTH(fft, launch_form, table, taps, count, form, stream);
}

cudaError_t fft_fused_launch(const struct kernel_job *job, const struct fft_plan *plan,
                             const float *table, cudaStream_t stream)
{
    return FOR_LENGTH(plan->fft, launch_convolve, job, plan->history_frames, table, stream);
}

cudaError_t fft_fused_pairs(size_t fft, const struct fft_pair *pairs, size_t count,
                            const float *table, cudaStream_t stream)
{
    return FOR_LENGTH(fft, launch_pairs, pairs, count, table, stream);
}
