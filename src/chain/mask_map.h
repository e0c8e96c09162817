/* The option map=IN:TAP[+TAP...],... of a mask: channels of the sound through channels of the mask,
 * by name.
 *
 *   map=FL:FL,FR:FR,C:L+R      the sound's centre through the sum of the mask's left and right
 *
 * IN and TAP are positions that the layout of the sound and of the mask's file have
 * (signal/channel_layout.h), or numbers from 1. What comes out is of the channel IN; channels of
 * the sound that are not named come out unchanged, at time zero of the mask. Threads: any. Not
 * real-time.
 */
#ifndef HALO_MASK_MAP_H
#define HALO_MASK_MAP_H

#include "mask/mask.h"
#include "signal/audio.h"

enum { MASK_MAP_PAIRS_MOST = 64 };

/* The words of a spec, each with a pair or several between commas; not owned. */
struct mask_map_pairs {
    size_t count;
    const char *pairs[MASK_MAP_PAIRS_MOST];
};

/* Whether a word can be one of them: it has a colon, and is no option with a value. */
bool mask_map_is_pair(const char *word);

/* Errors (usage): no such form, too many. */
MUST_CHECK enum status mask_map_add(struct mask_map_pairs *map, const char *word);

/* The fewest channels that have all names, for a mask that is inspected without a sound. */
void mask_map_guess_sound(const struct mask_map_pairs *map, struct stream_format *sound);

/* Give the mask its paths for a sound of `format`, but for those of channels that are not named.
 * Errors: names or numbers that the sound or the mask lack, one of the sound's twice, memory. */
MUST_CHECK enum status mask_map_route(const struct mask_map_pairs *map,
                                      const struct stream_format *format, struct mask *mask);

/* Let the sound's other channels through unchanged; after the mask is scaled. Errors: memory. */
MUST_CHECK enum status mask_map_pass(const struct stream_format *format, struct mask *mask);

#endif
