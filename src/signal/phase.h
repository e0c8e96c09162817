/* Impulse responses from magnitudes, with a phase to choose.
 *
 * Minimum phase by the real cepstrum: A. V. Oppenheim, R. W. Schafer, "Discrete-Time Signal
 * Processing", chapter on the complex cepstrum. The logarithm of a magnitude is transformed,
 * folded onto positive times and transformed back.
 * Frequencies are in Hz. Threads: any. Not real-time.
 */
#ifndef HALO_PHASE_H
#define HALO_PHASE_H

#include "base/status.h"
#include "signal/fft_double.h"

enum phase { PHASE_LINEAR, PHASE_MINIMUM };

/* The magnitude at a frequency, linear; 0 where nothing passes. */
struct phase_magnitude {
    double (*at)(const void *context, double hertz);
    const void *context;
};

/* Taps of the magnitude at `rate`: of minimum phase from tap 0 on, or symmetric about tap
 * (count - 1) / 2. The ends are faded: over the last eighth, or the first and last. Errors: memory.
 */
MUST_CHECK enum status phase_design(const struct phase_magnitude *magnitude, double rate,
                                    enum phase phase, double *taps, size_t count);

/* The transform's bins hold magnitudes; its samples become the minimum-phase response of them,
 * as long as the transform. */
void phase_minimum_of(struct fft_double *fft);

/* The transform's length that suits so many taps. */
size_t phase_transform_length(size_t count);

/* The gain of taps that are symmetric about their middle, `frequency` in cycles a sample. */
double phase_linear_gain(const double *taps, size_t count, double frequency);

/* Fade `count` taps out by half a cosine, from the first of them on; or in, to the last. */
void phase_fade_out(double *taps, size_t count);
void phase_fade_in(double *taps, size_t count);

#endif
