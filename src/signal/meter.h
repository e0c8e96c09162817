/* Shows how loud the sound is that passes: peak, RMS, a held peak and clips of each channel.
 *
 * Levels are linear, 1 being full scale. Peak: the highest magnitude since the reading before.
 * RMS: the root of an exponential average of the squares, time constant 300 ms (a steady sine
 * of amplitude 1 shows 0.707). Hold: the highest magnitude, kept 1.5 s, then falling by 20 dB a
 * second. A clip is a run of samples of one channel beyond -1..1: it counts once however long
 * it is. Samples that are NaN or infinite are counted as bad and otherwise taken for silence.
 * Threads: one processes, another reads; the figures of one reading may lie a block apart.
 */
#ifndef HALO_METER_H
#define HALO_METER_H

#include "base/status.h"

#include <stdint.h>

struct meter;

struct meter_reading {
    float peak, rms, hold;
    uint64_t clips, bad; /* since the meter was created */
};

/* `rate` in frames a second. Errors: memory. */
MUST_CHECK enum status meter_create(size_t channels, uint32_t rate, struct meter **meter);
void meter_destroy(struct meter *meter);

/* Real-time. Blocks of any length, and of changing ones. */
void meter_process(struct meter *meter, const float *const *planar, size_t frames);

/* readings[c] of each channel; begins the next peak. */
void meter_read(struct meter *meter, struct meter_reading *readings);

#endif
