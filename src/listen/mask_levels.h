/* Loudness and peak of a region through each of several masks, in one pass.
 *
 * Masks are routed, have the sound's rate, and the same inputs and outputs. A looping region is
 * measured over one pass, preceded by as much of its end as the longest mask has taps, so that the
 * whole of a long tail counts.
 * Threads: one, which creates workers. Not real-time.
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

/* A region, or else a block whose first `before` frames only fill the masks' history. */
struct mask_levels_sound {
    struct region *region;
    const struct block *block;
    uint32_t rate; /* of the block */
    size_t before;
};

/* Called between blocks with the frames done, for all masks together. `call` may be NULL. */
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
