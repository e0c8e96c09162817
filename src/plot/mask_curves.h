/* Curves of an impulse response for plots, of a few thousand points.
 *
 * Time is in seconds from the origin of the mask, frequency in Hz on a logarithmic axis. Where many
 * values share a point, the least and the largest are kept; smooth curves have the mean power of a
 * share of an octave. y is NaN in a gap. Threads: any. Not
 * real-time.
 */
#ifndef HALO_MASK_CURVES_H
#define HALO_MASK_CURVES_H

#include "acoustics/response.h"
#include "base/status.h"
#include "mask/mask.h"
#include "spectrogram/spectrogram.h"

#include <complex.h>

struct curve {
    size_t count;
    double *x, *y;
};

void curve_free(struct curve *curve);

enum time_curve {
    TIME_CURVE_IMPULSE,
    TIME_CURVE_STEP,
    TIME_CURVE_ENERGY, /* of a tap, dB; at a point the largest alone; a 0 is -400, silence nothing
                        */
    TIME_CURVE_DECAY,  /* the energy still to come, dB of all; room_acoustics.h */
};

struct time_axis {
    bool is_log;     /* from > 0 */
    bool gathers;    /* `from` stands for all that comes before, too */
    double from, to; /* seconds */
};

/* Errors of all functions: memory; then there is nothing to free. */
MUST_CHECK enum status curve_time(const struct mask *mask, size_t column, uint32_t rate,
                                  enum time_curve kind, const struct time_axis *axis,
                                  struct curve *curve);

/* The spectrum of a column, padded with zeros to eight times its length and bins of at most 0.1 Hz;
 * columns of more than 2^18 taps are padded less. */
struct mask_spectrum {
    size_t length;
    double rate;
    double largest;          /* gain */
    double delay;            /* seconds from tap 0 to the peak, or the middle of a symmetric one */
    double origin;           /* seconds */
    double low, high;        /* Hz: of the axis of its curves; 20 Hz to half the rate */
    double smoothing;        /* octaves; a twelfth */
    double complex *bins;    /* length / 2 + 1, as the following */
    double *gains;           /* their magnitudes */
    double complex *moments; /* of the taps times their times */
};

MUST_CHECK enum status mask_spectrum_init(struct mask_spectrum *spectrum, const struct mask *mask,
                                          size_t column, uint32_t rate);
void mask_spectrum_free(struct mask_spectrum *spectrum);

/* Whether a quarter of all points have dips of 20 dB, as in a reverberation: then
 * the mean is more useful than the gains. */
bool mask_spectrum_is_rough(const struct mask_spectrum *spectrum);

/* dB; a gain of 0 is -400, silence is one gap. */
MUST_CHECK enum status curve_magnitude(const struct mask_spectrum *spectrum, bool smooth,
                                       struct curve *curve);

/* Degrees, -180 to 180, without `delay`; gaps where it wraps and below -60 dB of the largest gain.
 */
MUST_CHECK enum status curve_phase(const struct mask_spectrum *spectrum, struct curve *curve);

/* Milliseconds, averaged by power over each point (smooth: `smoothing`); gaps below
 * -60 dB of the largest gain. */
MUST_CHECK enum status curve_group_delay(const struct mask_spectrum *spectrum, bool smooth,
                                         struct curve *curve);

/* Power over time and frequency, relative to the largest, from `low` to `high` Hz and over the time
 * of the axis that the mask has; at least one tap. */
MUST_CHECK enum status mask_spectrogram_init(const struct mask *mask, size_t column, uint32_t rate,
                                             double low, double high, const struct time_axis *time,
                                             struct spectrogram *picture);

/* ---- waterfalls ----
 *
 * The cumulative spectral decay of an impulse response: the response to what comes after a time,
 * for a number of times. Threads: any. Not real-time. */
struct waterfall {
    struct response_axis axis;
    size_t slices;
    double step; /* seconds from one to the next */
    double *db;  /* slice after slice, axis.points each; 0 dB is the largest of the first */
};

/* From the direct sound on, `seconds` in all. Errors: memory. */
MUST_CHECK enum status waterfall_init(struct waterfall *waterfall, const struct mask *mask,
                                      size_t column, uint32_t rate, double seconds,
                                      const struct response_axis *axis);
void waterfall_free(struct waterfall *waterfall);

#endif
