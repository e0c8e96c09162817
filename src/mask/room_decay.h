/* The decay of a room's impulse response: M. R. Schroeder, "New Method of Measuring Reverberation
 * Time", JASA 37, 1965, without the background noise.
 *
 * The noise and the knee, at which the decay meets it, are found as by A. Lundeby, T. E. Vigran,
 * H. Bietz and M. Vorlaender, "Uncertainties of Measurements in Room Acoustics", Acustica 81, 1995.
 * Up to the knee the noise is subtracted; beyond it the decay goes on as it came. A response that
 * ends before it meets a floor has no noise, and its knee is its end. Threads: any. Not real-time.
 */
#ifndef HALO_ROOM_DECAY_H
#define HALO_ROOM_DECAY_H

#include "base/status.h"

#include <stdint.h>

struct room_decay {
    double rate;
    size_t count;     /* frames, from the direct sound on */
    size_t knee;      /* frames; 0: nothing that decays was found, and `energy` is all zero */
    double noise;     /* power */
    double total;     /* energy */
    double *energy;   /* count + 1: what is still to come at a frame; after the knee the tail's */
    const double *in; /* the powers it was made of, `count` */
};

/* power[k]: the squared response of a band of `bandwidth` Hz, from the direct sound on; it is used
 * as long as the decay is. before: the energy of what its filter moved before that. Errors: memory.
 */
MUST_CHECK enum status room_decay_init(struct room_decay *decay, const double *power, size_t count,
                                       double before, double bandwidth, uint32_t rate);
void room_decay_free(struct room_decay *decay);

/* dB that it falls until the knee; 0: nothing decays. */
double room_decay_range(const struct room_decay *decay);

/* Seconds in which it would fall by 60 dB, by the straight line that fits between two levels (dB,
 * below 0); NaN unless it can be followed to 10 dB below the lower one (ISO 3382-1). */
double room_decay_time(const struct room_decay *decay, double top, double bottom);

/* The energy from a frame on, of what was recorded there less what is noise. */
double room_decay_excess(const struct room_decay *decay, size_t frame);

#endif
