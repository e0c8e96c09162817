/* Fourier transforms of n real samples at the odd multiples of half a bin, only for convolution.
 *
 * n real samples are n/2 complex ones, x[j] + i x[j + n/2]. Their transform is sum x[j] z^j at the
 * n/2 roots of z^(n/2) = i ("right-angle convolution", Crandall and Pomerance, Prime Numbers, 9.5).
 * These are every second odd multiple of half a bin; the others are their conjugates. A product of
 * such spectra convolves as one of fft.h's does, except that the part which wraps around the end
 * changes its sign. Overlap-save discards that part.
 *
 * Each level of a transform divides the polynomial by factors z^L - s of a quarter of its length
 * (Fiduccia 1972; Bernstein, Multidigit multiplication for mathematicians, 2001). One factor serves
 * a whole block, samples are not turned first, and bins are not sorted. The order of the bins is
 * the same for all spectra of a length, in either precision. Code and tables are small, since a
 * live step runs a transform once a block, when both have left the caches.
 *
 * The bits of the results do not depend on the processor, or on anything measured.
 *
 * A spectrum has n/2 bins: the real parts of ODD_FFT_PARTS of them, then their imaginary parts, and
 * so on. Products read them in this order. The spectrum is padded with zeros to
 * fft_spectrum_floats(n). Neither direction scales: inverse(forward(x)) = n x. Compiled for each
 * precision. Threads: as fft.h. Spectra are from audio_alloc.
 */
#ifndef HALO_FFT_ODD_H
#define HALO_FFT_ODD_H

#include "base/status.h"

#include <stdbool.h>

enum { ODD_FFT_PARTS = 16, ODD_FFT_LEAST = 1 << 7 };

struct odd_fft;
struct odd_fft_in_double;

/* Whether n is a power of two, or three times one, and the power at least ODD_FFT_LEAST. */
static inline bool odd_fft_fits(size_t n)
{
    size_t power = n % 3 ? n : n / 3;
    return power >= ODD_FFT_LEAST && (power & (power - 1)) == 0;
}

/* The least length of at least n that fits. */
static inline size_t odd_fft_length(size_t n)
{
    size_t power = ODD_FFT_LEAST;
    while (power < n)
        power *= 2;
    size_t less = power / 4 * 3;
    return less >= n && odd_fft_fits(less) ? less : power;
}

/* From now on keeps transforms, one for each length, until the process ends. For many jobs. */
void odd_fft_keep(void);
bool odd_ffts_are_kept(void);

/* n must fit (odd_fft_fits). Errors: memory. */
MUST_CHECK enum status odd_fft_create(size_t n, struct odd_fft **fft);
MUST_CHECK enum status odd_fft_create_in_double(size_t n, struct odd_fft_in_double **fft);

/* Finds a transform that is kept until the process ends, or makes it. Not for the caller to
 * destroy. Also in the child of a process that was forked while other threads made transforms.
 * Errors: memory. */
MUST_CHECK enum status odd_fft_find(size_t n, struct odd_fft **fft);
MUST_CHECK enum status odd_fft_find_in_double(size_t n, struct odd_fft_in_double **fft);

void odd_fft_destroy(struct odd_fft *fft);
void odd_fft_destroy_in_double(struct odd_fft_in_double *fft);

size_t odd_fft_size(const struct odd_fft *fft); /* n */
size_t odd_fft_size_in_double(const struct odd_fft_in_double *fft);

/* Transforms `count` samples; later ones count as 0, unread. scratch: n samples. Real-time. */
void odd_fft_forward(const struct odd_fft *fft, const float *samples, size_t count, float *scratch,
                     float *spectrum);
void odd_fft_forward_in_double(const struct odd_fft_in_double *fft, const double *samples,
                               size_t count, double *scratch, double *spectrum);

/* Computes samples [from, from + frames) of the inverse. scratch: n samples. Real-time. */
void odd_fft_inverse(const struct odd_fft *fft, const float *spectrum, float *scratch, size_t from,
                     size_t frames, float *samples);
void odd_fft_inverse_in_double(const struct odd_fft_in_double *fft, const double *spectrum,
                               double *scratch, size_t from, size_t frames, double *samples);

/* sum += a b for `count` products, over some bins. `floats` is a multiple of 2 ODD_FFT_PARTS, and
 * the pointers begin at multiples of it. Real-time. */
void odd_fft_multiply_add(float *sum, const float *const *a, const float *const *b, size_t count,
                          size_t floats);
void odd_fft_multiply_add_in_double(double *sum, const double *const *a, const double *const *b,
                                    size_t count, size_t numbers);

#endif
