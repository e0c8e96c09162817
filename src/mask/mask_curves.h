/* Curves of one impulse response for plots: a few thousand points, whatever its length.
 *
 * Time is in seconds from time zero (the origin of the mask), frequency in Hz on a logarithmic axis
 * from 20 Hz to half the rate. Where many values share a point of the axis, the least and largest
 * are kept in order, so that no peak or dip is lost; a smooth curve has the mean power of a twelfth
 * of an octave instead. y is NaN in a gap. Threads: any. Not real-time.
 */
#ifndef HALO_MASK_CURVES_H
#define HALO_MASK_CURVES_H

#include "base/status.h"
#include "mask/mask.h"
#include "spectrogram/spectrogram.h"

#include <complex.h>

struct curve {
    size_t count;
    double *x, *y;
};

void curve_free(struct curve *curve);

/* Errors of all: memory; then there is nothing to free. The impulse response, or the step response.
 */
MUST_CHECK enum status curve_time(const struct mask *mask, size_t column, uint32_t rate,
                                  bool is_step, struct curve *curve);

/* The spectrum of a column, padded with zeros to eight times its length and to bins of 0.1 Hz
 * at most; of more than 2^18 taps, just as long as they are. */
struct mask_spectrum {
    size_t length;
    double rate;
    double largest;          /* gain */
    double delay;            /* seconds from tap 0 to the peak, or the middle of a symmetric one */
    double origin;           /* seconds */
    double complex *bins;    /* length / 2 + 1 */
    double complex *moments; /* of the taps times their times */
};

MUST_CHECK enum status mask_spectrum_init(struct mask_spectrum *spectrum, const struct mask *mask,
                                          size_t column, uint32_t rate);
void mask_spectrum_free(struct mask_spectrum *spectrum);

/* Whether dips of 20 dB stand in a quarter of all twelfths of an octave, as in a reverberation:
 * then the mean says more than the gains themselves. */
bool mask_spectrum_is_rough(const struct mask_spectrum *spectrum);

/* dB; a gain of nothing is -400, and silence one gap. */
MUST_CHECK enum status curve_magnitude(const struct mask_spectrum *spectrum, bool smooth,
                                       struct curve *curve);

/* Degrees, -180 to 180, of what is left when `delay` is taken away; gaps where it wraps and below
 * -60 dB of the largest gain. */
MUST_CHECK enum status curve_phase(const struct mask_spectrum *spectrum, struct curve *curve);

/* Milliseconds, averaged over each point's share (smooth: a twelfth of an octave) by
 * power; gaps below -60 dB of the largest gain. */
MUST_CHECK enum status curve_group_delay(const struct mask_spectrum *spectrum, bool smooth,
                                         struct curve *curve);

/* Power over time and frequency, of the largest. */
MUST_CHECK enum status mask_spectrogram_init(const struct mask *mask, size_t column, uint32_t rate,
                                             struct spectrogram *picture);

#endif
