/* Acoustic measures of a room's impulse response, by octave: ISO 3382-1.
 *
 * The bands are those of a Butterworth filter of the sixth order without phase, which delays
 * nothing. Time begins with the direct sound: the first tap, in the whole band, within 20 dB of the
 * peak. Early and late energy are separated before the filter, by a cross-fade of 1 ms, since the
 * filter's ringing would mix them. A value that cannot be measured is NaN: the decay does not reach
 * low enough before the noise, or it is hardly slower than the filter's.
 *
 * Threads: any. Not real-time.
 */
#ifndef HALO_ROOM_ACOUSTICS_H
#define HALO_ROOM_ACOUSTICS_H

#include "acoustics/reflections.h"
#include "base/status.h"

#include <stdint.h>

/* The decay of a room's impulse response: M. R. Schroeder, "New Method of Measuring Reverberation
 * Time", JASA 37, 1965, without the background noise.
 *
 * The noise and the knee, where the decay meets the noise, are found as by A. Lundeby, T. E.
 * Vigran, H. Bietz and M. Vorlaender, "Uncertainties of Measurements in Room Acoustics", Acustica
 * 81, 1995. Up to the knee the noise is subtracted; beyond it the decay continues as before. If a
 * response ends before it meets a noise floor, it has no noise and its knee is its end.
 */
struct room_decay {
    double rate;
    size_t count;     /* frames, from the direct sound on */
    size_t knee;      /* frame of the knee; 0: nothing decays, and `energy` is all zero */
    double noise;     /* power */
    double total;     /* energy */
    double *energy;   /* [count + 1] energy still to come; after the knee, of a continued decay */
    const double *in; /* [count] the powers that the decay was made of */
};

void room_decay_free(struct room_decay *decay);

enum { ROOM_BANDS = 8 };

struct room_band {
    double hz;            /* middle of the octave; 0: all frequencies */
    double edt, t20, t30; /* seconds */
    double c50, c80;      /* dB; energy before 50 or 80 ms relative to later energy */
    double d50;           /* share of the energy before 50 ms */
    double drr;           /* dB; energy before 2.5 ms relative to later energy */
    double range;         /* dB that the decay falls before it ends or meets the noise */
};

struct room_acoustics {
    size_t onset; /* tap of the direct sound */
    size_t count; /* number of bands, which are below half the rate; 0: there is no reverberation */
    struct room_band band[ROOM_BANDS]; /* the first one is of all frequencies */
    struct reflections reflections;
};

/* Errors: memory. */
MUST_CHECK enum status room_acoustics_measure(const double *taps, size_t count, uint32_t rate,
                                              struct room_acoustics *room);

/* Whether there is a reverberation. If the decay is shorter than 0.1 s, it is a filter. */
bool room_acoustics_is_room(const struct room_acoustics *room);

/* The tap of the direct sound. `count`: the taps are silent. */
size_t room_acoustics_onset(const double *taps, size_t count);

/* Computes the decay over all frequencies, from the direct sound on. *onset: tap of the direct
 * sound, 0 if silent. decay->in is NULL. Errors: memory. */
MUST_CHECK enum status room_decay_of_taps(struct room_decay *decay, const double *taps,
                                          size_t count, uint32_t rate, size_t *onset);

/* Whether the decay over all frequencies is long enough for a room (room_acoustics_is_room). */
bool room_decay_is_long(const struct room_decay *decay);

#endif
