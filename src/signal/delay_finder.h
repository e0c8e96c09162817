/* Finds by how many frames one signal follows another, from windows of both.
 *
 * It uses the phase transform (generalised cross-correlation with unit magnitudes). Each frequency
 * counts the same, so tones and bass count no more than their bins. Frequencies 100 dB below the
 * loudest one count as silence. Windows overlap by half. Block b of the lags has lags from (b -
 * 1/2) to (b + 1/2) times half a window. Source: C. Knapp and G. Carter, "The generalized
 * correlation method for estimation of time delay", IEEE Trans. ASSP 24(4), 1976. Threads: one.
 * Real-time: all but create and destroy.
 */
#ifndef HALO_DELAY_FINDER_H
#define HALO_DELAY_FINDER_H

#include "base/status.h"

struct delay_finder;

struct delay_found {
    double likeness; /* share of the frequencies that agree with the delay, 0 to 1 */
    size_t frames;   /* the delay in frames */
};

/* `window`: frames, a power of two. Each scales earlier ones by `decay`, 0 to 1. Errors: memory. */
MUST_CHECK enum status delay_finder_create(size_t window, size_t blocks, float decay,
                                           struct delay_finder **finder);
void delay_finder_destroy(struct delay_finder *finder);
void delay_finder_reset(struct delay_finder *finder);

/* Adds a window of reference and signal (NULL: none). Costs two FFTs and `blocks` products. */
void delay_finder_write(struct delay_finder *finder, const float *reference, const float *signal);

/* Searches `count` more blocks for delays of at least `least` frames, with an FFT for each block.
 * True: all blocks were searched since the last comparison, and *best is set: the shortest delay
 * with a third of the highest likeness or more, since a looped sound is the same each round. */
bool delay_finder_search(struct delay_finder *finder, size_t least, size_t count,
                         struct delay_found *best);

#endif
