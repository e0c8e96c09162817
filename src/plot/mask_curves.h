/* Curves of an impulse response for plots, with a few thousand points.
 *
 * Time is in seconds from the mask's origin. Frequency is in Hz, on a logarithmic axis. If many
 * values share a point, the least and the largest are kept. Smooth curves have the mean power of a
 * part of an octave. y is NaN in a gap. Threads: any. Not real-time.
 */
#ifndef HALO_MASK_CURVES_H
#define HALO_MASK_CURVES_H

#include "acoustics/response.h"
#include "base/status.h"
#include "mask/mask.h"
#include "spectrogram/spectrogram.h"
#include "sweep/measurement.h"

#include <complex.h>

struct curve {
    size_t count;
    double *x, *y;
};

void curve_free(struct curve *curve);

enum time_curve {
    TIME_CURVE_IMPULSE,
    TIME_CURVE_STEP,
    /* energy of a tap in dB, of a point the largest; 0 is -400; silence is a gap */
    TIME_CURVE_ENERGY,
    TIME_CURVE_DECAY, /* energy that is still to come, in dB of all energy; see room_acoustics.h */
};

struct time_axis {
    bool is_log;     /* logarithmic; from > 0 */
    bool gathers;    /* `from` also stands for all earlier times */
    double from, to; /* seconds */
    size_t points;   /* at most twice as many values; 0: 2000 points */
};

/* Errors of all functions here: memory. After an error there is nothing to free. */
MUST_CHECK enum status curve_time(const struct mask *mask, size_t column, uint32_t rate,
                                  enum time_curve kind, const struct time_axis *axis,
                                  struct curve *curve);

/* The spectrum of a column, padded with zeros to eight times its length, with bins of at most 0.1
 * Hz. Columns of more than 2^18 taps are padded less. */
struct mask_spectrum {
    size_t length;
    double rate;
    double largest;   /* largest gain */
    double delay;     /* seconds from tap 0 to the peak, or to the middle of a symmetric column */
    double origin;    /* seconds from tap 0 */
    double low, high; /* Hz; range of the curves' axis, from 20 Hz to half the rate */
    double smoothing; /* octaves; one twelfth */
    size_t points;    /* points of the curves' axis, with up to two values each */
    double complex *bins;    /* [length / 2 + 1] */
    double *gains;           /* [length / 2 + 1] magnitudes of the bins */
    double complex *moments; /* [length / 2 + 1] transform of the taps times their times */
};

MUST_CHECK enum status mask_spectrum_init(struct mask_spectrum *spectrum, const struct mask *mask,
                                          size_t column, uint32_t rate);
void mask_spectrum_free(struct mask_spectrum *spectrum);

/* Whether a quarter of all points have dips of 20 dB, as in reverberation, which a mean avoids. */
bool mask_spectrum_is_rough(const struct mask_spectrum *spectrum);

/* Gains in dB. A gain of 0 is -400 dB; silence is one gap. */
MUST_CHECK enum status curve_magnitude(const struct mask_spectrum *spectrum, bool smooth,
                                       struct curve *curve);

/* Phase in degrees, -180 to 180, without `delay`. Gaps at wraps, and 60 dB below the largest
 * gain. */
MUST_CHECK enum status curve_phase(const struct mask_spectrum *spectrum, struct curve *curve);

/* Group delay in milliseconds, averaged by power over each point (smooth: over `smoothing`). Gaps
 * 60 dB below the largest gain. */
MUST_CHECK enum status curve_group_delay(const struct mask_spectrum *spectrum, bool smooth,
                                         struct curve *curve);

/* Levels by thirds of an octave, at the middle of each. */
MUST_CHECK enum status curve_thirds(const double levels[MEASURED_THIRDS], struct curve *curve);

/* Power over time and frequency, relative to the largest. From `low` to `high` Hz, and over the
 * part of the time axis that the mask has; at least one tap. */
MUST_CHECK enum status mask_spectrogram_init(const struct mask *mask, size_t column, uint32_t rate,
                                             double low, double high, const struct time_axis *time,
                                             struct spectrogram *picture);

/* The cumulative spectral decay (waterfall) of an impulse response: for a number of times, the
 * magnitude of the response after that time. Threads: any. Not real-time. */
struct waterfall {
    struct response_axis axis;
    size_t slices;
    double step; /* seconds from one slice to the next */
    double *db;  /* [slice][point] in dB; 0: the largest level of the first slice */
};

/* Computes slices over `seconds`, from the direct sound on. Errors: memory. */
MUST_CHECK enum status waterfall_init(struct waterfall *waterfall, const struct mask *mask,
                                      size_t column, uint32_t rate, double seconds,
                                      const struct response_axis *axis);
void waterfall_free(struct waterfall *waterfall);

#endif
