/* A limiter without latency: no sample exceeds the ceiling.
 *
 * One gain for all channels. If a frame would exceed the ceiling, the gain drops at that frame to
 * where its highest sample meets the ceiling, then returns to 1 exponentially with a time constant
 * of 150 ms. There is no look-ahead: it protects ears and speakers, it is not for mastering.
 * While the gain is 1 and nothing exceeds the ceiling, samples stay unchanged. NaN and infinity
 * become silence. The output does not depend on the block length.
 * Threads: one processes; any may read the reduction. Real-time: all calls.
 */
#ifndef HALO_LIMITER_H
#define HALO_LIMITER_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct limiter {
    size_t channels;
    float ceiling;  /* linear, above 0 */
    double release; /* fraction of the way to 1 per frame */
    double gain;
    _Atomic float gain_shown;
};

/* ceiling: linear, above 0; rate: Hz. Owns no memory. */
void limiter_init(struct limiter *limiter, size_t channels, uint32_t rate, float ceiling);

/* In place. */
void limiter_process(struct limiter *limiter, float *const *planar, size_t frames);

double limiter_reduction(const struct limiter *limiter); /* dB, 0 or more, after the last block */

#endif
