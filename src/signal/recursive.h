/* Makes taps of linear recursive filters, whose response never ends but becomes inaudible.
 *
 * The response is cut where the magnitudes of all later taps add up to less than -180 dB of the
 * largest tap. So no frequency changes by more than that. Threads: any.
 */
#ifndef HALO_RECURSIVE_H
#define HALO_RECURSIVE_H

#include "base/status.h"
#include "signal/biquad.h"

#include <stddef.h>

/* `run` filters in place, from silence. An output depends on `memory` frames before it. */
struct recursive {
    void (*run)(const void *data, double *samples, size_t count);
    const void *data;
    size_t memory;
};

/* Data of biquad_series_run: biquads in series. */
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

/* How many of `count` taps to keep. */
size_t recursive_kept(const double *taps, size_t count);

/* The taps of the filter's response. *length 0: it does not end within `most`. Errors: memory. */
MUST_CHECK enum status recursive_length(const struct recursive *filter, size_t most,
                                        size_t *length);

#endif
