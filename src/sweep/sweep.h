/* Synchronised exponential sweeps: sin(2 pi from span (exp(t / span) - 1)), with a whole number of
 * cycles in `from * span`. Then harmonic n of a distortion is a copy of the sweep that comes
 * span ln(n) earlier. Sources: A. Farina, "Simultaneous measurement of impulse response and
 * distortion with a swept-sine technique", AES 108, 2000; A. Novak, P. Lotton, L. Simon,
 * "Synchronized Swept-Sine: Theory, Application, and Implementation", JAES 63, 2015.
 *
 * Units: Hz, seconds. Threads: any. Not real-time. */
#ifndef HALO_SWEEP_H
#define HALO_SWEEP_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

struct sweep {
    uint32_t rate;
    double from, to;
    double span;    /* the frequency rises by e in that time */
    double seconds; /* rounded length */
    size_t frames;
};

/* `seconds` is rounded so that the sweep is synchronised. Errors (usage): frequencies that do not
 * rise or exceed half the rate, a sweep of less than a cycle. */
MUST_CHECK enum status sweep_init(struct sweep *sweep, double seconds, double from, double to,
                                  uint32_t rate);

/* The sweep as a recorder sees it whose clock is `stretch` times as fast as the player's. Its peak
 * is 1, its end is faded. `samples` has room for sweep_frames. */
size_t sweep_frames(const struct sweep *sweep, double stretch);
void sweep_fill(const struct sweep *sweep, double stretch, double *samples);

/* Where a sweep ends unless the user says so: 0.9 of half the rate, at most 22 kHz. */
double sweep_usual_end(uint32_t rate);

/* The time by which a harmonic comes earlier than the fundamental, in seconds. */
double sweep_advance(const struct sweep *sweep, size_t harmonic);

#endif
