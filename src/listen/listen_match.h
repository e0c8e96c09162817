/* The masks of halo listen and the sound without one, matched in level and delay.
 *
 * If other stages stand beside them, masks are measured through the whole chain. The chain gets
 * matched copies. The originals are kept, since a live input is measured repeatedly,
 * and for plots.
 * Threads: the control thread.
 */
#ifndef HALO_LISTEN_MATCH_H
#define HALO_LISTEN_MATCH_H

#include "listen/level_match.h"
#include "listen/listen_options.h"
#include "live/live_chain.h"
#include "sound/region.h"

#include <jansson.h>

enum { LISTEN_MATCHED_MOST = LISTEN_CHOICES_MOST + 1 /* the dry sound */ };

struct listen_match {
    const struct listen_options *options;
    struct region *region; /* to measure; NULL: a live input, measured later */
    uint64_t frames;       /* of it that are heard; 0: it loops without end */
    uint32_t rate;
    const struct live_chain *chain;
    struct live_chain measured[LISTEN_MATCHED_MOST]; /* copies of it with one mask, to measure */
    size_t count; /* the choices, and the dry sound as the last */
    struct mask *originals[LISTEN_MATCHED_MOST];
    struct level_match matches[LISTEN_MATCHED_MOST];
};

void listen_match_free(struct listen_match *matching);

/* The `adapt` of struct live_chain_request; `context` is the struct listen_match. Notes the result.
 * Errors: those of level_match_measure, memory. */
MUST_CHECK enum status listen_match_adapt(void *context, struct mask **masks, size_t count);

/* Measure a live input; *changed: the gains differ. Too quiet an input changes nothing. Errors:
 * memory. */
MUST_CHECK enum status listen_match_measure(struct listen_match *matching,
                                            const struct mask_levels_sound *sound, bool *changed);

/* A matched copy of a choice. Errors: memory. */
MUST_CHECK enum status listen_match_mask(const struct listen_match *matching, size_t choice,
                                         struct mask **mask);

/* "B: -3.2 dB, 12.4 ms later, aligned (hall.wav)", "dry: ..."; without names in a blind ranking. */
void listen_match_describe(const struct listen_match *matching, size_t choice, char *text,
                           size_t size);

/* All of them on a screen, which has covered what was noted. */
void listen_match_show(const struct listen_match *matching, struct view *view);

/* The matches of the masks; and that of the dry sound, null if it is not matched. */
json_t *listen_match_json(const struct listen_match *matching);
json_t *listen_match_dry_json(const struct listen_match *matching);

#endif
