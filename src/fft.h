/* Real Fourier transforms in single precision. fft.c alone knows the library.
 *
 * A spectrum of n real samples holds n/2 + 1 complex bins as pairs (re, im).
 * Neither direction scales: inverse(forward(x)) = n x.
 * Threads: create and destroy on one thread; transforms of one plan may run on
 * many threads at once, each on its own buffers from audio_alloc.
 */
#ifndef HALO_FFT_H
#define HALO_FFT_H

#include "status.h"

struct fft;

/* Any n >= 2; lengths of small factors are fast. Errors: memory. */
MUST_CHECK enum status fft_create(size_t n, struct fft **fft);
void fft_destroy(struct fft *fft);

size_t fft_length(const struct fft *fft);
size_t fft_spectrum_floats(size_t n); /* floats a spectrum takes: 2 (n/2 + 1), padded */

void fft_forward(const struct fft *fft, float *samples, float *spectrum);
void fft_inverse(const struct fft *fft, float *spectrum, float *samples); /* spoils spectrum */

/* sum += a b, bin by bin, over whole spectra. */
void fft_multiply_add(float *restrict sum, const float *restrict a, const float *restrict b,
                      size_t floats);

/* Name and version of the library underneath. */
const char *fft_library(void);

#endif
