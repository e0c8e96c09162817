/* Overlap-save in one pass over device memory: a thread block loads two chunks as one complex
 * sequence, transforms it, multiplies it by the mask's spectrum, transforms it back and writes
 * the valid part of both chunks. The spectrum stays digit-reversed, like the mask's. */
extern "C" {
#include "gpu/fft_kernels.h"
#include "gpu/gpu.h"
}
#include "gpu/fft_device.cuh"
#include "gpu/kernel_device.cuh"

/* ---- kernels ---- */

/* The form: point m of thread t at m * threads + t, scaled by 1 / N for the inverse. */
template <int N>
__global__ void __launch_bounds__(N / POINTS)
    fused_form(const float *__restrict__ taps, int count, const float2 *__restrict__ table,
               float2 *__restrict__ form)
{
    extern __shared__ float2 shared[];
    float2 v[POINTS];
    using at = place<N, 0>;
    int thread = (int)threadIdx.x;
    for (int b = 0; b < at::BUTTERFLIES; b++)
        for (int k = 0; k < at::R; k++) {
            int p = at(thread, b).first + k * at::STRIDE;
            v[b * at::R + k] = make_float2(p < count ? taps[p] * (1.0f / N) : 0.0f, 0.0f);
        }
    transform<N, 0, false>(v, shared, table, thread);
    for (int m = 0; m < POINTS; m++)
        form[m * (N / POINTS) + thread] = v[m];
}

/* Two chunks, from output frame `base` on. table_back is the same table: if the compiler knew, it
 * would keep the factors in registers, and half as many threads would fit. */
template <int N>
__device__ __forceinline__ void
convolve_pair(const kernel_job &job, int history_frames, long long base, float2 *shared,
              const float2 *__restrict__ table, const float2 *__restrict__ table_back)
{
    using at = place<N, 0>;
    int thread = (int)threadIdx.x;
    float2 v[POINTS];
    int hop = N - history_frames;
    long long from = base + (long long)job.origin - history_frames;
    long long frames_in = (long long)job.frames_in, frames = (long long)job.frames;
    if (from >= 0 && from + hop + N <= frames_in) {
        const float *__restrict__ in = job.in + from;
#pragma unroll
        for (int b = 0; b < at::BUTTERFLIES; b++)
#pragma unroll
            for (int k = 0; k < at::R; k++) {
                int p = at(thread, b).first + k * at::STRIDE;
                v[b * at::R + k] = make_float2(__ldg(in + p), __ldg(in + hop + p));
            }
    } else {
#pragma unroll
        for (int b = 0; b < at::BUTTERFLIES; b++)
#pragma unroll
            for (int k = 0; k < at::R; k++) {
                long long p = from + at(thread, b).first + k * at::STRIDE;
                v[b * at::R + k] = make_float2(ghost(job.in, p, frames_in, job.boundary),
                                               ghost(job.in, p + hop, frames_in, job.boundary));
            }
    }
    transform<N, 0, false>(v, shared, table, thread);
    const float2 *__restrict__ form = reinterpret_cast<const float2 *>(job.mask);
#pragma unroll
    for (int m = 0; m < POINTS; m++)
        v[m] = v[m] * __ldg(form + m * (N / POINTS) + thread);
    transform<N, stages<N>() - 1, true>(v, shared, table_back, thread);
#pragma unroll
    for (int b = 0; b < at::BUTTERFLIES; b++)
#pragma unroll
        for (int k = 0; k < at::R; k++) {
            int q = at(thread, b).first + k * at::STRIDE - history_frames;
            if (q >= 0 && base + q < frames)
                put(job, base + q, v[b * at::R + k].x);
            if (q >= 0 && base + hop + q < frames)
                put(job, base + hop + q, v[b * at::R + k].y);
        }
}

template <int N>
__global__ void __launch_bounds__(N / POINTS, blocks<N>())
    fused_convolve(kernel_job job, int history_frames, const float2 *__restrict__ table,
                   const float2 *__restrict__ table_back)
{
    extern __shared__ float2 shared[];
    long long base =
        (long long)blockIdx.x * 2 * (N - history_frames); /* the first output's frame */
    convolve_pair<N>(job, history_frames, base, shared, table, table_back);
}

/* A pair of chunks of any sound a thread block. */
template <int N>
__global__ void __launch_bounds__(N / POINTS, blocks<N>())
    fused_pairs(const fft_pair *__restrict__ pairs, const float2 *__restrict__ table,
                const float2 *__restrict__ table_back)
{
    extern __shared__ float2 shared[];
    const kernel_job job = pairs[blockIdx.x].job;
    convolve_pair<N>(job, (int)pairs[blockIdx.x].history_frames, 0, shared, table, table_back);
}

/* ---- launchers ---- */

template <int N>
static cudaError_t launch_form(const float *table, const float *taps, size_t count, float *form,
                               cudaStream_t stream)
{
    constexpr cudaFuncAttribute SHARED = cudaFuncAttributeMaxDynamicSharedMemorySize;
    CUDA_TRY(cudaFuncSetAttribute(fused_form<N>, SHARED, shared_bytes<N>()));
    CUDA_TRY(cudaFuncSetAttribute(fused_convolve<N>, SHARED, shared_bytes<N>()));
    fused_form<N><<<1, N / POINTS, shared_bytes<N>(), stream>>>(
        taps, (int)count, reinterpret_cast<const float2 *>(table),
        reinterpret_cast<float2 *>(form));
    return cudaGetLastError();
}

template <int N>
static cudaError_t launch_convolve(const struct kernel_job *job, size_t history_frames,
                                   const float *table, cudaStream_t stream)
{
    unsigned pairs = blocks_for(job->frames, 2 * (N - history_frames));
    fused_convolve<N><<<pairs, N / POINTS, shared_bytes<N>(), stream>>>(
        *job, (int)history_frames, reinterpret_cast<const float2 *>(table),
        reinterpret_cast<const float2 *>(table));
    return cudaGetLastError();
}

template <int N>
static cudaError_t launch_pairs(const struct fft_pair *pairs, size_t count, const float *table,
                                cudaStream_t stream)
{
    constexpr cudaFuncAttribute SHARED = cudaFuncAttributeMaxDynamicSharedMemorySize;
    CUDA_TRY(cudaFuncSetAttribute(fused_pairs<N>, SHARED, shared_bytes<N>()));
    fused_pairs<N><<<(unsigned)count, N / POINTS, shared_bytes<N>(), stream>>>(
        pairs, reinterpret_cast<const float2 *>(table), reinterpret_cast<const float2 *>(table));
    return cudaGetLastError();
}

/* Call `function<N>(...)` for the length. */
#define FOR_LENGTH(fft, function, ...)                                                             \
    ((fft) == 1024   ? function<1024>(__VA_ARGS__)                                                 \
     : (fft) == 2048 ? function<2048>(__VA_ARGS__)                                                 \
     : (fft) == 4096 ? function<4096>(__VA_ARGS__)                                                 \
     : (fft) == 8192 ? function<8192>(__VA_ARGS__)                                                 \
                     : function<16384>(__VA_ARGS__))

size_t fft_fused_table_floats(size_t fft)
{
    return 2 * (size_t)FOR_LENGTH(fft, table_at);
}

void fft_fused_fill_table(size_t fft, float *table)
{
    FOR_LENGTH(fft, fill_table, reinterpret_cast<float2 *>(table));
}

size_t fft_fused_shared(size_t fft)
{
    return (size_t)FOR_LENGTH(fft, shared_bytes);
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
