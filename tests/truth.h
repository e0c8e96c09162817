/* Reference for the tests: convolution in double precision, written for the tests alone, and
 * noise that is the same on every machine. What is returned is freed when the test ends. */
#ifndef HALO_TESTS_TRUTH_H
#define HALO_TESTS_TRUTH_H

#include "mask/mask.h"

#include <stddef.h>
#include <stdint.h>

/* Uniform in -1..1. */
void truth_noise(uint64_t seed, float *samples, size_t count);
void truth_noise_taps(uint64_t seed, double *taps, size_t count); /* the same numbers */

/* y[0 .. n + taps - 1) += x * h, by a Fourier transform in double precision, or term by term for
 * short inputs. */
void truth_add(const float *x, size_t n, const float *h, size_t taps, double *y);

/* The same, term by term: the reference for truth_add itself. */
void truth_add_plain(const float *x, size_t n, const float *h, size_t taps, double *y);

/* All outputs of a routed mask: outputs rows of n + taps - 1. */
double **truth_render(const struct mask *mask, float *const *x, size_t n);

/* A mask of `channels` inputs and outputs with independent noise in every path and column: each
 * input goes to its own output and to the next one. */
struct mask *truth_noise_mask(uint64_t seed, size_t channels, size_t taps);

/* Error bounds relative to the truth. */
struct truth_error {
    double largest;     /* |error| */
    double input_peak;  /* max |x| */
    double mask_norm;   /* largest sum |h| over the paths to one output */
    double output_peak; /* max |truth| */
};
double truth_error_bound_db(const struct truth_error *error); /* relative to max|x| sum|h| */
double truth_error_peak_db(const struct truth_error *error);  /* relative to the truth's peak */

#endif
