/* A sound that is repeated for as long as it is wanted, such as the noise behind speech: what is
 * heard of it, in memory. Frame i of what is heard is frame (start + i) mod length of the file, at
 * the rate that is wanted. Threads: loaded by one, then read by many.
 */
#ifndef HALO_LOOPED_SOUND_H
#define HALO_LOOPED_SOUND_H

#include "signal/audio.h"
#include "sound/port.h"

/* Where it begins: a share of its length, or frames of the wanted rate, or seconds. */
enum looped_unit { LOOPED_FRAMES, LOOPED_SECONDS, LOOPED_SHARE };
struct looped_start {
    double value; /* a share: from 0 to 1 */
    enum looped_unit unit;
};

struct looped_settings {
    const char *path;
    bool allow_truncated;
    uint32_t rate;
    struct looped_start start;
    uint64_t wanted; /* frames that are heard */
};

/* All zero: nothing. A block holds at most the whole file: frame i is at i mod its frames. */
struct looped_sound {
    struct block block;
    struct block_in_double block_in_double; /* or instead */
    size_t channels, frames;                /* of either */
    uint64_t start, length;                 /* frames of the file at the wanted rate */
    uint32_t own_rate;                      /* of the file */
};

/* Errors: as source_open_sound; its length is unknown; it starts after its end; NaN or infinity;
 * memory. To be freed in any case. */
MUST_CHECK enum status looped_sound_load(const struct looped_settings *settings,
                                         struct looped_sound *sound);
MUST_CHECK enum status looped_sound_load_in_double(const struct looped_settings *settings,
                                                   struct looped_sound *sound);
void looped_sound_free(struct looped_sound *sound);

/* Sum of squares of the first `frames` that are heard of a channel. */
double looped_sound_energy(const struct looped_sound *sound, size_t channel, uint64_t frames);
double looped_sound_energy_in_double(const struct looped_sound *sound, size_t channel,
                                     uint64_t frames);

/* Of all channels. */
double looped_sound_peak(const struct looped_sound *sound);

#endif
