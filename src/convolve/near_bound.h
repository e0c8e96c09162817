/* Double precision for outputs that come near the bound.
 *
 * Rounding errors are promised relative to the bound, max|x| sum|h|. Transforms and sums of spectra
 * in single precision have errors of about 1e-7 of the results' RMS: far below the promise, unless
 * that RMS comes near the bound itself. It does for few sounds, such as constant and low ones, and
 * with few masks, those that add them up in phase. For such a mask each transform of the input asks
 * whether the sound is one of them; if so, it and what follows from it are computed in double.
 * So is everything for a mask of hardly more than one tap: there each peak of a sound comes near,
 * and the rounded twiddle factors give each sample an error in proportion to itself.
 *
 * Threads: near_bound_init and near_bound_include on the control thread; the rest is real-time.
 */
#ifndef HALO_NEAR_BOUND_H
#define HALO_NEAR_BOUND_H

#include "mask/mask.h"
#include "signal/fft_double.h"
#include "signal/real.h"

#include <stdbool.h>
#include <stddef.h>

/* For each precision. */
#define near_bound_init REAL(near_bound_init)
#define near_bound_include REAL(near_bound_include)
#define near_bound_is_possible REAL(near_bound_is_possible)
#define near_bound_concerns REAL(near_bound_concerns)
#define near_bound_is_near REAL(near_bound_is_near)
#define near_bound_forward REAL(near_bound_forward)
#define near_bound_clear REAL(near_bound_clear)
#define near_bound_multiply_add REAL(near_bound_multiply_add)
#define near_bound_inverse REAL(near_bound_inverse)

struct near_bound {
    double norm;  /* see mask_norm */
    double delta; /* the largest sqrt(sum h^2): for a mask of one tap as large as norm */
    double gain;  /* the most by which an output's RMS is above its inputs' */
};

void near_bound_init(struct near_bound *bound, const struct mask *mask);

/* Include the spectra of all columns, `partitions` each, of n samples and scaled by 1 / n. */
void near_bound_include(struct near_bound *bound, const struct mask *mask, const real *spectra,
                        size_t partitions, size_t n);

/* False: no sound comes near; nor does it in double precision. */
bool near_bound_is_possible(const struct near_bound *bound);

/* The same for a mask without spectra; true where memory for them is missing. Control
 * thread. */
bool near_bound_concerns(const struct mask *mask);

/* Whether this sound may; peak: of the whole sound so far. */
bool near_bound_is_near(const struct near_bound *bound, const real *samples, size_t n, real peak);

/* As fft_forward, rounded at the end. */
void near_bound_forward(const struct fft_double *fft, const real *samples, real *spectrum);

/* As clearing a sum, fft_multiply_add and fft_inverse, with the sum in `fft`. */
void near_bound_clear(const struct fft_double *fft);
void near_bound_multiply_add(const struct fft_double *fft, const real *a, const real *b);
void near_bound_inverse(const struct fft_double *fft, real *samples);

#endif
