/* Matches masks in loudness and delay over a region, for comparisons.
 *
 * Delays come first: all but the latest are delayed until they line up. Then what is heard is
 * measured, and all but the quietest are turned down to its loudness: gains are 0
 * dB or less. If a mask would still exceed `ceiling`, all are turned down further. Loudness is that
 * of the sound as turned down, since its gate lies at a fixed level; through a chain it is measured
 * again with those gains, since what follows the masks may answer to the level.
 *
 * Delays are relative to the masks' origins: if a mask's impulse
 * responses correlate with the first's (normalised, 0.5 or more at the best lag), it is that lag
 * (mask_delay_between), else the difference of what mask_delay finds for each.
 * Masks are routed, have the sound's rate, and the same inputs and outputs.
 * Threads: one. Not real-time: filters the region once for each mask.
 */
#ifndef HALO_LEVEL_MATCH_H
#define HALO_LEVEL_MATCH_H

#include "base/status.h"
#include "mask/mask.h"
#include "signal/audio.h"
#include "signal/loudness.h"
#include "sound/filter.h"
#include "sound/region.h"

#include <stdint.h>

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

enum level_match_by { LEVEL_MATCH_NONE, LEVEL_MATCH_RMS, LEVEL_MATCH_R128 };

struct level_match_settings {
    enum level_match_by by;
    bool align;
    double ceiling; /* linear; 0: none */
    struct mask_levels_progress progress;
};

struct level_match {
    double loudness; /* at 0 dB: LUFS, or dBFS with LEVEL_MATCH_RMS; -infinity: silent, below -100
                        LUFS; NaN: not measured */
    double peak;     /* linear, of the region through the mask; NaN: not measured */
    double gain_db;
    int64_t later;  /* frames, relative to the first; may be negative */
    uint64_t shift; /* frames of delay added; 0 without alignment */
    uint64_t zeros; /* taps of silence before its own, which also align the origins */
    size_t origin;  /* the same for all masks */
};

/* matches[i] is for masks[i]; a silent mask keeps its level. Errors: reading, memory, a
 * sound too loud for floating point, a signal. */
MUST_CHECK enum status level_match_measure(const struct level_match_settings *settings,
                                           const struct mask_levels_sound *sound,
                                           const struct mask *const *masks, size_t count,
                                           struct level_match *matches);

/* A copy of the mask with gain and delay applied. Errors: memory. */
MUST_CHECK enum status level_match_apply(const struct mask *mask, const struct level_match *match,
                                         struct mask **result);

/* "B: -3.2 dB, 12.4 ms later, aligned": its gain, and its delay relative to the first mask. */
void level_match_describe(const struct level_match *match, const char *label, uint32_t rate,
                          bool aligned, char *text, size_t size);

#endif
