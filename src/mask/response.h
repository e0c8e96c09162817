/* The smoothed magnitude response of a mask over a logarithmic frequency axis.
 *
 * Each point is the mean power over a twelfth of an octave, or over its share of the axis if that
 * is wider, in dB. The powers of the inputs to an output add up; outputs are averaged. Threads:
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
};

double response_frequency(const struct response_axis *axis, double point);

/* db[point] for the middle of each share; silence is -infinity. The mask is routed and holds
 * its coefficients; `rate` is its own, frames a second. Errors: memory. */
MUST_CHECK enum status response_measure(const struct mask *mask, uint32_t rate,
                                        const struct response_axis *axis, double *db);

#endif
