/* Overlap-save in one pass over device memory: a thread block loads two chunks as one complex
 * sequence, transforms it, multiplies it by the mask's spectrum, transforms it back and writes
 * the valid part of both chunks.
 *
 * The transform is mixed-radix, decimation in frequency (Gentleman and Sande 1966), in place: a
 * thread holds 16 points in registers, and the stages exchange points through shared memory. The
 * spectrum stays digit-reversed, like the mask's; the inverse runs the stages in reverse. Shared
 * memory has one unused point after every 16, so that strides of 16 use all banks. */
extern "C" {
#include "gpu/fft_kernels.h"
#include "gpu/gpu.h"
}
#include "gpu/kernel_device.cuh"

#include <cmath>

static constexpr int POINTS = 16; /* a thread's */
static constexpr int WARPS = 16;  /* per multiprocessor, at least; more leave too few registers */

/* Radices of the stages, first to last; the last one is 16. */
template <int N> struct radices;
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

template <int N> __host__ __device__ constexpr int stages()
{
    return radices<N>::of[3] == 1 ? 3 : 4;
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
    if constexpr (R == 4) {
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

/* The points of this thread's butterfly B in stage S: first, first + stride, ... */
template <int N, int S> struct place {
    static constexpr int R = radices<N>::of[S], L = length<N, S>(), STRIDE = L / R,
                         BUTTERFLIES = POINTS / R, THREADS = N / POINTS;
    int first, turn;
    __device__ __forceinline__ place(int butterfly)
    {
        int u = (int)threadIdx.x + butterfly * THREADS;
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
template <int N, int S, typename F> __device__ __forceinline__ void each_point(F visit)
{
    using at = place<N, S>;
#pragma unroll
    for (int b = 0; b < at::BUTTERFLIES; b++) {
        at where(b);
#pragma unroll
        for (int k = 0; k < at::R; k++)
            visit(b * at::R + k, where.first + k * at::STRIDE);
    }
}

template <int N, int S, bool BACK>
__device__ __forceinline__ void run_stage(float2 *v, const float2 *__restrict__ table)
{
    using at = place<N, S>;
#pragma unroll
    for (int b = 0; b < at::BUTTERFLIES; b++) {
        if (BACK)
            turn_points<N, S, BACK>(v + b * at::R, table, at(b).turn);
        butterfly<at::R, BACK>(v + b * at::R);
        if (!BACK)
            turn_points<N, S, BACK>(v + b * at::R, table, at(b).turn);
    }
}

/* Stage S and those after it: from the points of the first stage to the spectrum, in the last
 * stage's places, or BACK. One barrier per stage is enough: a stage writes only where it has
 * read. */
template <int N, int S, bool BACK>
__device__ __forceinline__ void transform(float2 *v, float2 *shared,
                                          const float2 *__restrict__ table)
{
    constexpr int NEXT = BACK ? S - 1 : S + 1;
    run_stage<N, S, BACK>(v, table);
    if constexpr (NEXT >= 0 && NEXT < stages<N>()) {
        each_point<N, S>([&](int i, int p) { shared[padded(p)] = v[i]; });
        __syncthreads();
        each_point<N, NEXT>([&](int i, int p) { v[i] = shared[padded(p)]; });
        transform<N, NEXT, BACK>(v, shared, table);
    }
}

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
    for (int b = 0; b < at::BUTTERFLIES; b++)
        for (int k = 0; k < at::R; k++) {
            int p = at(b).first + k * at::STRIDE;
            v[b * at::R + k] = make_float2(p < count ? taps[p] * (1.0f / N) : 0.0f, 0.0f);
        }
    transform<N, 0, false>(v, shared, table);
    for (int m = 0; m < POINTS; m++)
        form[m * (N / POINTS) + threadIdx.x] = v[m];
}

/* Two chunks, from output frame `base` on. table_back is the same table: if the compiler knew, it
 * would keep the factors in registers, and half as many threads would fit. */
template <int N>
__device__ __forceinline__ void
convolve_pair(const kernel_job &job, int history_frames, long long base, float2 *shared,
              const float2 *__restrict__ table, const float2 *__restrict__ table_back)
{
    using at = place<N, 0>;
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
                int p = at(b).first + k * at::STRIDE;
                v[b * at::R + k] = make_float2(__ldg(in + p), __ldg(in + hop + p));
            }
    } else {
#pragma unroll
        for (int b = 0; b < at::BUTTERFLIES; b++)
#pragma unroll
            for (int k = 0; k < at::R; k++) {
                long long p = from + at(b).first + k * at::STRIDE;
                v[b * at::R + k] = make_float2(ghost(job.in, p, frames_in, job.boundary),
                                               ghost(job.in, p + hop, frames_in, job.boundary));
            }
    }
    transform<N, 0, false>(v, shared, table);
    const float2 *__restrict__ form = reinterpret_cast<const float2 *>(job.mask);
#pragma unroll
    for (int m = 0; m < POINTS; m++)
        v[m] = v[m] * __ldg(form + m * (N / POINTS) + threadIdx.x);
    transform<N, stages<N>() - 1, true>(v, shared, table_back);
#pragma unroll
    for (int b = 0; b < at::BUTTERFLIES; b++)
#pragma unroll
        for (int k = 0; k < at::R; k++) {
            int q = at(b).first + k * at::STRIDE - history_frames;
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

template <int N> static constexpr int shared_bytes()
{
    return (N + N / 16) * (int)sizeof(float2);
}

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
