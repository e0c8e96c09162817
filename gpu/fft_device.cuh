/* Transforms whose points are in threads' registers, for the passes of long transforms; and the
 * butterflies of all transforms.
 *
 * They are mixed-radix, decimation in frequency (Gentleman and Sande 1966), in place. A thread
 * holds 16 points, and the stages exchange points through shared memory. The spectrum stays
 * digit-reversed; the inverse runs the stages in reverse. Shared memory has one unused point after
 * every 16, so that strides of 16 use all banks.
 */
#ifndef HALO_GPU_FFT_DEVICE_CUH
#define HALO_GPU_FFT_DEVICE_CUH

#include <cuda_runtime.h>

#include <cmath>

static constexpr int POINTS = 16; /* points of a thread */
static constexpr int WARPS = 16;  /* least warps per multiprocessor; more leave too few registers */

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

template <int N> __host__ __device__ constexpr int blocks()
{
    return WARPS * 32 * POINTS / N;
}

/* Bytes of a padded sequence in shared memory. */
template <int N, typename T = float2> __host__ __device__ constexpr int shared_bytes()
{
    return (N + N / 16) * (int)sizeof(T);
}

template <int N> __host__ __device__ constexpr int stages()
{
    int count = 0;
    while (count < 4 && radices<N>::of[count] > 1)
        count++;
    return count;
}

/* Length of the sequences that stage S splits. */
template <int N, int S> __host__ __device__ constexpr int length()
{
    int points = N;
    for (int s = 0; s < S; s++)
        points /= radices<N>::of[s];
    return points;
}

/* Offset of stage S in the table of factors, which has R - 1 rows of length / R factors for each
 * stage. With the default S it is the table's length. */
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

/* T is float2 or double2. */
template <typename T> using real_of = decltype(T::x);

#define COMPLEX_ARITHMETIC(T)                                                                      \
    __device__ __forceinline__ T operator+(T a, T b)                                               \
    {                                                                                              \
        return {a.x + b.x, a.y + b.y};                                                             \
    }                                                                                              \
    __device__ __forceinline__ T operator-(T a, T b)                                               \
    {                                                                                              \
        return {a.x - b.x, a.y - b.y};                                                             \
    }                                                                                              \
    __device__ __forceinline__ T operator*(T a, T b)                                               \
    {                                                                                              \
        return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x};                                     \
    }
COMPLEX_ARITHMETIC(float2)
COMPLEX_ARITHMETIC(double2)

template <bool BACK, typename T> __device__ __forceinline__ T turn(T a, T factor)
{
    return a * T{factor.x, BACK ? -factor.y : factor.y};
}

/* -i a; for the inverse, i a. */
template <bool BACK, typename T> __device__ __forceinline__ T quarter(T a)
{
    return BACK ? T{-a.y, a.x} : T{a.y, -a.x};
}

/* The cosine of turns / 32 of a circle, computed at compile time. */
__device__ __forceinline__ constexpr double cosine_32(int turns)
{
    turns %= 32;
    turns = turns > 16 ? 32 - turns : turns;
    double sign = turns > 8 ? -1.0 : 1.0;
    turns = turns > 8 ? 16 - turns : turns;
    return sign * (turns == 0   ? 1.0
                   : turns == 1 ? 0.98078528040323045
                   : turns == 2 ? 0.92387953251128674
                   : turns == 3 ? 0.83146961230254524
                   : turns == 4 ? 0.70710678118654752
                   : turns == 5 ? 0.55557023301960218
                   : turns == 6 ? 0.38268343236508977
                   : turns == 7 ? 0.19509032201612828
                                : 0.0);
}

/* exp(-2 pi i turns / 32), or its conjugate, as `scale` times a number whose larger part is 1. A
 * product takes two fused operations (Linzer and Feig 1993). Later sums apply the scale. */
template <bool BACK, typename T> struct factor_32 {
    real_of<T> cosine, sine, scale;
    bool upright; /* the imaginary part is the larger one */
    __device__ __forceinline__ constexpr factor_32(int turns)
        : cosine((real_of<T>)cosine_32(turns)),
          sine((real_of<T>)(BACK ? -cosine_32(turns + 8) : cosine_32(turns + 8))), scale(0),
          upright(sine * sine > cosine * cosine)
    {
        scale = upright ? sine : cosine;
    }
    __device__ __forceinline__ T unscaled(T a) const
    {
        if (cosine == 0)
            return {-a.y, a.x};
        if (sine == 0)
            return a;
        if (upright) {
            real_of<T> ratio = cosine / sine;
            return {fma(a.x, ratio, -a.y), fma(a.y, ratio, a.x)};
        }
        real_of<T> ratio = sine / cosine;
        return {fma(a.y, -ratio, a.x), fma(a.x, ratio, a.y)};
    }
};

template <typename T> __device__ __forceinline__ T add_scaled(T a, real_of<T> scale, T b)
{
    if (scale == 1)
        return a + b;
    if (scale == -1)
        return a - b;
    return {fma(scale, b.x, a.x), fma(scale, b.y, a.y)};
}

/* The butterfly of a, scale_b b, scale_c c and scale_d d. */
template <bool BACK, typename T>
__device__ __forceinline__ void butterfly_4(T &a, T &b, T &c, T &d, real_of<T> scale_b = 1,
                                            real_of<T> scale_c = 1, real_of<T> scale_d = 1)
{
    T sum = add_scaled(a, scale_c, c), difference = add_scaled(a, -scale_c, c);
    T other = add_scaled(b, scale_d / scale_b, d);
    T turned = quarter<BACK>(add_scaled(b, -scale_d / scale_b, d));
    a = add_scaled(sum, scale_b, other), b = add_scaled(difference, scale_b, turned);
    c = add_scaled(sum, -scale_b, other), d = add_scaled(difference, -scale_b, turned);
}

/* The second half of a butterfly of radix R = R / 4 x 4. It multiplies row v[4 k + n], n = 0 to 3,
 * by exp(-2 pi i k n / R), then transforms each four. Output k + R / 4 n goes to v[k + R / 4 n]. */
template <int R, bool BACK, typename T> __device__ __forceinline__ void rows_of_4(T *v)
{
    constexpr int UNIT = 32 / R;
#pragma unroll
    for (int k = 0; k < R / 4; k++) {
        const factor_32<BACK, T> b(k * UNIT), c(2 * k * UNIT), d(3 * k * UNIT);
        T *row = v + 4 * k;
        row[1] = b.unscaled(row[1]), row[2] = c.unscaled(row[2]), row[3] = d.unscaled(row[3]);
        butterfly_4<BACK>(row[0], row[1], row[2], row[3], b.scale, c.scale, d.scale);
    }
    T y[R];
#pragma unroll
    for (int k = 0; k < R / 4; k++)
#pragma unroll
        for (int n = 0; n < 4; n++)
            y[k + R / 4 * n] = v[4 * k + n];
#pragma unroll
    for (int k = 0; k < R; k++)
        v[k] = y[k];
}

template <int R, bool BACK, typename T> __device__ __forceinline__ void butterfly(T *v)
{
    if constexpr (R == 2) {
        T sum = v[0] + v[1];
        v[1] = v[0] - v[1];
        v[0] = sum;
    } else if constexpr (R == 4) {
        butterfly_4<BACK>(v[0], v[1], v[2], v[3]);
    } else if constexpr (R == 8) {
        butterfly_4<BACK>(v[0], v[2], v[4], v[6]);
        butterfly_4<BACK>(v[1], v[3], v[5], v[7]);
        T y[8];
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const factor_32<BACK, T> factor(4 * k);
            T turned = factor.unscaled(v[2 * k + 1]);
            y[k] = add_scaled(v[2 * k], factor.scale, turned);
            y[k + 4] = add_scaled(v[2 * k], -factor.scale, turned);
        }
#pragma unroll
        for (int k = 0; k < 8; k++)
            v[k] = y[k];
    } else if constexpr (R == 16) {
#pragma unroll
        for (int n = 0; n < 4; n++)
            butterfly_4<BACK>(v[n], v[4 + n], v[8 + n], v[12 + n]);
        rows_of_4<16, BACK>(v);
    } else {
        static_assert(R == 32, "one of the radices above");
#pragma unroll
        for (int n = 0; n < 4; n++) {
            T eight[8];
#pragma unroll
            for (int m = 0; m < 8; m++)
                eight[m] = v[n + 4 * m];
            butterfly<8, BACK>(eight);
#pragma unroll
            for (int m = 0; m < 8; m++)
                v[n + 4 * m] = eight[m];
        }
        rows_of_4<32, BACK>(v);
    }
}

/* ---- stages ---- */

__device__ __forceinline__ int padded(int point)
{
    return point + point / 16;
}

/* The places of a thread's points in stage S: first, first + stride, ... */
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

template <int N, int S, bool BACK, typename T>
__device__ __forceinline__ void turn_points(T *v, const T *__restrict__ table, int turn)
{
    using at = place<N, S>;
    if constexpr (at::STRIDE > 1) {
#pragma unroll
        for (int k = 1; k < at::R; k++)
            v[k] =
                ::turn<BACK>(v[k], __ldg(table + table_at<N, S>() + (k - 1) * at::STRIDE + turn));
    }
}

/* Calls visit(i, p) for each of the thread's points in stage S: v[i] is point p of the sequence. */
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

template <int N, int S, bool BACK, typename T>
__device__ __forceinline__ void run_stage(T *v, const T *__restrict__ table, int thread)
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

/* Stage S and the stages after it: from the points of the first stage to the spectrum, in the last
 * stage's places; or BACK. `thread`: number among the N / POINTS threads that share the sequence.
 * Point p is at shared[PITCH * padded(p)]. One barrier per stage is enough, since a stage writes
 * only where it has read. */
template <int N, int S, bool BACK, int PITCH = 1, typename T>
__device__ __forceinline__ void transform(T *v, T *shared, const T *__restrict__ table, int thread)
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

template <int N, int S = 0, typename T> static void fill_table(T *table)
{
    constexpr int R = radices<N>::of[S], L = length<N, S>(), STRIDE = L / R;
    for (int k = 1; k < R; k++)
        for (int j = 0; j < STRIDE; j++) {
            double angle = -2 * M_PI * (double)j * k / L;
            table[table_at<N, S>() + (k - 1) * STRIDE + j] = {(real_of<T>)cos(angle),
                                                              (real_of<T>)sin(angle)};
        }
    if constexpr (S + 1 < stages<N>())
        fill_table<N, S + 1>(table);
}

#endif
