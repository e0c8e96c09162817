/* Real Fourier transforms in single precision. Only fft.c and fft_wisdom.c know the library, FFTW.
 *
 * A spectrum of n real samples has n/2 + 1 complex bins as pairs (re, im).
 * Neither direction scales: inverse(forward(x)) = n x.
 *
 * Measuring the fastest plan of a length takes a tenth of a second to minutes. Results are kept as
 * FFTW "wisdom" (fft_wisdom.h) in $XDG_CACHE_HOME/halo or ~/.cache/halo. fft_create measures for
 * half a second at most per process and uses FFTW's estimate otherwise, which it keeps as well;
 * fft_tune takes its time.
 * What rounding leaves in a spectrum depends on the plan; fft_fix_plans makes it the same anywhere.
 *
 * Threads: plans may be created and destroyed on any thread; transforms of one plan may run on
 * many threads at once, each on its own buffers from audio_alloc. Transforms are real-time if the
 * length is one of fft_realtime_length().
 */
#ifndef HALO_FFT_H
#define HALO_FFT_H

#include "base/status.h"

struct fft;

/* From now on plans of this process, in both precisions, depend on the length alone: on nothing
 * measured, and on no vector instructions, which FFTW chooses by the processor. Transforms then
 * take about three times as long. Call it before any other thread runs. */
void fft_fix_plans(void);
bool fft_plans_are_fixed(void);

/* From now on plans stay until the process ends, and all users of a length share one: for many jobs
 * in one process. */
void fft_keep_plans(void);
bool fft_keeps_plans(void);

/* A length from n on, which is even, whose transforms allocate nothing: FFTW takes memory in each
 * one of a length with a large prime factor. n itself, or one of factors up to 7. */
size_t fft_realtime_length(size_t n);

/* Any n >= 2; lengths of small factors are fast. Errors: memory, no FFTW. */
MUST_CHECK enum status fft_create(size_t n, struct fft **fft);
void fft_destroy(struct fft *fft);

size_t fft_length(const struct fft *fft);
size_t fft_spectrum_floats(size_t n); /* per spectrum: 2 (n/2 + 1), padded */

void fft_forward(const struct fft *fft, const float *samples, float *spectrum);
void fft_inverse(const struct fft *fft, float *spectrum, float *samples); /* destroys spectrum */

/* sum += a b, bin by bin, over whole spectra. */
void fft_multiply_add(float *restrict sum, const float *restrict a, const float *restrict b,
                      size_t floats);

/* Measure and keep the fastest plans of a length: seconds, or with `patient` minutes. *known: they
 * were kept already. Errors: memory, the cache folder. */
MUST_CHECK enum status fft_tune(size_t n, bool patient, bool *known);

/* Path of the wisdom, or NULL if there is no cache folder. */
const char *fft_wisdom_file(void);

#endif
