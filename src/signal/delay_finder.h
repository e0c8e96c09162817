/* Finds by how many frames one signal follows another, from windows of both.
 *
 * The phase transform (generalised cross-correlation with unit magnitudes): each frequency counts
 * alike, so that tones and bass say no more than their bins; those 100 dB below the loudest one are
 * silence. Windows overlap by half. Block b of
 * the lags has those from (b - 1/2) to (b + 1/2) of half a window. Source: C. Knapp and G. Carter,
 * "The generalized correlation method for estimation of time delay", IEEE Trans. ASSP 24(4), 1976.
 * Threads: one. Real-time: all but create and destroy.
 */
#ifndef HALO_DELAY_FINDER_H
#define HALO_DELAY_FINDER_H

#include "base/status.h"

struct delay_finder;

struct delay_found {
    double likeness; /* 0 to 1: of all frequencies, how many agree */
    size_t frames;   /* the delay */
};

/* `window`: frames, a power of two. `decay`: what a window counts after the next one, 0 to 1.
 * Errors: memory. */
MUST_CHECK enum status delay_finder_create(size_t window, size_t blocks, float decay,
                                           struct delay_finder **finder);
void delay_finder_destroy(struct delay_finder *finder);
void delay_finder_reset(struct delay_finder *finder);

/* The next window of the reference, and of the signal (NULL: not compared). Costs two FFTs and a
 * product for each block. */
void delay_finder_write(struct delay_finder *finder, const float *reference, const float *signal);

/* Search `count` more blocks for delays of `least` frames or more, an FFT each. True: all were
 * searched since the last comparison, and *best is set: to the shortest delay of about a third of
 * the highest likeness or more, since what goes round in a loop is alike after each round. */
bool delay_finder_search(struct delay_finder *finder, size_t least, size_t count,
                         struct delay_found *best);

#endif
