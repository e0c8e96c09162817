/* How late a mask makes the sound, so that choices can be aligned before they are compared.
 *
 * Delays are in frames at the mask's own rate, after its origin; they may be negative. All
 * paths count together: by the sum of their magnitudes, or of their powers. Masks
 * are routed and hold their coefficients. Threads: any. Not real-time.
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

/* By how many frames `b` is later than `a`: where the cross-correlation of their impulse
 * responses, summed over the paths that both have, is largest in magnitude (halfway between
 * equals). It aligns two of a kind to the sample, however they start: a linear-phase filter and its
 * minimum-phase twin, a room and a trimmed copy. Masks that have nothing in
 * common (no path, or another rate) are told apart by mask_delay. Errors: memory. */
MUST_CHECK enum status mask_delay_between(const struct mask *a, const struct mask *b,
                                          int64_t *delay);

#endif
