/* Matches masks in loudness and delay over a region, for comparisons.
 *
 * Delays come first: all masks but the latest are delayed until they line up. Then the sound
 * through each mask is measured, and all but the quietest mask are turned down to its loudness. So
 * gains are 0 dB or less. If a mask would still exceed `ceiling`, all are turned down further. The
 * loudness is that of the sound with these gains, since the meter's gate lies at a fixed level.
 * Through a chain it is measured again with the gains, since stages after the masks may react to
 * the level.
 *
 * Delays are relative to the masks' origins. If a mask's impulse responses correlate with those of
 * the first mask (normalised, 0.5 or more at the best lag), the delay is that lag
 * (mask_delay_between). Otherwise it is the difference of what mask_delay finds for each mask.
 * Sounds that do not correlate so are not aligned. Without `align`, no delay between sounds is found.
 * Masks are routed, and have the sound's rate and the same inputs and outputs.
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

/* Makes the chain that a mask is heard through, if masks are not heard alone. *filter belongs to
 * `context`. Errors: any. */
struct mask_levels_chain {
    enum status (*make)(void *context, size_t choice, const struct mask *mask, size_t block,
                        struct filter **filter);
    void *context;
};

/* The sound to measure with: a region, or a block whose first `before` frames only fill the
 * history. */
struct mask_levels_sound {
    struct region *region;
    /* frames that are heard of the looping region, from its start; 0: without end */
    uint64_t frames;
    const struct block *block;
    uint32_t rate;                  /* rate of `block` */
    size_t before;                  /* frames of `block` that are not measured */
    struct mask_levels_chain chain; /* all zero: masks are heard alone */
    /* The masks select one of several sounds each. These masks hold excerpts of the sounds, and the
     * delays are those between the excerpts. NULL: the delays are those between the masks. */
    const struct mask *const *excerpts;
};

/* A function to call between blocks, with the frames done for all masks together; or NULL. */
struct mask_levels_progress {
    void (*call)(void *context, uint64_t frames, int64_t total);
    void *context;
};

enum level_match_by { LEVEL_MATCH_NONE, LEVEL_MATCH_RMS, LEVEL_MATCH_R128 };

struct level_match_settings {
    enum level_match_by by;
    bool align;
    double ceiling; /* highest peak, linear; 0: no limit */
    struct mask_levels_progress progress;
};

struct level_match {
    /* LUFS before gain_db (LEVEL_MATCH_RMS: dBFS). -infinity: silent, below -100 LUFS; NaN: not
     * measured */
    double loudness;
    double peak; /* linear, of the region through the mask; NaN: not measured */
    double gain_db;
    int64_t later;  /* frames by which the mask is later than the first; may be negative */
    uint64_t shift; /* frames of delay added; 0 without alignment */
    uint64_t zeros; /* taps of silence to insert at the start, for delay and origin */
    size_t origin;  /* common origin of all masks */
};

/* matches[i] is for masks[i]. A silent mask keeps its level. Errors: reading, memory, a sound too
 * loud for floating point, a signal. */
MUST_CHECK enum status level_match_measure(const struct level_match_settings *settings,
                                           const struct mask_levels_sound *sound,
                                           const struct mask *const *masks, size_t count,
                                           struct level_match *matches);

/* Makes a copy of the mask with gain and delay applied. Errors: memory. */
MUST_CHECK enum status level_match_apply(const struct mask *mask, const struct level_match *match,
                                         struct mask **result);

/* Takes a sound as a mask, for `excerpts`: a column and a path for each channel. Errors: memory. */
MUST_CHECK enum status level_match_excerpt(const char *name, uint32_t rate, float *const *planar,
                                           size_t channels, size_t frames, struct mask **result);

/* Writes text such as "B: -3.2 dB, 12.4 ms later, aligned": gain, and delay relative to the first
 * mask. */
void level_match_describe(const struct level_match *match, const char *label, uint32_t rate,
                          bool aligned, char *text, size_t size);

#endif
