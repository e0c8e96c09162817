/* A sound that is looped, such as noise behind speech. The frames that are heard are in memory. The
 * i-th frame that is heard is the file's frame (start + i) mod length; frames are counted at the
 * wanted rate. Threads: loaded by one, then read by many. */
#ifndef HALO_LOOPED_SOUND_H
#define HALO_LOOPED_SOUND_H

#include "signal/audio.h"
#include "sound/port.h"

/* Where the loop begins in the file: frames at the wanted rate, seconds, or a share of the file. */
enum looped_unit { LOOPED_FRAMES, LOOPED_SECONDS, LOOPED_SHARE };
struct looped_start {
    double value; /* LOOPED_SHARE: from 0 to 1 */
    enum looped_unit unit;
};

struct looped_settings {
    const char *path;
    bool allow_truncated;
    uint32_t rate;
    struct looped_start start;
    uint64_t wanted; /* number of frames that are heard */
};

/* All zero: no sound. The block holds at most the whole file: frame i is at i mod `frames`. */
struct looped_sound {
    struct block block;
    /* used by the functions _in_double, which leave `block` empty */
    struct block_in_double block_in_double;
    size_t channels, frames; /* size of the block that is used */
    /* first frame of the loop, and length of the file, at the wanted rate */
    uint64_t start, length;
    uint32_t own_rate; /* rate of the file, Hz */
};

/* Errors: those of source_open_sound; the file's length is unknown; the start lies after its end;
 * NaN or infinity; memory. Call looped_sound_free() also after an error. */
MUST_CHECK enum status looped_sound_load(const struct looped_settings *settings,
                                         struct looped_sound *sound);
MUST_CHECK enum status looped_sound_load_in_double(const struct looped_settings *settings,
                                                   struct looped_sound *sound);
void looped_sound_free(struct looped_sound *sound);

/* Sum of squares of a channel over the first `frames` frames that are heard. */
double looped_sound_energy(const struct looped_sound *sound, size_t channel, uint64_t frames);
double looped_sound_energy_in_double(const struct looped_sound *sound, size_t channel,
                                     uint64_t frames);

/* The largest magnitude of all channels. */
double looped_sound_peak(const struct looped_sound *sound);

#endif
