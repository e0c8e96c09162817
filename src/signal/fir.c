#include "signal/fir_window.h"

#include "base/simd.h"

#include <stdbool.h>

/* Vectors have 32 bytes, which compilers split for narrower registers. Only one is used at a time:
 * arrays of vectors wider than a register would be in memory, at a twentieth of the speed. */
typedef float floats __attribute__((vector_size(32)));
typedef float half_floats __attribute__((vector_size(16)));
typedef double doubles __attribute__((vector_size(32)));

enum {
    FLOATS = 8,
    DOUBLES = 4,
};

/* Adds at most FIR_RUN taps for FLOATS outputs, in double precision. */
__attribute__((always_inline)) HALO_REALTIME static inline void
add_run_double(doubles total[FLOATS / DOUBLES], const float *from, const float *h, size_t count)
{
    for (size_t i = 0; i < FLOATS / DOUBLES; i++) {
        doubles sum = total[i];
        for (size_t k = 0; k < count; k++) {
            half_floats now;
            memcpy(&now, from - k + i * DOUBLES, sizeof now);
            sum += __builtin_convertvector(now, doubles) * (double)h[k];
        }
        total[i] = sum;
    }
}

__attribute__((always_inline)) HALO_REALTIME static inline floats product(const float *x, float tap)
{
    floats now;
    memcpy(&now, x, sizeof now);
    return now * tap;
}

__attribute__((always_inline)) HALO_REALTIME static inline void
add_floats(doubles total[FLOATS / DOUBLES], floats sum)
{
    half_floats halves[FLOATS / DOUBLES];
    memcpy(halves, &sum, sizeof halves);
    for (size_t i = 0; i < FLOATS / DOUBLES; i++)
        total[i] += __builtin_convertvector(halves[i], doubles);
}

/* Adds at most FIR_RUN taps for FLOATS outputs. A product goes through four roundings before it is
 * added in double precision, whatever its size: an error of at most 5 * 2^-24 sum |x h|. Fused, it
 * would be three roundings, but the compiler chooses which of two products it fuses. */
__attribute__((always_inline)) HALO_REALTIME static inline void
add_run_float(doubles total[FLOATS / DOUBLES], const float *x, const float *h, size_t count)
{
    size_t k = 0;
    for (; count - k >= 8; k += 8) {
        floats a = product(x - k, h[k]) + product(x - k - 1, h[k + 1]);
        floats b = product(x - k - 2, h[k + 2]) + product(x - k - 3, h[k + 3]);
        floats c = product(x - k - 4, h[k + 4]) + product(x - k - 5, h[k + 5]);
        floats d = product(x - k - 6, h[k + 6]) + product(x - k - 7, h[k + 7]);
        add_floats(total, (a + b) + (c + d));
    }
    for (; count - k >= 2; k += 2)
        add_floats(total, product(x - k, h[k]) + product(x - k - 1, h[k + 1]));
    if (k < count)
        add_floats(total, product(x - k, h[k]));
}

__attribute__((always_inline)) HALO_REALTIME static inline void
add_tile(double sum[FIR_TILE], const float *x, size_t frames, const float *h, size_t taps,
         bool precise)
{
    struct fir_window window;
    doubles total[FIR_TILE / DOUBLES];
    memcpy(total, sum, sizeof total);
    for (size_t start = 0; start < taps; start += FIR_RUN) {
        size_t count = taps - start < FIR_RUN ? taps - start : FIR_RUN;
        const float *from = fir_window_at(&window, x - start, frames, count);
        for (size_t i = 0; i < FIR_TILE; i += FLOATS) {
            if (precise)
                add_run_double(total + i / DOUBLES, from + i, h + start, count);
            else
                add_run_float(total + i / DOUBLES, from + i, h + start, count);
        }
    }
    memcpy(sum, total, sizeof total);
}

SIMD_CLONES
HALO_REALTIME static void add_tile_double(double sum[FIR_TILE], const float *x, size_t frames,
                                          const float *h, size_t taps)
{
    add_tile(sum, x, frames, h, taps, true);
}

SIMD_CLONES
HALO_REALTIME static void add_tile_float(double sum[FIR_TILE], const float *x, size_t frames,
                                         const float *h, size_t taps)
{
    add_tile(sum, x, frames, h, taps, false);
}

HALO_REALTIME void fir_add_exactly(double sum[FIR_TILE], const float *x, size_t frames,
                                   const float *h, size_t taps)
{
    add_tile_double(sum, x, frames, h, taps);
}

HALO_REALTIME void fir_add(double sum[FIR_TILE], const float *x, size_t frames, const float *h,
                           size_t taps)
{
    add_tile_float(sum, x, frames, h, taps);
}
