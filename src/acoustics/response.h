/* The smoothed magnitude response of a mask over a logarithmic frequency axis.
 *
 * Each point is a mean power in dB: over a part of an octave, or over the point's share of the axis
 * if that is wider. The powers of the inputs to an output are added; outputs are averaged. Threads:
 * any. Not real-time.
 */
#ifndef HALO_RESPONSE_H
#define HALO_RESPONSE_H

#include "base/status.h"
#include "mask/mask.h"

/* An axis of `points` equal shares between two frequencies, in Hz. */
struct response_axis {
    double low, high;
    size_t points;
    double smoothing; /* octaves; 0: a twelfth */
};

/* The taps from the first to the last that is not 0 in any column. Only these matter for
 * magnitudes. A silent mask has all taps. */
struct response_span {
    size_t first, count;
};
struct response_span response_span(const struct mask *mask);

double response_frequency(const struct response_axis *axis, double point);

/* db[point] is the level in the middle of each share. Silence is -infinity. The mask is routed and
 * has coefficients; `rate` is its own rate in Hz. Errors: memory. */
MUST_CHECK enum status response_measure(const struct mask *mask, uint32_t rate,
                                        const struct response_axis *axis, double *db);

/* A column of taps as a mask from one input to one output. It borrows the taps and the path, which
 * it sets. Do not destroy it. */
struct mask response_column(double *taps, size_t count, uint32_t rate, struct mask_path *path);

#endif
