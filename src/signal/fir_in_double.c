/* Direct convolution in double precision. Partial sums of few taps are added with compensation (D.
 * E. Knuth, The Art of Computer Programming 2, 4.2.2). So the rounding error of a long mask stays
 * near that of a short one. */
#include "signal/fir_window.h"

#include "base/simd.h"

/* One vector at a time; see fir.c. */
typedef double doubles __attribute__((vector_size(32)));

enum { DOUBLES = 4, VECTORS = FIR_TILE / DOUBLES };

/* sum += part. Rounding errors are added to *lost. */
__attribute__((always_inline)) HALO_REALTIME static inline void
add_part(doubles *sum, doubles *lost, const doubles *part)
{
    doubles whole = *sum + *part, added = whole - *sum;
    *lost += (*sum - (whole - added)) + (*part - added);
    *sum = whole;
}

SIMD_CLONES
HALO_REALTIME static void add_taps(double sum[FIR_TILE], const double *x, size_t frames,
                                   const double *h, size_t taps)
{
    struct fir_window window;
    doubles sums[VECTORS], lost[VECTORS] = {0};
    memcpy(sums, sum, sizeof sums);
    for (size_t start = 0; start < taps; start += FIR_RUN) {
        size_t count = taps - start < FIR_RUN ? taps - start : FIR_RUN;
        const double *from = fir_window_at(&window, x - start, frames, count);
        for (size_t v = 0; v < VECTORS; v++) {
            doubles part = {0}, now;
            for (size_t k = 0; k < count; k++) {
                memcpy(&now, from - k + v * DOUBLES, sizeof now);
                part += now * h[start + k];
            }
            add_part(&sums[v], &lost[v], &part);
        }
    }
    for (size_t v = 0; v < VECTORS; v++)
        sums[v] += lost[v];
    memcpy(sum, sums, sizeof sums);
}

HALO_REALTIME void fir_add_in_double(double sum[FIR_TILE], const double *x, size_t frames,
                                     const double *h, size_t taps)
{
    add_taps(sum, x, frames, h, taps);
}

void fir_add_exactly_in_double(double sum[FIR_TILE], const double *x, size_t frames,
                               const double *h, size_t taps)
{
    add_taps(sum, x, frames, h, taps);
}
