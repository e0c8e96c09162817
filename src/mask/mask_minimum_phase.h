/* The minimum-phase version of an impulse response: the same magnitudes with the least delay.
 *
 * By the cepstrum (Oppenheim and Schafer, "Discrete-Time Signal Processing", chapter on cepstrum
 * analysis and homomorphic deconvolution). It aliases where zeros lie near the unit circle, so
 * transforms grow from 16 times the response until the magnitudes agree to -120 dB of the largest,
 * or to 2^23. Windowed filters and short rooms reach -110 dB or better; with zeros on the circle (a
 * comb, a notch, a long reverberation) dips become shallower: -60 to -100 dB. Threads: any. Not
 * real-time.
 */
#ifndef HALO_MASK_MINIMUM_PHASE_H
#define HALO_MASK_MINIMUM_PHASE_H

#include "base/status.h"
#include "mask/mask.h"

/* Writes `count` taps to `result`, which may be `taps`. The sign is that of the largest tap;
 * silence is unchanged. *error (or NULL): the largest difference of the magnitudes, as a share of
 * the largest. Errors: memory. */
MUST_CHECK enum status minimum_phase(const double *taps, size_t count, double *result,
                                     double *error);

/* Convert every column; time zero becomes tap 0. Errors: memory. */
MUST_CHECK enum status mask_minimum_phase(struct mask *mask);

#endif
