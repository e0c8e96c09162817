/* The masks of halo listen, and the sound without a mask, matched in level and delay.
 *
 * If the chain has other stages, masks are measured through the whole chain. The chain gets matched
 * copies of the masks. The originals are kept for plots, and since a live input is measured
 * repeatedly.
 * Threads: the control thread.
 */
#ifndef HALO_LISTEN_MATCH_H
#define HALO_LISTEN_MATCH_H

#include "listen/level_match.h"
#include "listen/listen_options.h"
#include "live/live_chain.h"
#include "sound/region.h"

#include <jansson.h>

enum { LISTEN_MATCHED_MOST = LISTEN_CHOICES_MOST + 1 /* one more for the dry sound */ };

struct listen_match {
    const struct listen_options *options;
    struct region *region; /* region to measure; NULL: a live input, which is measured later */
    uint64_t frames;       /* frames of the region that are heard; 0: it loops without end */
    uint32_t rate;
    struct live_chain_sound sounds[LISTEN_CHOICES_MOST]; /* the sounds to choose from */
    const struct live_chain *chain;
    /* copies of `chain` with one mask each, to measure */
    struct live_chain measured[LISTEN_MATCHED_MOST];
    size_t count; /* number of choices, with the dry sound as the last */
    struct mask *originals[LISTEN_MATCHED_MOST];
    struct level_match matches[LISTEN_MATCHED_MOST];
};

void listen_match_free(struct listen_match *matching);

/* Gives the request the sounds to choose from, and tells their rates and lengths. Nothing if masks
 * are chosen. */
void listen_match_sounds(struct listen_match *matching, struct live_chain_request *request);

/* Matches masks: the `adapt` of struct live_chain_request. `context` is the struct listen_match.
 * Prints the result as notes. Errors: those of level_match_measure, memory. */
MUST_CHECK enum status listen_match_adapt(void *context, struct mask **masks, size_t count);

/* Measures a live input. *changed: the gains have changed. If the input is too quiet, nothing
 * changes. Errors: memory. */
MUST_CHECK enum status listen_match_measure(struct listen_match *matching,
                                            const struct mask_levels_sound *sound, bool *changed);

/* Makes a matched copy of a choice. Errors: memory. */
MUST_CHECK enum status listen_match_mask(const struct listen_match *matching, size_t choice,
                                         struct mask **mask);

/* Writes "B: -3.2 dB, 12.4 ms later, aligned (hall.wav)" or "dry: ...". If letters do not
 * stand for fixed choices, names are left out. */
void listen_match_describe(const struct listen_match *matching, size_t choice, char *text,
                           size_t size);

/* Shows all matches as messages of the view, which has covered the notes. */
void listen_match_show(const struct listen_match *matching, struct view *view);

/* JSON of the matches of the masks, and of the dry sound's match. The latter is null if it is not
 * matched. */
json_t *listen_match_json(const struct listen_match *matching);
json_t *listen_match_dry_json(const struct listen_match *matching);

#endif
