/* The smoothed magnitude response of a mask over a logarithmic frequency axis.
 *
 * Each point is the mean power over a share of an octave, or over its share of the axis if that is
 * wider, in dB. The powers of the inputs to an output add up; outputs are averaged. Threads:
 * any. Not real-time.
 */
#ifndef HALO_RESPONSE_H
#define HALO_RESPONSE_H

#include "base/status.h"
#include "mask/mask.h"

/* An axis of `points` equal shares between two frequencies (Hz). */
struct response_axis {
    double low, high;
    size_t points;
    double smoothing; /* octaves; 0: a twelfth */
};

/* The taps between the first and the last of any column that is not 0, which alone matter for
 * magnitudes. A silent mask has all. */
struct response_span {
    size_t first, count;
};
struct response_span response_span(const struct mask *mask);

double response_frequency(const struct response_axis *axis, double point);

/* db[point] for the middle of each share; silence is -infinity. The mask is routed and holds
 * its coefficients; `rate` is its own, frames a second. Errors: memory. */
MUST_CHECK enum status response_measure(const struct mask *mask, uint32_t rate,
                                        const struct response_axis *axis, double *db);

/* A column of taps as a mask of its own, from one input to one output; it borrows the taps and the
 * path, which it sets, and is not destroyed. */
struct mask response_column(double *taps, size_t count, uint32_t rate, struct mask_path *path);

#endif
