/* Real Fourier transforms in single precision. fft.c alone knows the library.
 *
 * A spectrum of n real samples holds n/2 + 1 complex bins as pairs (re, im).
 * Neither direction scales: inverse(forward(x)) = n x.
 *
 * The library finds its fastest plan of a length by trying many, which takes from a
 * tenth of a second to minutes. What it found is kept, as its "wisdom", in the user's
 * cache folder ($XDG_CACHE_HOME/halo or ~/.cache/halo) and grows: a program tries for half a
 * second at most in all its life, fft_tune at leisure; else a plan is the library's estimate.
 *
 * Threads: plans may be made and destroyed on any thread; transforms of one plan may run on
 * many threads at once, each on its own buffers from audio_alloc. Transforms are real-time.
 */
#ifndef HALO_FFT_H
#define HALO_FFT_H

#include "base/status.h"

struct fft;

/* Any n >= 2; lengths of small factors are fast. Errors: memory. */
MUST_CHECK enum status fft_create(size_t n, struct fft **fft);
void fft_destroy(struct fft *fft);

size_t fft_length(const struct fft *fft);
size_t fft_spectrum_floats(size_t n); /* floats a spectrum takes: 2 (n/2 + 1), padded */

void fft_forward(const struct fft *fft, const float *samples, float *spectrum);
void fft_inverse(const struct fft *fft, float *spectrum, float *samples); /* spoils spectrum */

/* Whether transforms may read or write there: buffers of audio_alloc, at whole lines. */
bool fft_is_aligned(const float *samples);

/* sum += a b, bin by bin, over whole spectra. */
void fft_multiply_add(float *restrict sum, const float *restrict a, const float *restrict b,
                      size_t floats);

/* The same with the products of several spectra, gone through once. */
void fft_multiply_add_all(float *restrict sum, const float *const *a, const float *const *b,
                          size_t count, size_t floats);

/* Find and keep the fastest plans of a length, however long that takes: seconds, or with
 * `patient` minutes. *known: they were kept already. Errors: memory, the cache folder. */
MUST_CHECK enum status fft_tune(size_t n, bool patient, bool *known);

/* Where wisdom is kept, or NULL where there is no place for it. */
const char *fft_wisdom_file(void);

/* Name and version of the library underneath. */
const char *fft_library(void);

#endif
