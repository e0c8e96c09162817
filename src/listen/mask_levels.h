/* How loud a region is through each of several masks, which hear it side by side.
 *
 * Masks are routed, have the sound's rate, and the same inputs and outputs. A looping region is
 * measured once round, after as much of what comes before (its end) as the longest mask
 * remembers: the measure holds the whole of a long tail.
 * Threads: one, which makes workers. Not real-time: it filters the region once for each mask.
 */
#ifndef HALO_MASK_LEVELS_H
#define HALO_MASK_LEVELS_H

#include "base/status.h"
#include "mask/mask.h"
#include "signal/audio.h"
#include "sound/region.h"

#include <stdint.h>

struct mask_level {
    double integrated, rms; /* LUFS, dBFS; see loudness.h */
    double peak;            /* linear */
};

/* Sound to measure: a region, or else a block of which the first `before` frames are heard and
 * not measured. */
struct mask_levels_sound {
    struct region *region;
    const struct block *block;
    uint32_t rate; /* of the block */
    size_t before;
};

/* Called between blocks with the frames done, of all masks together. `call` may be NULL. */
struct mask_levels_progress {
    void (*call)(void *context, uint64_t frames, int64_t total);
    void *context;
};

/* Errors: reading, memory, a sound too loud for floating point, a signal. */
MUST_CHECK enum status mask_levels_measure(const struct mask_levels_sound *sound,
                                           const struct mask *const *masks, size_t count,
                                           struct mask_levels_progress progress,
                                           struct mask_level *levels);

#endif
