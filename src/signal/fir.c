#include "signal/fir.h"

#include "base/realtime.h"
#include "base/simd.h"

#include <string.h>

/* Compiler vectors of 64 bytes, split on processors with narrower registers. */
typedef float floats __attribute__((vector_size(64)));
typedef float half_floats __attribute__((vector_size(32)));
typedef double doubles __attribute__((vector_size(64)));

enum {
    FLOATS = 16,
    DOUBLES = 8,
    RUN = 32,      /* taps per partial sum: limits rounding */
    SHORT_RUN = 8, /* and in it, in single precision */
};

/* The samples that RUN taps of a tile read. */
struct fir_window {
    float frames[RUN + FIR_TILE];
};

/* x in place, or for a short tile a padded copy, so that nothing beyond its last frame is read. */
HALO_REALTIME static inline const float *run_window(struct fir_window *window, const float *x,
                                                    size_t frames, size_t count)
{
    if (frames == FIR_TILE)
        return x;
    size_t before = count - 1;
    memcpy(window->frames, x - before, (before + frames) * sizeof(float));
    memset(window->frames + before + frames, 0, (FIR_TILE - frames) * sizeof(float));
    return window->frames + before;
}

SIMD_CLONES
HALO_REALTIME static void add_double(double sum[FIR_TILE], const float *x, size_t frames,
                                     const float *h, size_t taps)
{
    struct fir_window window;
    doubles sums[FIR_TILE / DOUBLES];
    memcpy(sums, sum, sizeof sums);
    for (size_t start = 0; start < taps; start += RUN) {
        size_t count = taps - start < RUN ? taps - start : RUN;
        const float *from = run_window(&window, x - start, frames, count);
        for (size_t k = 0; k < count; k++) {
            double tap = h[start + k];
            for (size_t v = 0; v < FIR_TILE / DOUBLES; v++) {
                half_floats now;
                memcpy(&now, from - k + v * DOUBLES, sizeof now);
                sums[v] += __builtin_convertvector(now, doubles) * tap;
            }
        }
    }
    memcpy(sum, sums, sizeof sums);
}

/* RUN taps at most of a tile. */
__attribute__((always_inline)) HALO_REALTIME static inline void
add_run(floats sums[FIR_TILE / FLOATS], const float *from, const float *h, size_t count)
{
    for (size_t done = 0; done < count; done += SHORT_RUN) {
        size_t end = count - done < SHORT_RUN ? count : done + SHORT_RUN;
        floats part[FIR_TILE / FLOATS] = {0};
        for (size_t k = done; k < end; k++) {
            for (size_t v = 0; v < FIR_TILE / FLOATS; v++) {
                floats now;
                memcpy(&now, from - k + v * FLOATS, sizeof now);
                part[v] += now * h[k];
            }
        }
        for (size_t v = 0; v < FIR_TILE / FLOATS; v++)
            sums[v] += part[v];
    }
}

SIMD_CLONES
HALO_REALTIME static void add_float(double sum[FIR_TILE], const float *x, size_t frames,
                                    const float *h, size_t taps)
{
    struct fir_window window;
    doubles total[FIR_TILE / DOUBLES];
    memcpy(total, sum, sizeof total);
    for (size_t start = 0; start < taps; start += RUN) {
        size_t count = taps - start < RUN ? taps - start : RUN;
        const float *from = run_window(&window, x - start, frames, count);
        floats sums[FIR_TILE / FLOATS] = {0};
        half_floats halves[FIR_TILE / DOUBLES];
        add_run(sums, from, h + start, count);
        memcpy(halves, sums, sizeof halves);
        for (size_t v = 0; v < FIR_TILE / DOUBLES; v++)
            total[v] += __builtin_convertvector(halves[v], doubles);
    }
    memcpy(sum, total, sizeof total);
}

HALO_REALTIME void fir_add_double(double sum[FIR_TILE], const float *x, size_t frames,
                                  const float *h, size_t taps)
{
    add_double(sum, x, frames, h, taps);
}

HALO_REALTIME void fir_add_float(double sum[FIR_TILE], const float *x, size_t frames,
                                 const float *h, size_t taps)
{
    add_float(sum, x, frames, h, taps);
}
