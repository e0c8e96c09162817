/* Real Fourier transforms, with the bins in their natural order.
 *
 * A spectrum of n real samples has n/2 + 1 complex bins, as pairs (re, im). Neither direction
 * scales: inverse(forward(x)) = n x. The inverse ignores the imaginary parts of the first and the
 * last bin.
 *
 * n samples are n/2 complex points. If this is a power of two from 64 on, or three times one from
 * 192 on, it is transformed in passes that sort as they go (Stockham; Van Loan, Computational
 * Frameworks for the Fast Fourier Transform, 1.7). Other numbers of points are a convolution with a
 * chirp, by transforms of such a length (Bluestein 1970). This takes four to six times as long.
 *
 * The bits of the results do not depend on the processor, or on anything measured. Compiled for
 * each precision. Threads: create and destroy on any. A transform uses memory of its struct, so one
 * thread at a time. Transforms are real-time.
 */
#ifndef HALO_FFT_H
#define HALO_FFT_H

#include "base/realtime.h"
#include "base/status.h"

struct fft;
struct fft_in_double;

/* Length of a spectrum, in numbers: 2 (n/2 + 1), padded to whole cache lines. */
HALO_REALTIME static inline size_t fft_spectrum_floats(size_t n)
{
    const size_t line = 16;
    return (2 * (n / 2 + 1) + line - 1) / line * line;
}

/* n must be even. Errors: memory. */
MUST_CHECK enum status fft_create(size_t n, struct fft **fft);
MUST_CHECK enum status fft_create_in_double(size_t n, struct fft_in_double **fft);
void fft_destroy(struct fft *fft);
void fft_destroy_in_double(struct fft_in_double *fft);

size_t fft_length(const struct fft *fft); /* n */
size_t fft_length_in_double(const struct fft_in_double *fft);

void fft_forward(const struct fft *fft, const float *samples, float *spectrum);
void fft_forward_in_double(const struct fft_in_double *fft, const double *samples,
                           double *spectrum);
void fft_inverse(const struct fft *fft, const float *spectrum, float *samples);
void fft_inverse_in_double(const struct fft_in_double *fft, const double *spectrum,
                           double *samples);

/* sum += a b, bin by bin, for whole spectra. */
void fft_multiply_add(float *restrict sum, const float *restrict a, const float *restrict b,
                      size_t floats);

#endif
