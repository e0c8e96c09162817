/* Real Fourier transforms in double precision, for designing masks, for spectrograms, and where
 * single precision does not suffice.
 *
 * A struct fft_double owns its buffers: n samples and n/2 + 1 bins; one thread at a time uses it.
 * Neither direction scales: forward and inverse give n times the samples. Plans are FFTW's
 * estimates.
 * Threads: created and destroyed on any thread. Transforms are real-time as those
 * of fft.h.
 */
#ifndef HALO_FFT_DOUBLE_H
#define HALO_FFT_DOUBLE_H

#include "base/status.h"

#include <complex.h>

struct fft_double;

/* Any n >= 2. Errors: memory. */
MUST_CHECK enum status fft_double_create(size_t n, struct fft_double **fft);

/* The same by the plan that fft_fix_plans (fft.h) would give, for masks: what halo makes of a spec
 * is the same in all commands, on all processors. */
MUST_CHECK enum status fft_double_create_fixed(size_t n, struct fft_double **fft);

/* The transform of fft_odd.h: bins of its kind, and a last one of zero. */
MUST_CHECK enum status fft_double_create_odd(size_t n, struct fft_double **fft);
void fft_double_destroy(struct fft_double *fft);

size_t fft_double_length(const struct fft_double *fft);
double *fft_double_samples(const struct fft_double *fft);
double complex *fft_double_bins(const struct fft_double *fft);

void fft_double_forward(const struct fft_double *fft); /* samples -> bins */
void fft_double_inverse(const struct fft_double *fft); /* bins, which it destroys, -> samples */

/* The least power of two not below `length`. */
size_t fft_double_fitting(size_t length);

#endif
