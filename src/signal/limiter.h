/* Keeps every sample at or below a ceiling, without a frame of delay.
 *
 * One gain for all channels. Where a frame would exceed the ceiling the gain drops at once, for
 * that frame already, to where its highest sample meets it; from there it returns to 1
 * exponentially, time constant 150 ms. There is no look-ahead, so a hard hit is cut where it
 * stands: this protects ears and speakers, it does not master.
 * No output is beyond the ceiling by even a rounding. While the gain is 1 and nothing exceeds,
 * no sample changes by a bit. NaN and infinity become silence. The same input gives the same
 * output whatever the length of the blocks.
 * Threads: one processes; any may ask for the reduction. Real-time: all calls.
 */
#ifndef HALO_LIMITER_H
#define HALO_LIMITER_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct limiter {
    size_t channels;
    float ceiling;  /* linear, above 0 */
    double release; /* the part of the way to 1 that a frame goes */
    double gain;
    _Atomic float gain_shown;
};

/* `ceiling` is linear and above 0, `rate` in frames a second. Holds no memory. */
void limiter_init(struct limiter *limiter, size_t channels, uint32_t rate, float ceiling);

/* In place. */
void limiter_process(struct limiter *limiter, float *const *planar, size_t frames);

double limiter_reduction(const struct limiter *limiter); /* dB after the last block, 0 or more */

#endif
