/* Designs impulse responses from magnitudes, with linear or minimum phase.
 *
 * Minimum phase is by the real cepstrum: A. V. Oppenheim, R. W. Schafer, "Discrete-Time Signal
 * Processing", chapter on the complex cepstrum. The logarithm of a magnitude is transformed, folded
 * onto positive times and transformed back. Frequencies are in Hz. Threads: any. Not real-time.
 */
#ifndef HALO_PHASE_H
#define HALO_PHASE_H

#include "base/status.h"
#include "signal/fft_double.h"

enum phase { PHASE_LINEAR, PHASE_MINIMUM };

/* The magnitude at a frequency, linear; may be 0. */
struct phase_magnitude {
    double (*at)(const void *context, double hertz);
    const void *context;
};

/* Designs taps that begin at tap 0 (minimum phase) or are symmetric about tap (count - 1) / 2. The
 * last eighth is faded out; with linear phase the first is faded in. Errors: memory. */
MUST_CHECK enum status phase_design(const struct phase_magnitude *magnitude, double rate,
                                    enum phase phase, double *taps, size_t count);

/* From magnitudes in the bins to their minimum-phase response in the samples, n times too large. */
void phase_minimum_of(struct fft_double *fft);

/* A good length for the transform of a design of `count` taps. */
size_t phase_transform_length(size_t count);

/* The gain of symmetric taps. `frequency` is in cycles per sample. */
double phase_linear_gain(const double *taps, size_t count, double frequency);

/* Fade all `count` taps, by half a cosine. */
void phase_fade_out(double *taps, size_t count);
void phase_fade_in(double *taps, size_t count);

#endif
