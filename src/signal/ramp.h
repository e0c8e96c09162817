/* A linear gain ramp: fades, mutes and gain changes without clicks.
 *
 * Frame k of a ramp of n frames has the gain from + (to - from) * k / n. Frames after the ramp have
 * exactly the gain `to`. The output does not depend on the block length. A constant gain of 1
 * leaves samples unchanged. A constant gain of 0 gives silence, even from NaN.
 * Threads: one. Real-time.
 */
#ifndef HALO_RAMP_H
#define HALO_RAMP_H

#include "signal/real.h"

#include <stddef.h>

#define ramp_init REAL(ramp_init)
#define ramp_set REAL(ramp_set)
#define ramp_gain REAL(ramp_gain)
#define ramp_process REAL(ramp_process)

struct ramp {
    real from, to;
    size_t at, frames; /* at == frames: constant at `to` */
};

void ramp_init(struct ramp *ramp, real gain);

/* Ramps from the current gain to a new `target` in `frames` frames; 0: at once. */
void ramp_set(struct ramp *ramp, real target, size_t frames);

real ramp_gain(const struct ramp *ramp); /* gain of the next frame */

/* Scales the next `frames` frames of all channels, in place. */
void ramp_process(struct ramp *ramp, size_t channels, real *const *planar, size_t frames);

#endif
