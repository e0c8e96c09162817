/* Convolution in double precision: what outputs are compared with.
 *
 * It shares no code with the convolvers: sums in double precision for short masks, else
 * overlapping windows and partitions of the mask, transformed in double precision by a
 * Fourier transform of its own.
 * Its own error is below -250 dB.
 * Threads: create anywhere; then one thread, also for a mask, whose spectra the first use makes.
 */
#ifndef HALO_EXACT_H
#define HALO_EXACT_H

#include "mask/mask.h"

struct exact;
struct exact_mask;

/* For stretches of `frames`, and masks of at most `taps`. Errors: memory. */
MUST_CHECK enum status exact_create(size_t inputs, size_t taps, size_t frames,
                                    struct exact **exact);
void exact_destroy(struct exact *exact);

/* A copy of what it needs of a mask. Errors: memory. */
MUST_CHECK enum status exact_mask_create(const struct exact *exact, const struct mask *mask,
                                         struct exact_mask **result);
void exact_mask_destroy(struct exact_mask *mask);

/* Take the inputs of a stretch: of each, taps - 1 frames before it and then its own. */
void exact_take(struct exact *exact, const double *const *in);

/* One output of the stretch, valid until the next call. */
const double *exact_output(struct exact *exact, struct exact_mask *mask, size_t output);

#endif
