/* A limiter without latency: no sample exceeds the ceiling.
 *
 * It has one gain for all channels. If a frame would exceed the ceiling, the gain drops at that
 * frame, so far that its highest sample meets the ceiling. Then it returns to 1 exponentially, with
 * a time constant of 150 ms. There is no look-ahead. The limiter protects ears and speakers; it is
 * not for mastering. While the gain is 1 and nothing exceeds the ceiling, samples stay unchanged.
 * NaN and infinity become silence. The output does not depend on the block length.
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
    double release; /* part of the way to 1 that the gain returns per frame */
    double gain;
    _Atomic float gain_shown;
};

/* ceiling: linear, above 0; rate: Hz. Owns no memory. */
void limiter_init(struct limiter *limiter, size_t channels, uint32_t rate, float ceiling);

/* Limits `frames` frames, in place. */
void limiter_process(struct limiter *limiter, float *const *planar, size_t frames);

/* The reduction after the last block, in dB; 0 or more. */
double limiter_reduction(const struct limiter *limiter);

#endif
