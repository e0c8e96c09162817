/* Products of spectra; compiled for each precision. */
#include "signal/real.h"

#include "base/realtime.h"
#include "base/simd.h"

#include <stdint.h>

enum { BYTES_PER_LINE = 64 };

HALO_REALTIME bool fft_is_aligned(const real *samples)
{
    return (uintptr_t)samples % BYTES_PER_LINE == 0;
}

SIMD_CLONES
HALO_REALTIME static void multiply_add(real *restrict sum, const real *restrict a,
                                       const real *restrict b, size_t floats)
{
    for (size_t i = 0; i < floats; i += 2) {
        sum[i] += a[i] * b[i] - a[i + 1] * b[i + 1];
        sum[i + 1] += a[i] * b[i + 1] + a[i + 1] * b[i];
    }
}

void fft_multiply_add(real *restrict sum, const real *restrict a, const real *restrict b,
                      size_t floats)
{
    multiply_add(sum, a, b, floats);
}

/* Four products in one pass over the sum. They are added before it: its rounding, the largest, is
 * then done once. */
SIMD_CLONES
HALO_REALTIME static void multiply_add4(real *restrict sum, const real *const *a,
                                        const real *const *b, size_t floats)
{
    const real *restrict a0 = a[0], *restrict a1 = a[1], *restrict a2 = a[2], *restrict a3 = a[3];
    const real *restrict b0 = b[0], *restrict b1 = b[1], *restrict b2 = b[2], *restrict b3 = b[3];
    for (size_t i = 0; i < floats; i += 2) {
        real re = a0[i] * b0[i] - a0[i + 1] * b0[i + 1];
        real im = a0[i] * b0[i + 1] + a0[i + 1] * b0[i];
        re += a1[i] * b1[i] - a1[i + 1] * b1[i + 1];
        im += a1[i] * b1[i + 1] + a1[i + 1] * b1[i];
        re += a2[i] * b2[i] - a2[i + 1] * b2[i + 1];
        im += a2[i] * b2[i + 1] + a2[i + 1] * b2[i];
        re += a3[i] * b3[i] - a3[i + 1] * b3[i + 1];
        im += a3[i] * b3[i + 1] + a3[i + 1] * b3[i];
        sum[i] += re;
        sum[i + 1] += im;
    }
}

HALO_REALTIME void fft_multiply_add_all(real *restrict sum, const real *const *a,
                                        const real *const *b, size_t count, size_t floats)
{
    for (; count >= 4; count -= 4, a += 4, b += 4)
        multiply_add4(sum, a, b, floats);
    for (; count > 0; count--)
        multiply_add(sum, *a++, *b++, floats);
}
