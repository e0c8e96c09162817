/* Convolves arrays with short masks. A thread slides a window of frames through registers: 64 sums
 * and products for eight loads. */
extern "C" {
#include "gpu/device_arrays_plan.h"
}
#include "gpu/arrays_device.cuh"

static constexpr int OUTPUTS = 8, TILE = ARRAYS_DIRECT_TILE, TAPS = ARRAYS_DIRECT_TAPS;
static constexpr int THREADS = TILE / OUTPUTS;

/* Place in shared memory. Threads are 8 frames apart; the unused places give each another bank. */
__device__ __forceinline__ int skewed(int frame)
{
    return frame + frame / OUTPUTS;
}

/* sum[o] += taps[0..7], applied to the thread's outputs. `near`: the outputs' frames for tap 0.
 * `far`: the frames before them. */
template <typename real>
__device__ __forceinline__ void add_taps(real (&sum)[OUTPUTS], const real (&near)[OUTPUTS],
                                         const real (&far)[OUTPUTS], const real *taps)
{
#pragma unroll
    for (int k = 0; k < OUTPUTS; k++)
#pragma unroll
        for (int o = 0; o < OUTPUTS; o++)
            sum[o] += taps[k] * (o >= k ? near[o - k] : far[OUTPUTS + o - k]);
}

/* The window of an item begins TAPS frames before its first output. */
template <typename real>
__global__ void __launch_bounds__(THREADS)
    convolve_direct(const __grid_constant__ array_pieces pieces)
{
    __shared__ real frames[TAPS + TILE + (TAPS + TILE) / OUTPUTS], taps[TAPS];
    const array_item item = item_of(pieces, blockIdx.x);
    const array_window mask = mask_of(pieces, item.form);
    int thread = (int)threadIdx.x;
    with_samples<real>(pieces.sample, [&](auto s) {
#pragma unroll
        for (int i = 0; i < OUTPUTS; i++)
            frames[skewed(i * THREADS + thread)] =
                item.in.template frame<decltype(s)>(i * THREADS + thread);
        if (thread < TAPS) {
            frames[skewed(TILE + thread)] = item.in.template frame<decltype(s)>(TILE + thread);
            taps[thread] = mask.template frame<decltype(s)>(thread);
        }
    });
    __syncthreads();

    real sum[OUTPUTS] = {0}, near[OUTPUTS], far[OUTPUTS];
    int first = TAPS + thread * OUTPUTS;
#pragma unroll
    for (int o = 0; o < OUTPUTS; o++)
        near[o] = frames[skewed(first + o)];
    for (int k = 0; k < mask.end; k += OUTPUTS) {
#pragma unroll
        for (int o = 0; o < OUTPUTS; o++)
            far[o] = frames[skewed(first - k - OUTPUTS + o)];
        add_taps(sum, near, far, taps + k);
#pragma unroll
        for (int o = 0; o < OUTPUTS; o++)
            near[o] = far[o];
    }
    __syncthreads();
#pragma unroll
    for (int o = 0; o < OUTPUTS; o++)
        frames[skewed(thread * OUTPUTS + o)] = sum[o];
    __syncthreads();
    with_samples<real>(pieces.sample, [&](auto s) {
#pragma unroll
        for (int i = 0; i < TILE; i += THREADS)
            item.template put<decltype(s)>(i + thread, frames[skewed(i + thread)]);
    });
}

cudaError_t arrays_direct(const struct array_pieces *pieces, cudaStream_t stream)
{
    if (pieces->sample == ARRAYS_FLOAT64)
        convolve_direct<double><<<pieces->items, THREADS, 0, stream>>>(*pieces);
    else
        convolve_direct<float><<<pieces->items, THREADS, 0, stream>>>(*pieces);
    return cudaGetLastError();
}
