/* Windows for designing filters, and Kaiser's formulas.
 *
 * J. F. Kaiser, "Nonrecursive digital filter design using the I0-sinh window function", 1974.
 * Widths of the other windows: A. V. Oppenheim, R. W. Schafer, "Discrete-Time Signal Processing".
 * Windows are symmetric; the first and last value of hann and blackman are 0. Frequencies are in
 * cycles per sample, attenuation in dB. Threads: any.
 */
#ifndef HALO_WINDOW_H
#define HALO_WINDOW_H

#include <stddef.h>

enum window { WINDOW_KAISER, WINDOW_HANN, WINDOW_HAMMING, WINDOW_BLACKMAN };

/* The value at index `i` of `count`. `beta` is the shape of the Kaiser window. */
double window_at(enum window window, double beta, size_t i, size_t count);

/* The Kaiser window by inside = 1 - place^2, where place is -1..1 from end to end. */
double window_kaiser(double beta, double inside);

double window_kaiser_beta(double attenuation);

/* The number of taps, not rounded, for a transition of `width`. */
double window_taps(enum window window, double attenuation, double width);

/* The attenuation for a number of taps and a transition of `width`; at least 0. */
double window_kaiser_attenuation(size_t taps, double width);

#endif
