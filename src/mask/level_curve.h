/* A level in dB over frequency in Hz: linear between its points on a logarithmic axis of frequency,
 * constant beyond the first and the last. Threads: any. Not real-time. */
#ifndef HALO_LEVEL_CURVE_H
#define HALO_LEVEL_CURVE_H

#include "mask/mask.h"

enum { LEVEL_CURVE_MOST = 300 /* dB: no level is beyond it, either way */ };

/* All zero: no points. */
struct level_curve {
    struct mask_values octaves; /* log2 of Hz, rising */
    struct mask_values levels;  /* dB */
};

/* Add a point above the last one, or anywhere, to be sorted later. Errors: memory. */
MUST_CHECK enum status level_curve_add(struct level_curve *curve, double hertz, double level);
MUST_CHECK enum status level_curve_sort(struct level_curve *curve);
void level_curve_scale(struct level_curve *curve, double factor); /* all frequencies */
void level_curve_free(struct level_curve *curve);

/* The level at a frequency; the curve has a point. */
double level_curve_at(const struct level_curve *curve, double hertz);

/* The mean over the logarithm of frequency, from the first point to the last. */
double level_curve_mean(const struct level_curve *curve);

/* The gains of taps at the curve's frequencies, linear; NAN from half the rate on. Errors: memory.
 */
MUST_CHECK enum status level_curve_measure(const struct level_curve *curve, double rate,
                                           const double *taps, size_t count, double *gains);

/* How far a gain is from the wanted one, in dB; below `least` less counts, as it is heard. */
double level_curve_error(double gain, double wanted, double least);

size_t level_curve_count(const struct level_curve *curve);
double level_curve_hertz(const struct level_curve *curve, size_t point);

#endif
