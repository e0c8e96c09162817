/* A part of the live kernel: the spectra of inputs, and the sums of partitions. */
#ifndef HALO_GPU_LIVE_SPECTRA_CUH
#define HALO_GPU_LIVE_SPECTRA_CUH

#include "gpu/live_device.cuh"

/* Bins that a thread holds in registers while they are reordered. */
static constexpr unsigned HELD = LIVE_BLOCK_MOST / LIVE_THREADS;

static constexpr unsigned SUM_RUN = 16; /* products that are summed without compensation */

/* ---- transforms in shared memory ----
 *
 * A real transform of `fft` points is a complex one of half as many, with even samples as real and
 * odd samples as imaginary parts (Cooley, Lewis and Welch 1970). It is in double precision: in
 * single precision, a bass leaves rounding errors in the bins above it, which a mask of few taps
 * could amplify.
 */

__device__ __forceinline__ unsigned reversed(const live_state &s, unsigned i)
{
    return __brev(i) >> (32 - s.bins_log2);
}

__device__ __forceinline__ double2 multiply(double2 a, double2 b)
{
    return make_double2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

/* Transforms in place, radix 2, from bit-reversed order (Cooley and Tukey 1965). */
static __device__ void transform(const live_state &s, double2 *points, bool back)
{
    for (unsigned half = 1; half < s.bins; half *= 2) {
        __syncthreads();
        for (unsigned j = threadIdx.x; j < s.bins / 2; j += LIVE_THREADS) {
            unsigned k = j % half, at = (j - k) * 2 + k;
            double2 w = __ldg(s.factors + k * (s.bins / half));
            double2 a = points[at];
            if (back)
                w.y = -w.y;
            double2 turned = multiply(points[at + half], w);
            points[at] = make_double2(a.x + turned.x, a.y + turned.y);
            points[at + half] = make_double2(a.x - turned.x, a.y - turned.y);
        }
    }
    __syncthreads();
}

/* Bin k of the real spectrum, from the complex one. Bin 0 holds the first and the middle bin. */
__device__ __forceinline__ float2 real_bin(const live_state &s, const double2 *points, unsigned k)
{
    double2 a = points[k];
    if (k == 0)
        return make_float2((float)(a.x + a.y), (float)(a.x - a.y));
    double2 b = points[s.bins - k];
    double2 odd = multiply(make_double2(a.y + b.y, b.x - a.x), __ldg(s.factors + k));
    return make_float2((float)(0.5 * (a.x + b.x + odd.x)), (float)(0.5 * (a.y - b.y + odd.y)));
}

/* Bin k of the complex spectrum whose inverse transform is that of the real spectrum. */
__device__ __forceinline__ double2 complex_bin(const live_state &s, const float2 *spectrum,
                                               unsigned k)
{
    double2 a = make_double2(spectrum[k].x, spectrum[k].y);
    if (k == 0)
        return make_double2(a.x + a.y, a.x - a.y);
    double2 b = make_double2(spectrum[s.bins - k].x, -spectrum[s.bins - k].y);
    double2 w = __ldg(s.factors + k);
    double2 odd = multiply(make_double2(a.x - b.x, a.y - b.y), make_double2(w.x, -w.y));
    return make_double2(a.x + b.x - odd.y, a.y + b.y + odd.x);
}

/* Loads the last two blocks of an input, the older one first, as 2 block floats. */
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

/* Computes the spectrum of the last two blocks of input `role`. */
static __device__ void add_spectrum(const live_state &s, const live_scratch &r, unsigned role,
                                    unsigned number)
{
    const float *window = is_mine(s, role) ? r.mine : r.other;
    unsigned silent = s.fft - 2 * s.block;
    __syncthreads();
    if (!is_mine(s, role))
        load_input(s, role, number, r.other);
    __syncthreads();
    for (unsigned i = threadIdx.x; i < s.bins; i += LIVE_THREADS) {
        unsigned even = 2 * i, odd = 2 * i + 1;
        r.fft[reversed(s, i)] = make_double2(even < silent ? 0 : window[even - silent],
                                             odd < silent ? 0 : window[odd - silent]);
    }
    transform(s, r.fft, false);
    float2 *to = s.spectra + ((size_t)role * s.depth + number % s.depth) * s.bins;
    for (unsigned k = threadIdx.x; k < s.bins; k += LIVE_THREADS)
        to[k] = real_bin(s, r.fft, k);
    __syncthreads();
    if (threadIdx.x == 0)
        publish(s.spectra_done + role, number);
}

/* ---- the tail: results of partitions, which are due in block `number` ---- */

/* Adds the products of two bins. `real`: the first holds two real bins, which do not mix. */
__device__ __forceinline__ void add_product(float4 &sum, float4 x, float4 h, bool real)
{
    sum.x += real ? x.x * h.x : x.x * h.x - x.y * h.y;
    sum.y += real ? x.y * h.y : x.x * h.y + x.y * h.x;
    sum.z += x.z * h.z - x.w * h.w;
    sum.w += x.z * h.w + x.w * h.z;
}

/* A sum, and what rounding lost in it. */
struct compensated {
    float4 sum, lost;
};

__device__ __forceinline__ void add_run(compensated &to, float4 run)
{
    add_run(to.sum.x, to.lost.x, run.x);
    add_run(to.sum.y, to.lost.y, run.y);
    add_run(to.sum.z, to.lost.z, run.z);
    add_run(to.sum.w, to.lost.w, run.w);
}

/* Adds one path's partitions row, row + rows, ... to bins 2 `pair` and 2 `pair` + 1. If hundreds of
 * products are in phase, a plain sum loses up to 6 dB more than is allowed. */
__device__ __forceinline__ void add_partitions(const live_state &s, const live_mask &mask,
                                               live_path path, unsigned number, unsigned pair,
                                               unsigned row, unsigned rows, compensated &sum)
{
    const float2 *spectra = s.spectra + (size_t)path.input * s.depth * s.bins;
    const float4 *ring = reinterpret_cast<const float4 *>(spectra) + pair;
    spectra = mask.spectra + (size_t)path.column * mask.partitions * s.bins;
    const float4 *partitions = reinterpret_cast<const float4 *>(spectra) + pair;
    unsigned pairs = s.bins / 2;
    /* Partition p meets the spectrum of p + 1 blocks ago. Positions count down and wrap. */
    unsigned position = (number % s.depth + 2 * s.depth - 1 - row % s.depth) % s.depth;
    unsigned step = rows % s.depth;
    for (unsigned p = row; p < mask.partitions;) {
        float4 run = make_float4(0, 0, 0, 0);
        unsigned end = p + SUM_RUN * rows < mask.partitions ? p + SUM_RUN * rows : mask.partitions;
#pragma unroll 4
        for (; p < end; p += rows) {
            add_product(run, __ldcg(ring + (size_t)position * pairs),
                        __ldcg(partitions + (size_t)p * pairs), pair == 0);
            position = position >= step ? position - step : position + s.depth - step;
        }
        add_run(sum, run);
    }
}

/* Sums all products of one output, bins 0..bins-1, in shared memory. Every thread has two bins of
 * one row of partitions. The rows are added at the end. */
static __device__ void add_products(const live_state &s, const live_scratch &r,
                                    const live_mask &mask, unsigned first, unsigned last,
                                    unsigned number)
{
    unsigned pairs = s.bins / 2;
    unsigned across = pairs < LIVE_THREADS ? pairs : LIVE_THREADS, rows = LIVE_THREADS / across;
    unsigned lane = threadIdx.x % across, row = threadIdx.x / across;
    float4 *sums = reinterpret_cast<float4 *>(r.fft);
    for (unsigned pair = lane; pair < pairs; pair += across) {
        compensated total = {make_float4(0, 0, 0, 0), make_float4(0, 0, 0, 0)};
        for (unsigned p = first; p < last; p++)
            add_partitions(s, mask, path_of(mask, p), number, pair, row, rows, total);
        sums[rows == 1 ? pair : threadIdx.x] = total.sum;
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
    /* Brings the bins to bit-reversed order, in place, through registers. */
    const float2 *spectrum = reinterpret_cast<const float2 *>(r.fft);
    double2 held[HELD];
#pragma unroll
    for (unsigned c = 0; c < HELD; c++)
        if (c * LIVE_THREADS + threadIdx.x < s.bins)
            held[c] = complex_bin(s, spectrum, c * LIVE_THREADS + threadIdx.x);
    __syncthreads();
#pragma unroll
    for (unsigned c = 0; c < HELD; c++)
        if (c * LIVE_THREADS + threadIdx.x < s.bins)
            r.fft[reversed(s, c * LIVE_THREADS + threadIdx.x)] = held[c];
    transform(s, r.fft, true);
    const double *samples = reinterpret_cast<const double *>(r.fft);
    for (unsigned i = threadIdx.x; i < s.block; i += LIVE_THREADS)
        tail[i] = (float)samples[s.fft - s.block + i];
    __syncthreads();
}

#endif
