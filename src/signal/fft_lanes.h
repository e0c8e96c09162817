/* Steps of Fourier transforms on vectors, shared by fft.c and fft_odd.c.
 *
 * Compiled for each precision, into the clones of their callers (base/simd.h). Real-time.
 */
#ifndef HALO_FFT_LANES_H
#define HALO_FFT_LANES_H

#include "base/realtime.h"
#include "signal/real.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

/* LANES: numbers in a vector, 8 or 4. A source defines it before it includes this file. */
typedef real lanes __attribute__((vector_size(LANES * sizeof(real)), aligned(sizeof(real))));

/* LANES complex numbers. */
struct lane_points {
    lanes re, im;
};

static const double TURN = 2 * 3.14159265358979323846;

enum { TURNS = 8 };

/* e^(i TURN angle k) for each k, from two earlier ones: at most three roundings. */
static inline void fill_powers(double angle, double re[TURNS], double im[TURNS])
{
    re[0] = 1;
    im[0] = 0;
    re[1] = cos(TURN * angle);
    im[1] = sin(TURN * angle);
    for (size_t k = 2; k < TURNS; k++) {
        size_t a = k / 2, b = k - a;
        re[k] = re[a] * re[b] - im[a] * im[b];
        im[k] = re[a] * im[b] + im[a] * re[b];
    }
}

/* y[q] = sum of y[p] e^(i TURN pq/ways); with `back`, e^(-i TURN pq/ways). */
HALO_REALTIME static inline __attribute__((always_inline)) void add_points(struct lane_points y[4],
                                                                           size_t ways, bool back)
{
    const real height = (real)0.86602540378443864676; /* height of an equilateral triangle */
    struct lane_points a = y[0], b = y[1], c = y[2], d = y[3];
    if (ways == 2) {
        y[0] = (struct lane_points){a.re + b.re, a.im + b.im};
        y[1] = (struct lane_points){a.re - b.re, a.im - b.im};
    } else if (ways == 3) {
        struct lane_points sum = {b.re + c.re, b.im + c.im};
        struct lane_points turned = {(c.im - b.im) * height, (b.re - c.re) * height};
        struct lane_points rest = {a.re - sum.re / 2, a.im - sum.im / 2};
        y[0] = (struct lane_points){a.re + sum.re, a.im + sum.im};
        y[back ? 2 : 1] = (struct lane_points){rest.re + turned.re, rest.im + turned.im};
        y[back ? 1 : 2] = (struct lane_points){rest.re - turned.re, rest.im - turned.im};
    } else {
        struct lane_points sum = {a.re + c.re, a.im + c.im}, rest = {a.re - c.re, a.im - c.im};
        struct lane_points odd = {b.re + d.re, b.im + d.im};
        struct lane_points turned = {d.im - b.im, b.re - d.re}; /* i (b - d) */
        y[0] = (struct lane_points){sum.re + odd.re, sum.im + odd.im};
        y[2] = (struct lane_points){sum.re - odd.re, sum.im - odd.im};
        y[back ? 3 : 1] = (struct lane_points){rest.re + turned.re, rest.im + turned.im};
        y[back ? 1 : 3] = (struct lane_points){rest.re - turned.re, rest.im - turned.im};
    }
}

/* y[k] = sum over j = first, first + 2, ... of x[j] i^(jk), without the factor i^(first k). */
HALO_REALTIME static inline __attribute__((always_inline)) void
transform_four(const lanes *re, const lanes *im, size_t first, struct lane_points y[4])
{
    size_t a = first, b = first + 2, c = first + 4, d = first + 6;
    struct lane_points sum = {re[a] + re[c], im[a] + im[c]}, rest = {re[a] - re[c], im[a] - im[c]};
    struct lane_points odd = {re[b] + re[d], im[b] + im[d]};
    struct lane_points turned = {im[d] - im[b], re[b] - re[d]}; /* i (x[b] - x[d]) */
    y[0] = (struct lane_points){sum.re + odd.re, sum.im + odd.im};
    y[1] = (struct lane_points){rest.re + turned.re, rest.im + turned.im};
    y[2] = (struct lane_points){sum.re - odd.re, sum.im - odd.im};
    y[3] = (struct lane_points){rest.re - turned.re, rest.im - turned.im};
}

/* Joins the transforms of eight numbers' even and odd ones; re and im exchanged: the inverse. */
HALO_REALTIME static inline __attribute__((always_inline)) void
join_fours(const struct lane_points even[4], const struct lane_points odd[4], lanes re[8],
           lanes im[8])
{
    const real half = (real)0.70710678118654752440; /* the root of one half */
    struct lane_points turned[4] = {
        odd[0],
        {(odd[1].re - odd[1].im) * half, (odd[1].re + odd[1].im) * half},
        {-odd[2].im, odd[2].re},
        {(odd[3].re + odd[3].im) * -half, (odd[3].re - odd[3].im) * half}};
    for (size_t k = 0; k < 4; k++) {
        re[k] = even[k].re + turned[k].re;
        im[k] = even[k].im + turned[k].im;
        re[k + 4] = even[k].re - turned[k].re;
        im[k + 4] = even[k].im - turned[k].im;
    }
}

HALO_REALTIME static inline __attribute__((always_inline)) void transform_eight(lanes re[8],
                                                                                lanes im[8])
{
    struct lane_points even[4], odd[4];
    transform_four(re, im, 0, even);
    transform_four(re, im, 1, odd);
    join_fours(even, odd, re, im);
}

/* Makes columns of rows. */
#if LANES == 8
HALO_REALTIME static inline __attribute__((always_inline)) void transpose(lanes row[LANES])
{
    lanes two[LANES], four[LANES];
    for (size_t k = 0; k < LANES; k += 2) {
        two[k] = __builtin_shufflevector(row[k], row[k + 1], 0, 8, 1, 9, 4, 12, 5, 13);
        two[k + 1] = __builtin_shufflevector(row[k], row[k + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
    for (size_t k = 0; k < LANES; k += 4)
        for (size_t i = 0; i < 2; i++) {
            const lanes *a = &two[k + i];
            four[k + 2 * i] = __builtin_shufflevector(a[0], a[2], 0, 1, 8, 9, 4, 5, 12, 13);
            four[k + 2 * i + 1] = __builtin_shufflevector(a[0], a[2], 2, 3, 10, 11, 6, 7, 14, 15);
        }
    for (size_t k = 0; k < 4; k++) {
        row[k] = __builtin_shufflevector(four[k], four[k + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        row[k + 4] = __builtin_shufflevector(four[k], four[k + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
}

#else
HALO_REALTIME static inline __attribute__((always_inline)) void transpose(lanes row[LANES])
{
    lanes a = __builtin_shufflevector(row[0], row[1], 0, 4, 2, 6);
    lanes b = __builtin_shufflevector(row[0], row[1], 1, 5, 3, 7);
    lanes c = __builtin_shufflevector(row[2], row[3], 0, 4, 2, 6);
    lanes d = __builtin_shufflevector(row[2], row[3], 1, 5, 3, 7);
    row[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5);
    row[1] = __builtin_shufflevector(b, d, 0, 1, 4, 5);
    row[2] = __builtin_shufflevector(a, c, 2, 3, 6, 7);
    row[3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);
}
#endif

#endif
