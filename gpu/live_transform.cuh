/* Transforms of real samples on the device, many at once, in a thread block's shared memory. A
 * transform has `bins` complex points, with even samples as real and odd samples as imaginary parts
 * (Cooley, Lewis and Welch 1970). It is in double precision: in single precision, a bass leaves
 * rounding errors in the bins above it, which a mask of few taps could amplify.
 *
 * Forward transforms decimate in frequency. They leave bin k at the place whose index is k with its
 * bits reversed. Spectra stay in that order, and transforms back begin with it. In it, bin 0 is at
 * place 0. Among places 2^m to 2^(m+1) - 1, the conjugate partner of the first bin is the last, and
 * so on inwards.
 */
#ifndef HALO_GPU_LIVE_TRANSFORM_CUH
#define HALO_GPU_LIVE_TRANSFORM_CUH

extern "C" {
#include "gpu/live_graph_kernels.h"
}

#include <cuda_runtime.h>

static constexpr unsigned TILE_THREADS = 512;

/* Where point i of a tile is stored. Threads whose points are 8 apart then use different banks. */
__device__ __forceinline__ unsigned placed(unsigned i)
{
    return i ^ (i >> 3 & 7);
}

__device__ __forceinline__ double2 multiply(double2 a, double2 b)
{
    return make_double2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

/* w exp(-2 pi i eighths / 8) */
__device__ __forceinline__ double2 turned(double2 w, unsigned eighths)
{
    const double half = 0.70710678118654752440;
    if (eighths == 1)
        return make_double2(half * (w.x + w.y), half * (w.y - w.x));
    if (eighths == 2)
        return make_double2(w.y, -w.x);
    if (eighths == 3)
        return make_double2(half * (w.y - w.x), -half * (w.x + w.y));
    return w;
}

/* STAGES stages of radix 2 on points in registers. w: the factor of the first stage. */
template <unsigned STAGES, bool BACK>
__device__ __forceinline__ void combine(double2 (&a)[1u << STAGES], double2 w)
{
    double2 turns[STAGES];
    turns[0] = w;
#pragma unroll
    for (unsigned s = 1; s < STAGES; s++)
        turns[s] = multiply(turns[s - 1], turns[s - 1]);
#pragma unroll
    for (unsigned stage = 0; stage < STAGES; stage++) {
        const unsigned s = BACK ? STAGES - 1 - stage : stage, half = (1u << STAGES) >> (s + 1);
#pragma unroll
        for (unsigned b = 0; b < (1u << STAGES) / 2; b++) {
            const unsigned q = b % half, at = b / half * 2 * half + q;
            double2 turn = turned(turns[s], q * (4 / half)), low = a[at], high = a[at + half];
            if (BACK) {
                high = multiply(high, make_double2(turn.x, -turn.y));
                a[at] = make_double2(low.x + high.x, low.y + high.y);
                a[at + half] = make_double2(low.x - high.x, low.y - high.y);
            } else {
                a[at] = make_double2(low.x + high.x, low.y + high.y);
                a[at + half] = multiply(make_double2(low.x - high.x, low.y - high.y), turn);
            }
        }
    }
}

/* A pass over a tile: STAGES stages of sub-transforms of 2^length_log2 points. */
template <unsigned STAGES, bool BACK>
__device__ __forceinline__ void pass(const live_graph_state &s, double2 *points,
                                     unsigned length_log2)
{
    const unsigned stride_log2 = length_log2 - STAGES;
    __syncthreads();
    for (unsigned b = threadIdx.x; b < s.tile >> STAGES; b += TILE_THREADS) {
        unsigned j = b & ((1u << stride_log2) - 1);
        unsigned at = ((b >> stride_log2) << length_log2) + j;
        double2 a[1u << STAGES];
#pragma unroll
        for (unsigned q = 0; q < 1u << STAGES; q++)
            a[q] = points[placed(at + (q << stride_log2))];
        combine<STAGES, BACK>(a, __ldg(s.turns + ((size_t)j << (s.turns_log2 + 1 - length_log2))));
#pragma unroll
        for (unsigned q = 0; q < 1u << STAGES; q++)
            points[placed(at + (q << stride_log2))] = a[q];
    }
}

/* Transforms a tile, in transforms of 2^bins_log2 points. */
static __device__ void transform_forward(const live_graph_state &s, double2 *points,
                                         unsigned bins_log2)
{
    unsigned left = bins_log2;
    for (; left >= 3; left -= 3)
        pass<3, false>(s, points, left);
    if (left == 2)
        pass<2, false>(s, points, 2);
    if (left == 1)
        pass<1, false>(s, points, 1);
    __syncthreads();
}

static __device__ void transform_back(const live_graph_state &s, double2 *points,
                                      unsigned bins_log2)
{
    unsigned done = bins_log2 % 3;
    if (done == 2)
        pass<2, true>(s, points, 2);
    if (done == 1)
        pass<1, true>(s, points, 1);
    for (done += 3; done <= bins_log2; done += 3)
        pass<3, true>(s, points, done);
    __syncthreads();
}

/* The place of the conjugate partner of the bin at place i > 0. */
__device__ __forceinline__ unsigned partner_of(unsigned i)
{
    return 3 * (1u << (31 - __clz((int)i))) - 1 - i;
}

/* The real bin at place i of the transform at `first`. Place 0 holds the first and middle bins. */
__device__ __forceinline__ float2 real_bin(const live_graph_state &s, const double2 *points,
                                           unsigned first, unsigned i)
{
    double2 a = points[placed(first + i)];
    if (i == 0)
        return make_float2((float)(a.x + a.y), (float)(a.x - a.y));
    double2 b = points[placed(first + partner_of(i))];
    double2 odd = multiply(make_double2(a.y + b.y, b.x - a.x), __ldg(s.reversed + i));
    return make_float2((float)(0.5 * (a.x + b.x + odd.x)), (float)(0.5 * (a.y - b.y + odd.y)));
}

/* The point at place i that transforms back to the real spectrum's samples. */
__device__ __forceinline__ double2 complex_bin(const live_graph_state &s, const float2 *spectrum,
                                               unsigned i)
{
    float2 here = __ldcg(spectrum + i);
    double2 a = make_double2(here.x, here.y);
    if (i == 0)
        return make_double2(a.x + a.y, a.x - a.y);
    float2 there = __ldcg(spectrum + partner_of(i));
    double2 b = make_double2(there.x, -there.y), w = __ldg(s.reversed + i);
    double2 odd = multiply(make_double2(a.x - b.x, a.y - b.y), make_double2(w.x, -w.y));
    return make_double2(a.x + b.x - odd.y, a.y + b.y + odd.x);
}

#endif
