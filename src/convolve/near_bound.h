/* Double precision for outputs that come near the bound.
 *
 * halo promises rounding errors relative to the bound, max|x| sum|h|. In single precision,
 * transforms and sums of spectra have errors of about 1e-7 of the result's RMS. This is far below
 * the promise, unless the RMS comes near the bound. It does so only for few sounds, such as
 * constant and low ones, and only with masks that add them up in phase. With such a mask, each
 * transform of the input checks whether the sound is one of them. If so, the transform and all that
 * follows from it are computed in double precision. A mask of hardly more than one tap is always
 * computed in double precision. There, every peak of a sound comes near the bound, and rounded
 * twiddle factors give each sample an error in proportion to itself.
 *
 * Threads: near_bound_measure, near_bound_find and near_bound_concerns on the control thread; the
 * other functions are real-time.
 */
#ifndef HALO_NEAR_BOUND_H
#define HALO_NEAR_BOUND_H

#include "base/workers.h"
#include "mask/mask.h"
#include "signal/fft_double.h"
#include "signal/real.h"

#include <stdbool.h>
#include <stddef.h>

/* Names of their own for each precision. */
#define near_bound_measure REAL(near_bound_measure)
#define near_bound_spectra REAL(near_bound_spectra)
#define near_bound_is_possible REAL(near_bound_is_possible)
#define near_bound_find REAL(near_bound_find)
#define near_bound_concerns REAL(near_bound_concerns)
#define near_bound_is_near REAL(near_bound_is_near)
#define near_bound_forward REAL(near_bound_forward)
#define near_bound_clear REAL(near_bound_clear)
#define near_bound_multiply_add REAL(near_bound_multiply_add)
#define near_bound_inverse REAL(near_bound_inverse)
#define near_bound_energy REAL(near_bound_energy)
#define near_bound_largest REAL(near_bound_largest)

struct near_bound {
    double norm;  /* the largest sum |h| of the paths to an output; see mask_norm */
    double delta; /* largest sqrt(sum h^2) of an output's paths; `norm` if it has one tap */
    double gain;  /* the largest factor by which an output's RMS can exceed its inputs' */
};

/* The spectra of a mask's columns, `partitions` for each column, one after the other. A spectrum is
 * of n samples, scaled by 1 / n. */
struct near_bound_spectra {
    const real *spectra;
    size_t partitions;
    size_t n;
};

/* Measures a mask by `count` sets of its spectra. The workers share the work. Errors: memory. */
MUST_CHECK enum status near_bound_measure(struct near_bound *bound, const struct mask *mask,
                                          const struct near_bound_spectra *sets, size_t count,
                                          struct workers *workers);

/* Whether any sound can come near the bound. Always false in double precision. */
bool near_bound_is_possible(const struct near_bound *bound);

/* Measures a mask without given spectra. The workers share the work. Errors: memory. */
MUST_CHECK enum status near_bound_find(struct near_bound *bound, const struct mask *mask,
                                       struct workers *workers);

/* Whether any sound can come near the bound of the mask. True if there is no memory to find out.
 * The workers share the work. Control thread. */
bool near_bound_concerns(const struct mask *mask, struct workers *workers);

/* Whether the results of these samples may come near the bound. The transform has n samples, with
 * zeros after the first `count`. peak: of the whole sound so far. */
bool near_bound_is_near(const struct near_bound *bound, const real *samples, size_t count, size_t n,
                        real peak);

/* odd_fft_forward in double precision, rounded at the end. `fft` is from fft_double_create_odd. */
void near_bound_forward(const struct fft_double *fft, const real *samples, size_t count,
                        real *spectrum);

/* For a sum in `fft`, in double precision: clearing, odd_fft_multiply_add and odd_fft_inverse. */
void near_bound_clear(const struct fft_double *fft);
void near_bound_multiply_add(const struct fft_double *fft, const real *a, const real *b);
void near_bound_inverse(const struct fft_double *fft, size_t from, size_t frames, real *samples);

/* The sum of the samples' squares. */
real near_bound_energy(const real *samples, size_t count);

/* The largest magnitude in a spectrum of odd_fft_forward with n samples, squared. */
double near_bound_largest(const real *spectrum, size_t n);

#endif
