/* Where the loudspeakers of a layout stand, seen by a listener.
 *
 * Channels in the order of WAV files: FL FR FC LFE BL BR SL SR TFL TFR TBL TBR. Angles by ITU-R
 * BS.2051 and BS.775, in degrees as in SOFA: azimuth from the front to the left, elevation upwards.
 * Threads: any.
 */
#ifndef HALO_SPEAKERS_H
#define HALO_SPEAKERS_H

#include "base/status.h"

#include <stddef.h>

enum { SPEAKERS_MOST = 64 };

struct speaker {
    double azimuth, elevation;
    bool is_low; /* LFE, at the place of the front centre */
};

struct speakers {
    size_t count;
    struct speaker at[SPEAKERS_MOST];
};

/* A name (speakers_names) or a list of azimuths with elevations, 30:-30:110/15:-110/15. Errors
 * (usage): neither, more than SPEAKERS_MOST. */
MUST_CHECK enum status speakers_parse(const char *text, struct speakers *speakers);

/* The usual layout for a number of channels; NULL: none. */
const char *speakers_usual(size_t channels);

#endif
