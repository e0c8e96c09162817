/* Real Fourier transforms in double precision with buffers of their own, for designing masks, for
 * spectral filters, and where single precision is not exact enough.
 *
 * A struct fft_double owns n samples and n/2 + 1 bins. One thread at a time may use it; see fft.h.
 */
#ifndef HALO_FFT_DOUBLE_H
#define HALO_FFT_DOUBLE_H

#include "base/status.h"

#include <complex.h>

struct fft_double;

/* n must be even. Errors: memory. */
MUST_CHECK enum status fft_double_create(size_t n, struct fft_double **fft);

/* Creates the transform of fft_odd.h. It has that header's bins, and a last bin of zero. */
MUST_CHECK enum status fft_double_create_odd(size_t n, struct fft_double **fft);
void fft_double_destroy(struct fft_double *fft);

size_t fft_double_length(const struct fft_double *fft);
double *fft_double_samples(const struct fft_double *fft);
double complex *fft_double_bins(const struct fft_double *fft);

void fft_double_forward(const struct fft_double *fft); /* samples -> bins */
void fft_double_inverse(const struct fft_double *fft); /* bins -> samples */

/* The least power of two not below `length`. */
size_t fft_double_fitting(size_t length);

#endif
