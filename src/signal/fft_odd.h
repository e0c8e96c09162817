/* Fourier transforms of n real samples at the odd multiples of half a bin, for convolution alone.
 *
 * n real samples are n/2 complex ones, x[j] + i x[j + n/2], turned by half a bin: one complex
 * transform of half the length, and no pass that sorts its bins ("right-angle convolution",
 * Crandall and Pomerance, Prime Numbers, 9.5). Of the bins m + 1/2 those with even m are kept; the
 * others are their conjugates. A product of such spectra convolves as one of fft.h's does, but what
 * wraps around the end changes its sign; overlap-save discards that.
 *
 * FFTW estimates plans of complex transforms in half a millisecond and well, those of real ones in
 * 3 to 9 and badly.
 *
 * A spectrum has n/2 bins: the real parts of ODD_FFT_PARTS of them, their imaginary parts, and so
 * on, which products read without sorting them. It is padded with zeros to fft_spectrum_floats(n).
 * Neither direction scales: inverse(forward(x)) = n x.
 * Compiled for each precision. Threads: as fft.h; buffers from audio_alloc.
 */
#ifndef HALO_FFT_ODD_H
#define HALO_FFT_ODD_H

#include "base/status.h"

enum { ODD_FFT_PARTS = 16 };

struct odd_fft;
struct odd_fft_in_double;

/* n: a multiple of 32. Errors: memory, no FFTW. */
MUST_CHECK enum status odd_fft_create(size_t n, struct odd_fft **fft);
MUST_CHECK enum status odd_fft_create_in_double(size_t n, struct odd_fft_in_double **fft);
void odd_fft_destroy(struct odd_fft *fft);
void odd_fft_destroy_in_double(struct odd_fft_in_double *fft);

/* The samples from `count` on are zero and not read. scratch: n samples. Real-time. */
void odd_fft_forward(const struct odd_fft *fft, const float *samples, size_t count, float *scratch,
                     float *spectrum);
void odd_fft_forward_in_double(const struct odd_fft_in_double *fft, const double *samples,
                               size_t count, double *scratch, double *spectrum);

/* Samples [from, from + frames) of the inverse. Destroys the spectrum. scratch: n samples.
 * Real-time.
 */
void odd_fft_inverse(const struct odd_fft *fft, float *spectrum, float *scratch, size_t from,
                     size_t frames, float *samples);
void odd_fft_inverse_in_double(const struct odd_fft_in_double *fft, double *spectrum,
                               double *scratch, size_t from, size_t frames, double *samples);

/* sum += a b for `count` products, over some bins: floats, a multiple of 2 ODD_FFT_PARTS from a
 * multiple of it on. Real-time. */
void odd_fft_multiply_add(float *sum, const float *const *a, const float *const *b, size_t count,
                          size_t floats);
void odd_fft_multiply_add_in_double(double *sum, const double *const *a, const double *const *b,
                                    size_t count, size_t numbers);

#endif
