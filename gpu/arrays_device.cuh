/* What the kernels that convolve arrays share. */
#ifndef HALO_GPU_ARRAYS_DEVICE_CUH
#define HALO_GPU_ARRAYS_DEVICE_CUH

extern "C" {
#include "gpu/arrays_kernels.h"
#include "gpu/gpu.h"
}
#include "gpu/fft_device.cuh"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

/* ---- samples: S is double, float, or unsigned short for the bits of both kinds of halves ---- */

template <typename S>
__device__ __forceinline__ auto read_sample(const void *samples, long long at, arrays_sample sample)
{
    S value = __ldg(static_cast<const S *>(samples) + at);
    if constexpr (sizeof(S) == 2)
        return sample == ARRAYS_BFLOAT16 ? __uint_as_float((unsigned)value << 16)
                                         : __half2float(__ushort_as_half(value));
    else
        return value;
}

template <typename S, typename real>
__device__ __forceinline__ void write_sample(void *samples, long long at, real value,
                                             arrays_sample sample)
{
    S *to = static_cast<S *>(samples) + at;
    if constexpr (sizeof(S) == 2)
        *to = sample == ARRAYS_BFLOAT16 ? __bfloat16_as_ushort(__float2bfloat16_rn(value))
                                        : __half_as_ushort(__float2half_rn(value));
    else
        __stcs(to, value);
}

/* Calls visit(S()) for the S of the samples. */
template <typename real, typename F>
__device__ __forceinline__ void with_samples(arrays_sample sample, F visit)
{
    if constexpr (sizeof(real) == sizeof(double))
        visit(real(0));
    else if (sample == ARRAYS_FLOAT32)
        visit(real(0));
    else
        visit((unsigned short)0);
}

/* ---- pieces ---- */

/* A window of an array: frame 0 is samples[at]. Frames of the array are [from, end). */
struct array_window {
    const void *samples;
    long long at;
    int stride;
    int from, end;
    arrays_sample sample;
    template <typename S> __device__ __forceinline__ auto frame(int i) const
    {
        decltype(read_sample<S>(samples, at, sample)) value = 0;
        if (i >= from && i < end)
            value = read_sample<S>(samples, at + (long long)i * stride, sample);
        return value;
    }
    /* Whether frames [0, count) are floats one after the other. */
    __device__ __forceinline__ bool is_plain(int count) const
    {
        return sample == ARRAYS_FLOAT32 && stride == 1 && from <= 0 && end >= count;
    }
};

__device__ __forceinline__ int clamp_frame(long long frame)
{
    constexpr long long MOST = 1 << 30;
    return (int)(frame < -MOST ? -MOST : frame > MOST ? MOST : frame);
}

__device__ __forceinline__ array_window window_of(const array_rows &rows, unsigned array,
                                                  long long origin, arrays_sample sample)
{
    return {rows.samples,         array * rows.step + origin * rows.stride, rows.stride,
            clamp_frame(-origin), clamp_frame(rows.frames - origin),        sample};
}

/* One chunk of one convolution. */
struct array_item {
    array_window in;
    void *y;
    long long y_at;
    int skip, count; /* outputs: frames [skip, skip + count) of the chunk */
    unsigned form;
    arrays_sample sample;
    template <typename S, typename real>
    __device__ __forceinline__ void put(int frame, real value) const
    {
        int i = frame - skip;
        if ((unsigned)i < (unsigned)count)
            write_sample<S>(y, y_at + i, value, sample);
    }
};

/* The piece and the number of the convolution of item `*item`, which becomes that of the chunk. */
__device__ __forceinline__ const array_piece &piece_of(const array_pieces &all, unsigned *item,
                                                       unsigned *convolution)
{
    unsigned p = 0;
    while (p + 1 < all.count && *item >= all.of[p + 1].first_item)
        p++;
    const array_piece &piece = all.of[p];
    unsigned at = *item - piece.first_item;
    *convolution = at / piece.chunks;
    *item = at % piece.chunks;
    return piece;
}

/* The place of the spectrum of the item's mask. */
__device__ __forceinline__ unsigned form_of(const array_pieces &all, unsigned item)
{
    unsigned convolution;
    const array_piece &piece = piece_of(all, &item, &convolution);
    return piece.form + (piece.mask.step ? convolution : 0);
}

__device__ __forceinline__ array_item item_of(const array_pieces &all, unsigned item)
{
    unsigned convolution;
    const array_piece &piece = piece_of(all, &item, &convolution);
    long long done = (long long)item * piece.hop;
    return {window_of(piece.signal, convolution, piece.origin + done, all.sample),
            piece.y,
            convolution * piece.y_step + done,
            piece.skip,
            (int)min((long long)piece.hop, piece.frames - done),
            piece.form + (piece.mask.step ? convolution : 0),
            all.sample};
}

__device__ __forceinline__ array_window mask_of(const array_pieces &all, unsigned mask)
{
    unsigned p = 0;
    while (p + 1 < all.count && mask >= all.of[p + 1].first_mask)
        p++;
    return window_of(all.of[p].mask, mask - all.of[p].first_mask, 0, all.sample);
}

/* ---- twist ---- */

/* The cosine of turns / 64 of half a circle, for turns below 33: a Taylor series. */
__host__ __device__ constexpr double cosine_64(int turns)
{
    double x = turns * 3.14159265358979323846 / 64, term = 1, sum = 0;
    for (int n = 2; n < 40; n += 2) {
        sum += term;
        term *= -x * x / (n * (n - 1));
    }
    return sum;
}

/* Multiplies point p by exp(i pi p / (2 N)), or the conjugate, where v[index(m)] is point thread +
 * m N / HELD. `base`: the factor of point `thread`. */
template <int HELD, bool BACK = false, int M = 0, typename T, typename F>
__device__ __forceinline__ void twist(T *v, T base, F index)
{
    if constexpr (M < HELD) {
        constexpr real_of<T> COSINE = (real_of<T>)cosine_64(32 / HELD * M),
                             SINE = (real_of<T>)cosine_64(32 - 32 / HELD * M);
        v[index(M)] = turn<BACK>(v[index(M)], base * T{COSINE, SINE});
        twist<HELD, BACK, M + 1>(v, base, index);
    }
}

/* exp(i pi half_turns). */
__device__ __forceinline__ float2 unit(float half_turns)
{
    float2 u;
    sincospif(half_turns, &u.y, &u.x);
    return u;
}

__device__ __forceinline__ double2 unit(double half_turns)
{
    double2 u;
    sincospi(half_turns, &u.y, &u.x);
    return u;
}

#endif
