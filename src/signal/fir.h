/* Direct convolution of a tile of outputs, in registers.
 *
 *   sum[i] += sum over k of x[i - k] h[k],   i = 0..frames-1, k = 0..taps-1
 *
 * taps - 1 frames before x must be readable, and `frames` (1..FIR_TILE) frames from x on. The bits
 * are the same on every processor and for any `frames`. Threads: any. Real-time.
 */
#ifndef HALO_FIR_H
#define HALO_FIR_H

#include <stddef.h>

enum { FIR_TILE = 64 };

/* The reference: products, which are exact, and sums, both in double precision. */
void fir_add_exactly(double sum[FIR_TILE], const float *x, size_t frames, const float *h,
                     size_t taps);

/* Products and partial sums of few taps in single precision. They are added up in double precision,
 * so that rounding stays near that of a short filter. */
void fir_add(double sum[FIR_TILE], const float *x, size_t frames, const float *h, size_t taps);

/* Products and compensated sums in double precision. */
void fir_add_exactly_in_double(double sum[FIR_TILE], const double *x, size_t frames,
                               const double *h, size_t taps);
void fir_add_in_double(double sum[FIR_TILE], const double *x, size_t frames, const double *h,
                       size_t taps);

#endif
