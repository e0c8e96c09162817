/* Products of spectra; compiled for each precision. */
#include "signal/real.h"

#include "base/realtime.h"
#include "base/simd.h"

#include <stdint.h>

/* Of each precision: clang gives clones resolvers that the linker sees. */
#define multiply_add REAL(multiply_add)
#define multiply_add4 REAL(multiply_add4)

enum { BYTES_PER_LINE = 64 };

HALO_REALTIME bool fft_is_aligned(const real *samples)
{
    return (uintptr_t)samples % BYTES_PER_LINE == 0;
}

/* Here a product meets a sum, never a product: gcc 12 fuses "ab - cd" beside "ad + cb" whatever
 * -ffp-contract says, and what is fused depends on compiler and processor. */
SIMD_CLONES
HALO_REALTIME static void multiply_add(real *restrict sum, const real *restrict a,
                                       const real *restrict b, size_t floats)
{
    for (size_t i = 0; i < floats; i += 2) {
        sum[i] = sum[i] + a[i] * b[i] - a[i + 1] * b[i + 1];
        sum[i + 1] = sum[i + 1] + a[i] * b[i + 1] + a[i + 1] * b[i];
    }
}

HALO_REALTIME void fft_multiply_add(real *restrict sum, const real *restrict a,
                                    const real *restrict b, size_t floats)
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
        size_t j = i + 1;
        real rr = a0[i] * b0[i] + a1[i] * b1[i] + a2[i] * b2[i] + a3[i] * b3[i];
        real ri = a0[i] * b0[j] + a1[i] * b1[j] + a2[i] * b2[j] + a3[i] * b3[j];
        real ii = a0[j] * b0[j] + a1[j] * b1[j] + a2[j] * b2[j] + a3[j] * b3[j];
        real ir = a0[j] * b0[i] + a1[j] * b1[i] + a2[j] * b2[i] + a3[j] * b3[i];
        sum[i] += rr - ii;
        sum[j] += ri + ir;
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
