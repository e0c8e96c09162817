/* Linear recursive filters as taps: their response has no end, but falls below what can be heard.
 *
 * It is cut where the magnitudes of all taps that follow add up to less than -180 dB of the largest
 * tap: no frequency changes by more than that. Threads: any.
 */
#ifndef HALO_RECURSIVE_H
#define HALO_RECURSIVE_H

#include "base/status.h"
#include "signal/biquad.h"

#include <stddef.h>

/* Filters in place, from silence; its next output depends on `memory` frames before it. */
struct recursive {
    void (*run)(const void *data, double *samples, size_t count);
    const void *data;
    size_t memory;
};

/* Data of biquad_series_run: biquads one after another. */
struct biquad_series {
    size_t count;
    const struct biquad *biquads;
};
void biquad_series_run(const void *data, double *samples, size_t count);

/* Data of difference_run: y[i] = sum of b[k] x[i-k] - sum from k = 1 of a[k] y[i-k]. */
struct difference {
    size_t b_count, a_count;
    const double *b, *a;
};
void difference_run(const void *data, double *samples, size_t count);

/* The taps to keep of `count`. */
size_t recursive_kept(const double *taps, size_t count);

/* The taps of its response to an impulse; 0: it does not end within `most`. Errors: memory. */
MUST_CHECK enum status recursive_length(const struct recursive *filter, size_t most,
                                        size_t *length);

#endif
