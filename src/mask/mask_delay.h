/* The delay of a mask, for aligning masks.
 *
 * It is in frames at the mask's rate, relative to its origin, and may be negative. Paths count by
 * the sum of magnitudes or powers. Masks are routed and have coefficients. Threads: any. Not
 * real-time.
 */
#ifndef HALO_MASK_DELAY_H
#define HALO_MASK_DELAY_H

#include "base/status.h"
#include "mask/mask.h"

#include <stdint.h>

enum mask_delay_method {
    /* The peak if it is clear, that is, no tap more than 1 ms away is within 2 dB, as in a room or
     * a linear-phase filter. Otherwise the centroid, as in a chirp, a dense echo or noise. */
    MASK_DELAY_AUTO,
    /* The largest tap. If several are within 1 %, halfway from the first to the last of them. */
    MASK_DELAY_PEAK,
    /* The energy's mean time, sum k h[k]^2 / sum h[k]^2, which is the mean group delay by power. */
    MASK_DELAY_CENTROID,
};

/* The delay, rounded; halfway it is rounded down. 0 for silence. Errors: memory. */
MUST_CHECK enum status mask_delay(const struct mask *mask, enum mask_delay_method method,
                                  int64_t *delay);

/* The delay of `b` relative to `a`: the lag with the largest magnitude of the cross-correlation,
 * summed over common paths (halfway between equal maxima). It is exact to the sample for related
 * masks, such as a room and a trimmed copy. Masks without a common path or rate are compared by
 * mask_delay. Errors: memory. */
MUST_CHECK enum status mask_delay_between(const struct mask *a, const struct mask *b,
                                          int64_t *delay);

#endif
