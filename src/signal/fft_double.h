/* Real Fourier transforms in double precision with buffers of their own, for designing masks, for
 * spectral filters, and where single precision does not suffice.
 *
 * A struct fft_double owns n samples and n/2 + 1 bins; one thread at a time uses it. Otherwise as
 * fft.h.
 */
#ifndef HALO_FFT_DOUBLE_H
#define HALO_FFT_DOUBLE_H

#include "base/status.h"

#include <complex.h>

struct fft_double;

/* n: even. Errors: memory. */
MUST_CHECK enum status fft_double_create(size_t n, struct fft_double **fft);

/* The transform of fft_odd.h: bins of its kind, and a last one of zero. */
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
