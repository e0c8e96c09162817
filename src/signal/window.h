/* Windows for designing filters, and Kaiser's formulas.
 *
 * J. F. Kaiser, "Nonrecursive digital filter design using the I0-sinh window function", 1974; the
 * widths of the others: A. V. Oppenheim, R. W. Schafer, "Discrete-Time Signal Processing".
 * Windows are symmetric: the first and last value of hann and blackman are 0.
 * Frequencies are in cycles per sample, attenuation in dB. Threads: any.
 */
#ifndef HALO_WINDOW_H
#define HALO_WINDOW_H

#include <stddef.h>

enum window { WINDOW_KAISER, WINDOW_HANN, WINDOW_HAMMING, WINDOW_BLACKMAN };

/* The value at `i` of `count`; beta is the shape of kaiser. */
double window_at(enum window window, double beta, size_t i, size_t count);

/* The Kaiser window from inside = 1 - place^2; place is -1..1 from end to end. */
double window_kaiser(double beta, double inside);

double window_kaiser_beta(double attenuation);

/* The number of taps, not rounded, for a transition of `width`. */
double window_taps(enum window window, double attenuation, double width);

/* The inverse: attenuation for a number of taps and a transition of `width`, at least 0. */
double window_kaiser_attenuation(size_t taps, double width);

#endif
