/* Early reflections in a room's impulse response: peaks of its energy-time curve, which is the
 * energy within about a millisecond. The level of a reflection is its energy relative to that of
 * the direct sound. Threads: any. Not real-time. */
#ifndef HALO_REFLECTIONS_H
#define HALO_REFLECTIONS_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

enum { REFLECTIONS_MOST = 6 };

/* Metres a second, at 20 degrees Celsius. */
#define SPEED_OF_SOUND 343.2

struct reflection {
    double seconds; /* after the direct sound */
    double db;      /* relative to the direct sound */
};

struct reflections {
    size_t count;
    struct reflection of[REFLECTIONS_MOST]; /* the strongest, by time */
};

/* `onset`: tap of the direct sound. Finds peaks from 1 to 50 ms after it and above -20 dB that
 * stand out from what is around them. Errors: memory. */
MUST_CHECK enum status reflections_find(const double *taps, size_t count, uint32_t rate,
                                        size_t onset, struct reflections *reflections);

#endif
