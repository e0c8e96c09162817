/* The minimum-phase version of an impulse response: the same magnitudes with the least delay.
 *
 * By the cepstrum: the logarithm of the magnitudes, its inverse transform folded onto positive
 * times, and back through the exponential (Oppenheim and Schafer, "Discrete-Time Signal
 * Processing", chapter on cepstrum analysis and homomorphic deconvolution). Sampled spectra alias
 * it where zeros lie near the unit circle, so transforms grow from 16 times the response until the
 * magnitudes agree to -120 dB of the largest, or to 2^23. Windowed filters and short rooms reach
 * -110 dB or better; with zeros on the circle (a comb, a notch, a long reverberation) dips become
 * shallower: -60 to -100 dB. Threads: any. Not real-time.
 */
#ifndef HALO_MASK_MINIMUM_PHASE_H
#define HALO_MASK_MINIMUM_PHASE_H

#include "base/status.h"
#include "mask/mask.h"

/* As many taps again, in `result`, which may be `taps`. The sign is that of the largest tap;
 * silence stays. *error: the largest difference of the magnitudes, as a share of the largest. It
 * may be NULL. Errors: memory. */
MUST_CHECK enum status minimum_phase(const double *taps, size_t count, double *result,
                                     double *error);

/* Of every column; time zero is tap 0 then. Errors: memory. */
MUST_CHECK enum status mask_minimum_phase(struct mask *mask);

#endif
