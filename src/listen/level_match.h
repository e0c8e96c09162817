/* Makes choices fair: equally loud, and equally late, over the region that plays.
 *
 * The louder of two sounds wins, and a jump in time betrays a switch. So every choice but the
 * quietest is turned down, to the loudness of the quietest: nothing is turned up, so gains are 0
 * dB or less. Where a choice would still pass `ceiling`, all are turned down alike. And every
 * choice but the latest is delayed, until all line up.
 *
 * Loudness is that of mask_levels.h: a region's as it loops; of a live input, that of its last
 * seconds.
 * Delays are those after the masks' origins. A choice whose impulse responses are clearly akin to
 * the first's (at the lag where they correlate best, the normalised correlation is 0.5 or more)
 * is lined up with it at that lag, by mask_delay_between; any other by what both
 * masks are late by themselves, mask_delay.
 * Masks are routed, have the sound's rate, and the same inputs and outputs.
 * Threads: one. Not real-time: it takes as long as filtering the region once for each mask.
 */
#ifndef HALO_LEVEL_MATCH_H
#define HALO_LEVEL_MATCH_H

#include "base/status.h"
#include "listen/mask_levels.h"
#include "mask/mask.h"

#include <stdint.h>

enum level_match_by { LEVEL_MATCH_NONE, LEVEL_MATCH_RMS, LEVEL_MATCH_R128 };

struct level_match_settings {
    enum level_match_by by;
    bool align;
    double ceiling; /* linear; 0: none */
    struct mask_levels_progress progress;
};

/* What one choice is and what it gets. */
struct level_match {
    double loudness; /* LUFS, or with MATCH_RMS dBFS; -infinity: silent; NaN: not measured */
    double peak;     /* linear, of the region through the mask; NaN: not measured */
    double gain_db;
    int64_t later;  /* frames, than the first choice; negative: earlier */
    uint64_t shift; /* frames of delay it gets; 0 where nothing is aligned */
    uint64_t zeros; /* taps of silence put before its own, with the origins evened out */
    size_t origin;  /* of all choices from now on */
};

/* The figures of `count` masks, matches[i] of masks[i]. Where a choice is silent its level is
 * left alone. Errors: those of mask_levels_measure. */
MUST_CHECK enum status level_match_measure(const struct level_match_settings *settings,
                                           const struct mask_levels_sound *sound,
                                           const struct mask *const *masks, size_t count,
                                           struct level_match *matches);

/* A copy of the mask with the gain in its taps and its delay before them. All masks of
 * one measurement come out with one origin; taps differ. Errors: memory. */
MUST_CHECK enum status level_match_apply(const struct mask *mask, const struct level_match *match,
                                         struct mask **result);

/* "B: -3.2 dB, 12.4 ms later, aligned": its gain, how late it was against the first choice, and
 * whether that was made good. */
void level_match_describe(const struct level_match *match, const char *label, uint32_t rate,
                          bool aligned, char *text, size_t size);

#endif
