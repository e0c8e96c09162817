/* Arithmetic of impulse responses in double precision. Threads: any. */
#ifndef HALO_TAPS_H
#define HALO_TAPS_H

#include "base/status.h"

#include <stddef.h>

/* Convolves a and b, which gives a_count + b_count - 1 taps. Neither may be empty. The result is
 * the same on every processor. Errors: memory. */
MUST_CHECK enum status taps_convolve(const double *a, size_t a_count, const double *b,
                                     size_t b_count, double *result);

#endif
