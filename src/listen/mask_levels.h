/* Loudness and peak of a region through each of several masks, in one pass.
 *
 * Masks are routed, have the sound's rate, and the same inputs, outputs and origin: delays are to
 * be matched before, or the meters would read other stretches of the sound. Measured is what is
 * heard. A region that loops: LOOPED_SECONDS or more of whole passes, as they sound once the
 * longest mask's tail has come round, so that blocks of loudness lie anywhere in the loop. A part
 * that is written once: that very part, with silence before. Threads: one, which creates workers.
 * Not real-time.
 */
#ifndef HALO_MASK_LEVELS_H
#define HALO_MASK_LEVELS_H

#include "base/status.h"
#include "mask/mask.h"
#include "signal/audio.h"
#include "signal/loudness.h"
#include "sound/filter.h"
#include "sound/region.h"

#include <stdint.h>

enum { LOOPED_SECONDS = 30 };

struct mask_level {
    struct loudness *meter;
    double peak; /* linear */
};

/* What masks are heard through, if not alone: a chain with one of them, whose filter is the
 * maker's. Errors: the maker's. */
struct mask_levels_chain {
    enum status (*make)(void *context, size_t choice, const struct mask *mask, size_t block,
                        struct filter **filter);
    void *context;
};

/* A region, or else a block whose first `before` frames only fill the history. */
struct mask_levels_sound {
    struct region *region;
    uint64_t frames; /* of the looping region, that are heard from its start on; 0: without end */
    const struct block *block;
    uint32_t rate; /* of the block */
    size_t before;
    struct mask_levels_chain chain; /* all zero: none */
};

/* Called between blocks with the frames done, for all masks together. `call` may be NULL. */
struct mask_levels_progress {
    void (*call)(void *context, uint64_t frames, int64_t total);
    void *context;
};

/* Free the meters in any case. Errors: reading, memory, a sound too loud for floating point, a
 * signal. */
MUST_CHECK enum status mask_levels_measure(const struct mask_levels_sound *sound,
                                           const struct mask *const *masks, size_t count,
                                           struct mask_levels_progress progress,
                                           struct mask_level *levels);
void mask_levels_free(struct mask_level *levels, size_t count);

#endif
