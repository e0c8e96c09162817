/* Overlap-save of arrays in one pass over device memory, as in fft_fused.cu. A thread block
 * transforms a chunk (device_arrays_plan.h), multiplies it by its mask's spectrum, transforms it
 * back and writes its outputs. */
#include "gpu/arrays_device.cuh"
#include "gpu/fft_warp.cuh"

/* v: points of the window, times `scale`, twisted. */
template <int N>
__device__ __forceinline__ void load_points(float2 *v, const array_window &in, float scale)
{
    int thread = (int)threadIdx.x;
    if (in.is_plain(2 * N)) {
        const float *__restrict__ from = static_cast<const float *>(in.samples) + in.at + thread;
        each_held<N>(
            [&](int i, int p) { v[i] = make_float2(__ldg(from + p), __ldg(from + N + p)); });
    } else {
        with_samples<float>(in.sample, [&](auto s) {
            each_held<N>([&](int i, int p) {
                v[i] = make_float2(in.frame<decltype(s)>(thread + p),
                                   in.frame<decltype(s)>(thread + N + p));
            });
        });
    }
    float2 base = unit((float)thread / (2 * N));
    twist<HELD>(v, make_float2(scale * base.x, scale * base.y), held_at<N>);
}

/* Point m of thread t is at m * threads + t, scaled by 1 / N for the inverse. */
template <int N>
__global__ void __launch_bounds__(split_of<N>::THREADS)
    form_fused(const __grid_constant__ array_pieces pieces, const float2 *__restrict__ table,
               float2 *__restrict__ forms)
{
    extern __shared__ float2 shared[];
    float2 v[HELD], *form = forms + (size_t)blockIdx.x * N;
    int thread = (int)threadIdx.x;
    load_points<N>(v, mask_of(pieces, blockIdx.x), 1.0f / N);
    split<N>(v, shared, table, thread);
    warp_transform(v, shared + thread / 32 * WARP_PITCH, table, thread % 32);
#pragma unroll
    for (int m = 0; m < HELD; m++)
        form[m * split_of<N>::THREADS + thread] = v[m];
}

template <int N>
__global__ void __launch_bounds__(split_of<N>::THREADS, split_of<N>::BLOCKS)
    convolve_fused(const __grid_constant__ array_pieces pieces, const float2 *__restrict__ table,
                   const float2 *__restrict__ forms)
{
    extern __shared__ float2 shared[];
    int thread = (int)threadIdx.x;
    const array_item item = item_of(pieces, blockIdx.x);
    float2 v[HELD];
    load_points<N>(v, item.in, 1);
    multiply_spectrum<N>(v, shared, table, forms + (size_t)item.form * N, thread);
    twist<HELD>(v, unit((float)thread / (2 * N)), held_at<N>); /* back: parts are exchanged */
    with_samples<float>(pieces.sample, [&](auto s) {
        each_held<N>([&](int i, int p) {
            item.template put<decltype(s)>(thread + p, v[i].y);
            item.template put<decltype(s)>(thread + N + p, v[i].x);
        });
    });
}

template <int N> static cudaError_t allow_shared()
{
    constexpr cudaFuncAttribute SHARED = cudaFuncAttributeMaxDynamicSharedMemorySize;
    CUDA_TRY(cudaFuncSetAttribute(form_fused<N>, SHARED, split_of<N>::SHARED));
    return cudaFuncSetAttribute(convolve_fused<N>, SHARED, split_of<N>::SHARED);
}

template <int N>
static void launch_form(const array_pieces *pieces, const float2 *table, float2 *forms,
                        cudaStream_t stream)
{
    form_fused<N><<<pieces->masks, split_of<N>::THREADS, split_of<N>::SHARED, stream>>>(
        *pieces, table, forms);
}

template <int N>
static void launch_run(const array_pieces *pieces, const float2 *table, const float2 *forms,
                       cudaStream_t stream)
{
    convolve_fused<N><<<pieces->items, split_of<N>::THREADS, split_of<N>::SHARED, stream>>>(
        *pieces, table, forms);
}

#define FOR_POWER(power, function, ...)                                                            \
    ((power) == 10   ? function<1 << 10>(__VA_ARGS__)                                              \
     : (power) == 11 ? function<1 << 11>(__VA_ARGS__)                                              \
     : (power) == 12 ? function<1 << 12>(__VA_ARGS__)                                              \
     : (power) == 13 ? function<1 << 13>(__VA_ARGS__)                                              \
                     : function<1 << 14>(__VA_ARGS__))

cudaError_t arrays_fused_prepare(unsigned power)
{
    return FOR_POWER(power, allow_shared);
}

cudaError_t arrays_fused_form(unsigned power, const struct array_pieces *pieces, const void *table,
                              void *forms, cudaStream_t stream)
{
    FOR_POWER(power, launch_form, pieces, static_cast<const float2 *>(table),
              static_cast<float2 *>(forms), stream);
    return cudaGetLastError();
}

cudaError_t arrays_fused_run(unsigned power, const struct array_pieces *pieces, const void *table,
                             const void *forms, cudaStream_t stream)
{
    FOR_POWER(power, launch_run, pieces, static_cast<const float2 *>(table),
              static_cast<const float2 *>(forms), stream);
    return cudaGetLastError();
}
