/* A level meter: peak, RMS, held peak and clips of each channel.
 *
 * Levels are linear; 1 is full scale. Peak: the highest magnitude since the last reading. RMS: the
 * root of an exponential average of the squares, with a time constant of 300 ms (a steady sine of
 * amplitude 1 shows 0.707). Hold: the highest magnitude, kept for 1.5 s, then falling by 20 dB per
 * second. A run of samples of one channel beyond -1..1 is one clip. In a meter that counts flat
 * tops, three or more equal samples in a row at full scale, 32767/32768 or more, are a clip, too,
 * since converters and integer files cannot hold more. (In 16 bits, a full-scale sine below about
 * 40 Hz has such tops, too.) NaN and infinity count as bad, otherwise as silence.
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

/* Measures a block, whose length may vary. Real-time. */
void meter_process(struct meter *meter, const float *const *planar, size_t frames);

/* Fills readings[c] for each channel, and resets the peaks but not the holds. */
void meter_read(struct meter *meter, struct meter_reading *readings);

#endif
