/* Levels of a response over frequency as a listener judges them, and their correction. Curves have
 * points at even steps of the logarithm of frequency. Threads: any. Not real-time. */
#ifndef HALO_CORRECT_CURVE_H
#define HALO_CORRECT_CURVE_H

#include "base/status.h"
#include "signal/fft_double.h"

#include <stddef.h>

enum { CURVE_PER_OCTAVE = 48, CURVE_POINTS = 11 * CURVE_PER_OCTAVE + 13 /* 10 Hz to 24.3 kHz */ };

double curve_hertz(size_t point);

/* The first point at or above a frequency; at most CURVE_POINTS. */
size_t curve_point(double hertz);

/* The mean power about each point. With `cycles`, only of the taps from a cycle before tap `direct`
 * to so many cycles after it, at each frequency; 0: of all taps. Points beyond 0.45 of `rate`
 * repeat the last one. Errors: memory. */
MUST_CHECK enum status curve_measure(const double *taps, size_t count, size_t direct, double rate,
                                     double cycles, double powers[CURVE_POINTS]);

/* The same of bins of a transform. Its samples are lost. */
void curve_of_bins(const struct fft_double *fft, double rate, double powers[CURVE_POINTS]);

/* Smoothed levels in dB. `octaves` is the width of the mean; 0: psychoacoustic, a twelfth below
 * 100 Hz to a sixth above 1 kHz, where peaks count more than dips. */
void curve_smooth(const double powers[CURVE_POINTS], double octaves, double levels[CURVE_POINTS]);

struct curve_limits {
    double from,
        to; /* band in Hz; outside, the correction fades to 0 within a third of an octave */
    double boost, cut; /* dB, both positive */
};

/* Narrows [*first, *end) to where a loudspeaker plays: from the first to the last level that is at
 * most 10 dB below the mean of those within 20 dB of the loudest. */
void curve_band(const double *levels, size_t *first, size_t *end);

double curve_mean(const double levels[CURVE_POINTS], double from, double to);

/* Subtracts what makes the mean over the band 0 after curve_limit. */
void curve_centre(const struct curve_limits *limits, double levels[CURVE_POINTS]);

/* Turns differences between target and levels into a correction within the limits. */
void curve_limit(const struct curve_limits *limits, double levels[CURVE_POINTS]);

#endif
