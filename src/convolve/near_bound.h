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
 * Threads: near_bound_measure and near_bound_concerns on the control thread; the rest is real-time.
 */
#ifndef HALO_NEAR_BOUND_H
#define HALO_NEAR_BOUND_H

#include "base/workers.h"
#include "mask/mask.h"
#include "signal/fft_double.h"
#include "signal/real.h"

#include <stdbool.h>
#include <stddef.h>

/* For each precision. */
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

struct near_bound {
    double norm;  /* see mask_norm */
    double delta; /* the largest sqrt(sum h^2): for a mask of one tap as large as norm */
    double gain;  /* the most by which an output's RMS is above its inputs' */
};

/* The spectra of a mask's columns, `partitions` for each column, one after the other. A spectrum is
 * that of n samples, scaled by 1 / n. */
struct near_bound_spectra {
    const real *spectra;
    size_t partitions;
    size_t n;
};

/* From the mask and all its spectra, `count` sets of them. The work is shared out. Errors: memory.
 */
MUST_CHECK enum status near_bound_measure(struct near_bound *bound, const struct mask *mask,
                                          const struct near_bound_spectra *sets, size_t count,
                                          struct workers *workers);

/* False: no sound comes near; nor does it in double precision. */
bool near_bound_is_possible(const struct near_bound *bound);

/* From the mask alone. The work is shared out. Errors: memory. */
MUST_CHECK enum status near_bound_find(struct near_bound *bound, const struct mask *mask,
                                       struct workers *workers);

/* Whether it is possible for a mask without spectra; true where memory for them is missing. The
 * work is shared out. Control thread. */
bool near_bound_concerns(const struct mask *mask, struct workers *workers);

/* Whether these samples may, or a transform of n samples, zeros after them; peak: of the whole
 * sound so far. */
bool near_bound_is_near(const struct near_bound *bound, const real *samples, size_t count, size_t n,
                        real peak);

/* The `fft` is one of fft_double_create_odd. As odd_fft_forward, rounded at the end. */
void near_bound_forward(const struct fft_double *fft, const real *samples, size_t count,
                        real *spectrum);

/* As clearing a sum, odd_fft_multiply_add and odd_fft_inverse, with the sum in `fft`. */
void near_bound_clear(const struct fft_double *fft);
void near_bound_multiply_add(const struct fft_double *fft, const real *a, const real *b);
void near_bound_inverse(const struct fft_double *fft, size_t from, size_t frames, real *samples);

#endif
