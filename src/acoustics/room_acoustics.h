/* What acousticians read of a room's impulse response, by octave: ISO 3382-1.
 *
 * The bands are those of a Butterworth filter of the sixth order without phase, which delays
 * nothing. Time begins with the direct sound: the first tap of the whole band within 20 dB of the
 * peak. Early and late energy are parted before the filter, by a cross-fade of 1 ms, as its ringing
 * would mix them. What cannot be measured is NaN: a decay that does not reach
 * low enough before the noise, or that is hardly slower than that of the filter.
 *
 * Threads: any. Not real-time.
 */
#ifndef HALO_ROOM_ACOUSTICS_H
#define HALO_ROOM_ACOUSTICS_H

#include "base/status.h"

#include <stdint.h>

/* The decay of a room's impulse response: M. R. Schroeder, "New Method of Measuring Reverberation
 * Time", JASA 37, 1965, without the background noise.
 *
 * The noise and the knee, at which the decay meets it, are found as by A. Lundeby, T. E. Vigran,
 * H. Bietz and M. Vorlaender, "Uncertainties of Measurements in Room Acoustics", Acustica 81, 1995.
 * Up to the knee the noise is subtracted; beyond it the decay goes on as it came. A response that
 * ends before it meets a floor has no noise, and its knee is its end.
 */
struct room_decay {
    double rate;
    size_t count;     /* frames, from the direct sound on */
    size_t knee;      /* frames; 0: nothing that decays was found, and `energy` is all zero */
    double noise;     /* power */
    double total;     /* energy */
    double *energy;   /* count + 1: what is still to come at a frame; after the knee the tail's */
    const double *in; /* the powers it was made of, `count` */
};

void room_decay_free(struct room_decay *decay);

enum { ROOM_BANDS = 8 };

struct room_band {
    double hz;            /* the middle of the octave; 0: all frequencies */
    double edt, t20, t30; /* seconds */
    double c50, c80;      /* dB: energy before 50, 80 ms to what comes later */
    double d50;           /* share of the energy before 50 ms */
    double drr;           /* dB: energy before 2.5 ms to what comes later */
    double range;         /* dB that the decay falls before it ends or meets the noise */
};

struct room_acoustics {
    size_t onset; /* tap of the direct sound */
    size_t count; /* of bands: those below half the rate; 0 where there is no reverberation */
    struct room_band band[ROOM_BANDS]; /* the first: all frequencies */
};

/* Errors: memory. */
MUST_CHECK enum status room_acoustics_measure(const double *taps, size_t count, uint32_t rate,
                                              struct room_acoustics *room);

/* Whether there is a reverberation: what decays for less than 0.1 s is a filter. */
bool room_acoustics_is_room(const struct room_acoustics *room);

/* The tap of the direct sound; `count` of silence. */
size_t room_acoustics_onset(const double *taps, size_t count);

/* The decay over all frequencies from the direct sound on, which is at tap *onset (0 of silence).
 * decay->in is NULL. Errors: memory. */
MUST_CHECK enum status room_decay_of_taps(struct room_decay *decay, const double *taps,
                                          size_t count, uint32_t rate, size_t *onset);

/* Whether these taps, by their broad decay alone, are a room as above. */
bool room_decay_is_long(const struct room_decay *decay);

#endif
