/* Real Fourier transforms in double precision, for the study and design of masks, where -150 dB
 * matter and time does not. Sound goes through fft.h. fft_double.c alone knows the library.
 *
 * A spectrum of n real samples holds n/2 + 1 complex bins as pairs (re, im): n + 2 doubles.
 * Neither direction scales: inverse(forward(x)) = n x. Buffers may lie anywhere.
 * Threads: any. Not real-time.
 */
#ifndef HALO_FFT_DOUBLE_H
#define HALO_FFT_DOUBLE_H

#include "status.h"

struct fft_double;

/* Even n from 2 to 2^30; lengths of small factors are fast. Errors: memory. */
MUST_CHECK enum status fft_double_create(size_t n, struct fft_double **fft);
void fft_double_destroy(struct fft_double *fft);

size_t fft_double_length(const struct fft_double *fft);

void fft_double_forward(const struct fft_double *fft, const double *samples, double *spectrum);
void fft_double_inverse(const struct fft_double *fft, double *spectrum,
                        double *samples); /* spoils spectrum */

#endif
