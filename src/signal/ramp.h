/* A gain that changes along a straight line: fades, mutes and gain changes without a click.
 *
 * The gain (linear) goes in equal steps from frame to frame; frame k of a ramp of n frames has
 * from + (to - from) * k / n, and the frame after its last has exactly `to`. The same frames
 * come out whatever the length of the blocks. At rest at 1 no sample changes by a bit; at rest
 * at 0 all becomes silence, NaN too.
 * Threads: all calls belong to one, or come before its first. Real-time.
 */
#ifndef HALO_RAMP_H
#define HALO_RAMP_H

#include <stddef.h>

struct ramp {
    float from, to;
    size_t at, frames; /* at == frames: at rest at `to` */
};

void ramp_init(struct ramp *ramp, float gain);

/* Go from where the gain is now to `target` over `frames` frames; 0: at once. On the way to
 * that target already, or there: nothing changes, so that a step may ask again each block. */
void ramp_set(struct ramp *ramp, float target, size_t frames);

float ramp_gain(const struct ramp *ramp); /* of the next frame */

/* Scale the next `frames` frames of all channels, in place. */
void ramp_process(struct ramp *ramp, size_t channels, float *const *planar, size_t frames);

#endif
