/* Transforms of sequences whose points threads hold in registers, shared by the fused kernels and
 * those of long transforms.
 *
 * They are mixed-radix, decimation in frequency (Gentleman and Sande 1966), in place: a thread
 * holds 16 points, and the stages exchange points through shared memory. The spectrum stays
 * digit-reversed; the inverse runs the stages in reverse. Shared memory has one unused point after
 * every 16, so that strides of 16 use all banks. */
#ifndef HALO_GPU_FFT_DEVICE_CUH
#define HALO_GPU_FFT_DEVICE_CUH

#include <cuda_runtime.h>

#include <cmath>

static constexpr int POINTS = 16; /* a thread's */
static constexpr int WARPS = 16;  /* per multiprocessor, at least; more leave too few registers */

/* Radices of the stages, first to last; the last one is 16. */
template <int N> struct radices;
template <> struct radices<16> {
    static constexpr int of[4] = {16, 1, 1, 1};
};
template <> struct radices<32> {
    static constexpr int of[4] = {2, 16, 1, 1};
};
template <> struct radices<64> {
    static constexpr int of[4] = {4, 16, 1, 1};
};
template <> struct radices<128> {
    static constexpr int of[4] = {8, 16, 1, 1};
};
template <> struct radices<256> {
    static constexpr int of[4] = {16, 16, 1, 1};
};
template <> struct radices<512> {
    static constexpr int of[4] = {2, 16, 16, 1};
};
template <> struct radices<1024> {
    static constexpr int of[4] = {4, 16, 16, 1};
};
template <> struct radices<2048> {
    static constexpr int of[4] = {8, 16, 16, 1};
};
template <> struct radices<4096> {
    static constexpr int of[4] = {16, 16, 16, 1};
};
template <> struct radices<8192> {
    static constexpr int of[4] = {8, 8, 8, 16};
};
template <> struct radices<16384> {
    static constexpr int of[4] = {16, 8, 8, 16};
};

template <int N> __host__ __device__ constexpr int blocks()
{
    return WARPS * 32 * POINTS / N > 0 ? WARPS * 32 * POINTS / N : 1;
}

/* Of a sequence, padded. */
template <int N> __host__ __device__ constexpr int shared_bytes()
{
    return (N + N / 16) * (int)sizeof(float2);
}

template <int N> __host__ __device__ constexpr int stages()
{
    int count = 0;
    while (count < 4 && radices<N>::of[count] > 1)
        count++;
    return count;
}

/* Points of the sequences that stage S splits. */
template <int N, int S> __host__ __device__ constexpr int length()
{
    int points = N;
    for (int s = 0; s < S; s++)
        points /= radices<N>::of[s];
    return points;
}

/* Offset of stage S in the table, (R - 1) rows of length / R factors; by default, the table's
 * length. */
template <int N, int S = stages<N>()> __host__ __device__ constexpr int table_at()
{
    int at = 0, points = N;
    for (int s = 0; s < S; s++) {
        at += points - points / radices<N>::of[s];
        points /= radices<N>::of[s];
    }
    return at;
}

/* ---- complex arithmetic and butterflies ---- */

__device__ __forceinline__ float2 operator+(float2 a, float2 b)
{
    return make_float2(a.x + b.x, a.y + b.y);
}

__device__ __forceinline__ float2 operator-(float2 a, float2 b)
{
    return make_float2(a.x - b.x, a.y - b.y);
}

__device__ __forceinline__ float2 operator*(float2 a, float2 b)
{
    return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

template <bool BACK> __device__ __forceinline__ float2 turn(float2 a, float2 factor)
{
    return a * make_float2(factor.x, BACK ? -factor.y : factor.y);
}

/* -i a, or i a for the inverse. */
template <bool BACK> __device__ __forceinline__ float2 quarter(float2 a)
{
    return BACK ? make_float2(-a.y, a.x) : make_float2(a.y, -a.x);
}

template <bool BACK>
__device__ __forceinline__ void butterfly_4(float2 &a, float2 &b, float2 &c, float2 &d)
{
    float2 sum = a + c, difference = a - c, other = b + d, turned = quarter<BACK>(b - d);
    a = sum + other, b = difference + turned, c = sum - other, d = difference - turned;
}

template <int R, bool BACK> __device__ __forceinline__ void butterfly(float2 *v)
{
    constexpr float HALF = 0.70710678118654752f, COS = 0.92387953251128674f,
                    SIN = 0.38268343236508977f;
    if constexpr (R == 2) {
        float2 sum = v[0] + v[1];
        v[1] = v[0] - v[1];
        v[0] = sum;
    } else if constexpr (R == 4) {
        butterfly_4<BACK>(v[0], v[1], v[2], v[3]);
    } else if constexpr (R == 8) {
        butterfly_4<BACK>(v[0], v[2], v[4], v[6]);
        butterfly_4<BACK>(v[1], v[3], v[5], v[7]);
        v[3] = turn<BACK>(v[3], make_float2(HALF, -HALF));
        v[5] = quarter<BACK>(v[5]);
        v[7] = turn<BACK>(v[7], make_float2(-HALF, -HALF));
        float2 y[8];
#pragma unroll
        for (int k = 0; k < 4; k++) {
            y[k] = v[2 * k] + v[2 * k + 1];
            y[k + 4] = v[2 * k] - v[2 * k + 1];
        }
#pragma unroll
        for (int k = 0; k < 8; k++)
            v[k] = y[k];
    } else {
        static_assert(R == 16, "one of the radices above");
#pragma unroll
        for (int n = 0; n < 4; n++)
            butterfly_4<BACK>(v[n], v[4 + n], v[8 + n], v[12 + n]);
        /* v[4 k + n] times exp(-2 pi i k n / 16). */
        v[5] = turn<BACK>(v[5], make_float2(COS, -SIN));
        v[6] = turn<BACK>(v[6], make_float2(HALF, -HALF));
        v[7] = turn<BACK>(v[7], make_float2(SIN, -COS));
        v[9] = turn<BACK>(v[9], make_float2(HALF, -HALF));
        v[10] = quarter<BACK>(v[10]);
        v[11] = turn<BACK>(v[11], make_float2(-HALF, -HALF));
        v[13] = turn<BACK>(v[13], make_float2(SIN, -COS));
        v[14] = turn<BACK>(v[14], make_float2(-HALF, -HALF));
        v[15] = turn<BACK>(v[15], make_float2(-COS, SIN));
#pragma unroll
        for (int k = 0; k < 4; k++)
            butterfly_4<BACK>(v[4 * k], v[4 * k + 1], v[4 * k + 2], v[4 * k + 3]);
        float2 y[16];
#pragma unroll
        for (int k = 0; k < 4; k++)
#pragma unroll
            for (int n = 0; n < 4; n++)
                y[k + 4 * n] = v[4 * k + n];
#pragma unroll
        for (int k = 0; k < 16; k++)
            v[k] = y[k];
    }
}

/* ---- stages ---- */

__device__ __forceinline__ int padded(int point)
{
    return point + point / 16;
}

/* The points of a butterfly of thread `thread` in stage S: first, first + stride, ... */
template <int N, int S> struct place {
    static constexpr int R = radices<N>::of[S], L = length<N, S>(), STRIDE = L / R,
                         BUTTERFLIES = POINTS / R, THREADS = N / POINTS;
    int first, turn;
    __device__ __forceinline__ place(int thread, int butterfly)
    {
        int u = thread + butterfly * THREADS;
        turn = u % STRIDE;
        first = u / STRIDE * L + turn;
    }
};

template <int N, int S, bool BACK>
__device__ __forceinline__ void turn_points(float2 *v, const float2 *__restrict__ table, int turn)
{
    using at = place<N, S>;
    if constexpr (at::STRIDE > 1) {
#pragma unroll
        for (int k = 1; k < at::R; k++)
            v[k] =
                ::turn<BACK>(v[k], __ldg(table + table_at<N, S>() + (k - 1) * at::STRIDE + turn));
    }
}

/* visit(i, p) for each of the thread's points v[i] in stage S, point p of the sequence. */
template <int N, int S, typename F> __device__ __forceinline__ void each_point(int thread, F visit)
{
    using at = place<N, S>;
#pragma unroll
    for (int b = 0; b < at::BUTTERFLIES; b++) {
        at where(thread, b);
#pragma unroll
        for (int k = 0; k < at::R; k++)
            visit(b * at::R + k, where.first + k * at::STRIDE);
    }
}

template <int N, int S, bool BACK>
__device__ __forceinline__ void run_stage(float2 *v, const float2 *__restrict__ table, int thread)
{
    using at = place<N, S>;
#pragma unroll
    for (int b = 0; b < at::BUTTERFLIES; b++) {
        if (BACK)
            turn_points<N, S, BACK>(v + b * at::R, table, at(thread, b).turn);
        butterfly<at::R, BACK>(v + b * at::R);
        if (!BACK)
            turn_points<N, S, BACK>(v + b * at::R, table, at(thread, b).turn);
    }
}

/* Stage S and those after it: from the points of the first stage to the spectrum, in the last
 * stage's places, or BACK. `thread`: of the N / POINTS that share the sequence, whose point p is at
 * shared[PITCH * padded(p)]. One barrier per stage is enough: a stage writes only where it has
 * read. */
template <int N, int S, bool BACK, int PITCH = 1>
__device__ __forceinline__ void transform(float2 *v, float2 *shared,
                                          const float2 *__restrict__ table, int thread)
{
    constexpr int NEXT = BACK ? S - 1 : S + 1;
    run_stage<N, S, BACK>(v, table, thread);
    if constexpr (NEXT >= 0 && NEXT < stages<N>()) {
        each_point<N, S>(thread, [&](int i, int p) { shared[PITCH * padded(p)] = v[i]; });
        __syncthreads();
        each_point<N, NEXT>(thread, [&](int i, int p) { v[i] = shared[PITCH * padded(p)]; });
        transform<N, NEXT, BACK, PITCH>(v, shared, table, thread);
    }
}

/* ---- the table of factors ---- */

template <int N, int S = 0> static void fill_table(float2 *table)
{
    constexpr int R = radices<N>::of[S], L = length<N, S>(), STRIDE = L / R;
    for (int k = 1; k < R; k++)
        for (int j = 0; j < STRIDE; j++) {
            double angle = -2 * M_PI * (double)j * k / L;
            table[table_at<N, S>() + (k - 1) * STRIDE + j] =
                make_float2((float)cos(angle), (float)sin(angle));
        }
    if constexpr (S + 1 < stages<N>())
        fill_table<N, S + 1>(table);
}

#endif
