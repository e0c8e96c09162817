/* Convolution in double precision, with which a convolver's outputs are compared.
 *
 * It shares no code with the convolvers. Short masks are computed as sums, others by overlapping
 * windows and partitions of the mask, with a Fourier transform of its own. Its error is below -250
 * dB. Threads: create on any thread, then use on one, masks too: the first use computes their
 * spectra.
 */
#ifndef HALO_EXACT_H
#define HALO_EXACT_H

#include "mask/mask.h"

struct exact;
struct exact_mask;

/* For stretches of `frames` frames, and masks of at most `taps` taps. Errors: memory. */
MUST_CHECK enum status exact_create(size_t inputs, size_t taps, size_t frames,
                                    struct exact **exact);
void exact_destroy(struct exact *exact);

/* Copies what it needs of the mask. Errors: memory. */
MUST_CHECK enum status exact_mask_create(const struct exact *exact, const struct mask *mask,
                                         struct exact_mask **result);
void exact_mask_destroy(struct exact_mask *mask);

/* Takes a stretch's inputs: for each input, taps - 1 frames before it, then its own frames. */
void exact_take(struct exact *exact, const double *const *in);

/* Computes one output of the stretch. The result is valid until the next call. */
const double *exact_output(struct exact *exact, struct exact_mask *mask, size_t output);

#endif
