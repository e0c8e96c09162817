/* The delay at which a subwoofer adds to the other loudspeakers: the maximum of the
 * cross-correlation of their corrected responses, over all positions. The frequencies that both play
 * count, which are those about the crossover. The peaks of the responses do not tell it: the rise of
 * a subwoofer takes milliseconds. Threads: any. Not real-time. */
#ifndef HALO_ALIGN_BASS_H
#define HALO_ALIGN_BASS_H

#include "base/status.h"

#include <stddef.h>

/* A response with its filter, later by `delay` frames. */
struct bass_path {
    size_t position; /* number of the place, from 0 */
    const double *taps, *filter;
    size_t tap_count, filter_count;
    ptrdiff_t delay;
};

struct bass_search {
    const struct bass_path *paths; /* paths of the other loudspeakers, at all positions */
    size_t path_count;
    const struct bass_path *bass; /* paths of the subwoofer: one for each position, without delay */
    size_t positions;
    const double *weights; /* weight of each position */
    ptrdiff_t from, to;    /* the delays that come into question */
};

/* *inverted: with the other sign, the subwoofer would add clearly better. Errors: memory. */
MUST_CHECK enum status align_bass(const struct bass_search *search, ptrdiff_t *delay,
                                  bool *inverted);

#endif
