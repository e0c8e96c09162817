/* Windows for designing filters, and Kaiser's formulas.
 *
 * J. F. Kaiser, "Nonrecursive digital filter design using the I0-sinh window function", 1974; the
 * widths of the others: A. V. Oppenheim, R. W. Schafer, "Discrete-Time Signal Processing".
 * Windows are symmetric: the first and last value of hann and blackman are 0.
 * Frequencies are in cycles a sample, attenuation in dB. Threads: any.
 */
#ifndef HALO_WINDOW_H
#define HALO_WINDOW_H

#include <stddef.h>

enum window { WINDOW_KAISER, WINDOW_HANN, WINDOW_HAMMING, WINDOW_BLACKMAN };

/* The window at `i` of `count`; beta is kaiser's shape. */
double window_at(enum window window, double beta, size_t i, size_t count);

/* Its Bessel function alone, where 1 - place^2 is at hand; place is -1..1 from end to end. */
double window_kaiser(double beta, double inside);

double window_kaiser_beta(double attenuation);

/* The taps, not rounded, that a transition as wide as that takes. */
double window_taps(enum window window, double attenuation, double width);

/* The attenuation of so many taps and a transition as wide, at least 0: the same formula. */
double window_kaiser_attenuation(size_t taps, double width);

#endif
