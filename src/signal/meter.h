/* A level meter: peak, RMS, held peak and clips of each channel.
 *
 * Levels are linear, 1 being full scale. Peak: the highest magnitude since the previous reading.
 * RMS: the root of an exponential average of the squares, time constant 300 ms (a steady sine
 * of amplitude 1 shows 0.707). Hold: the highest magnitude, kept for 1.5 s, then falling by 20 dB
 * per second. A run of samples of one channel beyond -1..1 counts as one clip; in a meter that
 * counts flat tops, so do three or more equal ones in a row at full scale, 32767/32768 or more: a
 * converter and an integer file hold nothing beyond. (16 bits of a sine at full scale below about
 * 40 Hz have such tops, too.) NaN and infinity count as bad, otherwise as silence.
 * Threads: one processes, another reads; the values of one reading may be one block apart.
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

/* rate: Hz. Errors: memory. */
MUST_CHECK enum status meter_create(size_t channels, uint32_t rate, bool counts_flat_tops,
                                    struct meter **meter);
void meter_destroy(struct meter *meter);

/* Real-time. The block length may vary. */
void meter_process(struct meter *meter, const float *const *planar, size_t frames);

/* Fill readings[c] for each channel; resets the peak. */
void meter_read(struct meter *meter, struct meter_reading *readings);

#endif
