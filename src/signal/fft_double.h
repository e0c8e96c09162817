/* Real Fourier transforms in double precision, for designing masks rather than for sound.
 *
 * A transform owns its buffers: n samples, and n/2 + 1 bins of their spectrum. Neither direction
 * scales: forward and inverse in turn give n times the samples. Plans are the library's estimate:
 * a design transforms a few times and has nothing to gain from a plan that takes long to find.
 * Threads: one at a time for each transform; they may be created and destroyed on any thread.
 */
#ifndef HALO_FFT_DOUBLE_H
#define HALO_FFT_DOUBLE_H

#include "base/status.h"

#include <complex.h>

struct fft_double;

/* Any n >= 2. Errors: memory. */
MUST_CHECK enum status fft_double_create(size_t n, struct fft_double **fft);
void fft_double_destroy(struct fft_double *fft);

size_t fft_double_length(const struct fft_double *fft);
double *fft_double_samples(const struct fft_double *fft);
double complex *fft_double_bins(const struct fft_double *fft);

void fft_double_forward(const struct fft_double *fft); /* samples -> bins */
void fft_double_inverse(const struct fft_double *fft); /* bins, which it spoils, -> samples */

/* The least power of two that is not below `length`. */
size_t fft_double_fitting(size_t length);

#endif
