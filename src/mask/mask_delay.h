/* The delay of a mask, so that masks can be aligned for comparison.
 *
 * Delays are in frames at the rate of the mask, after its origin; they may be negative. All paths
 * count together, by the sum of their magnitudes or powers. Masks are routed and have their
 * coefficients. Threads: any. Not real-time.
 */
#ifndef HALO_MASK_DELAY_H
#define HALO_MASK_DELAY_H

#include "base/status.h"
#include "mask/mask.h"

#include <stdint.h>

enum mask_delay_method {
    /* The peak where it is clear: no tap farther than 1 ms from it comes within 2 dB of
     * it. That is the direct sound of a room, and the middle of a linear-phase filter.
     * Else the centroid: a chirp, a dense echo, noise. */
    MASK_DELAY_AUTO,
    /* The largest tap; amid several that come within 1 % of it, halfway from the first to the
     * last: the middle of a symmetric or antisymmetric filter, or of a moving average. */
    MASK_DELAY_PEAK,
    /* The mean time of the energy, sum of k h[k]^2 over sum of h[k]^2: by Parseval the group
     * delay, averaged over all frequencies by the power that comes through there. */
    MASK_DELAY_CENTROID,
};

/* The earlier frame from halfway. A mask of silence has 0. Errors: memory. */
MUST_CHECK enum status mask_delay(const struct mask *mask, enum mask_delay_method method,
                                  int64_t *delay);

/* By how many frames `b` is later than `a`: where the cross-correlation of their impulse responses,
 * summed over common paths, is largest in magnitude (halfway between equal maxima). Sample-exact
 * for related masks, such as a linear-phase filter and its minimum-phase version, or a room and a
 * trimmed copy. Masks without a common path or rate are compared by mask_delay. Errors: memory. */
MUST_CHECK enum status mask_delay_between(const struct mask *a, const struct mask *b,
                                          int64_t *delay);

#endif
