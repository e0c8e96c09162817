/* Of the live kernel: the spectra of inputs, and the sums of partitions. */
#ifndef HALO_GPU_LIVE_SPECTRA_CUH
#define HALO_GPU_LIVE_SPECTRA_CUH

#include "gpu/live_device.cuh"

/* Bins that a thread holds while they are reordered. */
static constexpr unsigned HELD = LIVE_BLOCK_MOST / LIVE_THREADS;

/* ---- transforms in shared memory ---- */

__device__ __forceinline__ unsigned reversed(const live_state &s, unsigned i)
{
    return __brev(i) >> (32 - s.fft_log2);
}

/* In place, radix 2, from bit-reversed order (Cooley and Tukey 1965). */
static __device__ void transform(const live_state &s, float2 *points, bool back)
{
    for (unsigned half = 1; half < s.fft; half *= 2) {
        __syncthreads();
        for (unsigned j = threadIdx.x; j < s.fft / 2; j += LIVE_THREADS) {
            unsigned k = j % half, at = (j - k) * 2 + k;
            float2 w = __ldg(s.factors + k * (s.fft / 2 / half));
            float2 a = points[at], b = points[at + half];
            if (back)
                w.y = -w.y;
            float2 turned = make_float2(b.x * w.x - b.y * w.y, b.x * w.y + b.y * w.x);
            points[at] = make_float2(a.x + turned.x, a.y + turned.y);
            points[at + half] = make_float2(a.x - turned.x, a.y - turned.y);
        }
    }
    __syncthreads();
}

/* The last two blocks of an input, the older one first, into 2 block floats. */
__device__ __forceinline__ void load_input(const live_state &s, unsigned input, unsigned number,
                                           float *to)
{
    const float *time = s.time + (size_t)input * 2 * s.block;
    const float *now = time + (number & 1) * s.block, *before = time + (~number & 1) * s.block;
    for (unsigned i = threadIdx.x; i < s.block; i += LIVE_THREADS) {
        to[i] = __ldcg(before + i);
        to[s.block + i] = __ldcg(now + i);
    }
}

/* The spectrum of input `role`'s last two blocks. */
static __device__ void add_spectrum(const live_state &s, const live_scratch &r, unsigned role,
                                    unsigned number)
{
    const float *window = is_mine(s, role) ? r.mine : r.other;
    unsigned silent = s.fft - 2 * s.block;
    __syncthreads();
    if (!is_mine(s, role))
        load_input(s, role, number, r.other);
    __syncthreads();
    for (unsigned i = threadIdx.x; i < s.fft; i += LIVE_THREADS)
        r.fft[reversed(s, i)] = make_float2(i < silent ? 0 : window[i - silent], 0);
    transform(s, r.fft, false);
    float2 *to = s.spectra + ((size_t)role * s.depth + number % s.depth) * s.bins;
    for (unsigned k = threadIdx.x; k < s.bins; k += LIVE_THREADS)
        to[k] = k ? r.fft[k] : make_float2(r.fft[0].x, r.fft[s.bins].x);
    __syncthreads();
    if (threadIdx.x == 0)
        publish(s.spectra_done + role, number);
}

/* ---- the tail: partitions, due in block `number` ---- */

/* Two bins at a time; bin 0 holds two real bins, which do not mix. */
__device__ __forceinline__ void add_product(float4 &sum, float4 x, float4 h, bool real)
{
    sum.x += real ? x.x * h.x : x.x * h.x - x.y * h.y;
    sum.y += real ? x.y * h.y : x.x * h.y + x.y * h.x;
    sum.z += x.z * h.z - x.w * h.w;
    sum.w += x.z * h.w + x.w * h.z;
}

/* One path's partitions row, row + rows, ...: bins 2 `pair` and 2 `pair` + 1. */
__device__ __forceinline__ void add_partitions(const live_state &s, const live_mask &mask,
                                               live_path path, unsigned number, unsigned pair,
                                               unsigned row, unsigned rows, float4 &sum)
{
    const float2 *spectra = s.spectra + (size_t)path.input * s.depth * s.bins;
    const float4 *ring = reinterpret_cast<const float4 *>(spectra) + pair;
    spectra = mask.spectra + (size_t)path.column * mask.partitions * s.bins;
    const float4 *partitions = reinterpret_cast<const float4 *>(spectra) + pair;
    unsigned pairs = s.bins / 2;
    /* Partition p meets the spectrum of p + 1 blocks before; positions count down and wrap. */
    unsigned position = (number % s.depth + 2 * s.depth - 1 - row % s.depth) % s.depth;
    unsigned step = rows % s.depth;
#pragma unroll 4
    for (unsigned p = row; p < mask.partitions; p += rows) {
        add_product(sum, __ldcg(ring + (size_t)position * pairs),
                    __ldcg(partitions + (size_t)p * pairs), pair == 0);
        position = position >= step ? position - step : position + s.depth - step;
    }
}

/* The sum of all products for one output, bins 0..bins-1, in shared memory. Every thread has two
 * bins of one row of partitions; rows are added at the end. */
static __device__ void add_products(const live_state &s, const live_scratch &r,
                                    const live_mask &mask, unsigned first, unsigned last,
                                    unsigned number)
{
    unsigned pairs = s.bins / 2;
    unsigned across = pairs < LIVE_THREADS ? pairs : LIVE_THREADS, rows = LIVE_THREADS / across;
    unsigned lane = threadIdx.x % across, row = threadIdx.x / across;
    float4 *sums = reinterpret_cast<float4 *>(r.fft);
    for (unsigned pair = lane; pair < pairs; pair += across) {
        float4 sum = make_float4(0, 0, 0, 0);
        for (unsigned p = first; p < last; p++)
            add_partitions(s, mask, path_of(mask, p), number, pair, row, rows, sum);
        sums[rows == 1 ? pair : threadIdx.x] = sum;
    }
    for (unsigned half = rows / 2; half > 0; half /= 2) {
        __syncthreads();
        if (row < half) {
            float4 a = sums[threadIdx.x], b = sums[threadIdx.x + half * across];
            sums[threadIdx.x] = make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
        }
    }
    __syncthreads();
}

static __device__ void make_tail(const live_state &s, const live_scratch &r, const live_mask &mask,
                                 unsigned slot, unsigned output, unsigned number)
{
    float *tail = s.tails + ((size_t)slot * s.outputs + output) * s.block;
    unsigned first = __ldcg(mask.first + output), last = __ldcg(mask.first + output + 1);
    for (unsigned p = first; p < last; p++)
        await_flag(s.spectra_done + path_of(mask, p).input, number - 1);
    add_products(s, r, mask, first, last, number);
    /* To bit-reversed order, in place through registers, with the mirrored half. */
    float2 held[HELD];
    unsigned count = (s.bins + LIVE_THREADS - 1) / LIVE_THREADS;
#pragma unroll
    for (unsigned c = 0; c < HELD; c++)
        if (c < count && c * LIVE_THREADS + threadIdx.x < s.bins)
            held[c] = r.fft[c * LIVE_THREADS + threadIdx.x];
    __syncthreads();
#pragma unroll
    for (unsigned c = 0; c < HELD; c++) {
        unsigned k = c * LIVE_THREADS + threadIdx.x;
        if (c >= count || k >= s.bins)
            continue;
        r.fft[reversed(s, k)] = k ? held[c] : make_float2(held[c].x, 0);
        r.fft[reversed(s, k ? s.fft - k : s.bins)] =
            k ? make_float2(held[c].x, -held[c].y) : make_float2(held[c].y, 0);
    }
    transform(s, r.fft, true);
    for (unsigned i = threadIdx.x; i < s.block; i += LIVE_THREADS)
        tail[i] = r.fft[s.fft - s.block + i].x;
    __syncthreads();
}

#endif
