#include "signal/fir.h"

#include "base/simd.h"

#include <string.h>

/* Vectors of the compiler's own extension: as wide as the widest registers,
 * split where the processor's are narrower. */
typedef float floats __attribute__((vector_size(64)));
typedef float half_floats __attribute__((vector_size(32)));
typedef double doubles __attribute__((vector_size(64)));

enum {
    FLOATS = 16,
    DOUBLES = 8,
    RUN = 32, /* taps summed in a row before the partial sum is put aside */
};

/* Taps [start, start + count) of a tile need this much of x. */
struct window {
    float frames[RUN + FIR_TILE];
};

/* Where a run reads x: in place, or for a short tile from a copy, so that
 * nothing beyond its last frame is touched. */
static inline const float *run_window(struct window *window, const float *x, size_t frames,
                                      size_t count)
{
    if (frames == FIR_TILE)
        return x;
    size_t history_frames = count - 1;
    memcpy(window->frames, x - history_frames, (history_frames + frames) * sizeof(float));
    memset(window->frames + history_frames + frames, 0, (FIR_TILE - frames) * sizeof(float));
    return window->frames + history_frames;
}

SIMD_CLONES
static void add_double(double sum[FIR_TILE], const float *x, size_t frames, const float *h,
                       size_t taps)
{
    struct window window;
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

SIMD_CLONES
static void add_float(float sum[FIR_TILE], const float *x, size_t frames, const float *h,
                      size_t taps)
{
    struct window window;
    floats total[FIR_TILE / FLOATS];
    memcpy(total, sum, sizeof total);
    for (size_t start = 0; start < taps; start += RUN) {
        size_t count = taps - start < RUN ? taps - start : RUN;
        const float *from = run_window(&window, x - start, frames, count);
        floats sums[FIR_TILE / FLOATS] = {0};
        for (size_t k = 0; k < count; k++) {
            float tap = h[start + k];
            for (size_t v = 0; v < FIR_TILE / FLOATS; v++) {
                floats now;
                memcpy(&now, from - k + v * FLOATS, sizeof now);
                sums[v] += now * tap;
            }
        }
        for (size_t v = 0; v < FIR_TILE / FLOATS; v++)
            total[v] += sums[v];
    }
    memcpy(sum, total, sizeof total);
}

void fir_add_double(double sum[FIR_TILE], const float *x, size_t frames, const float *h,
                    size_t taps)
{
    add_double(sum, x, frames, h, taps);
}

void fir_add_float(float sum[FIR_TILE], const float *x, size_t frames, const float *h, size_t taps)
{
    add_float(sum, x, frames, h, taps);
}
