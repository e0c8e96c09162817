/* Draws values of stages at random, by a rule that any other program can follow:
 *
 *   --mask room.wav,gain=-6..0      --gain -6..0      --noise street.wav,snr=5..20
 *
 * A range A..B becomes A + u (B - A), rounded to three decimals. If noise has no start=, it gets
 * 100 u percent, rounded to nine decimals. u is the upper 53 bits of the first output of
 * SplitMix64, as a fraction. Its state is the 64-bit FNV-1a sum of the text "SEED\nID\nSTAGE\nKEY".
 * Stages are numbered from 1, and KEY is gain, snr or start. */
#ifndef HALO_STAGE_DRAW_H
#define HALO_STAGE_DRAW_H

#include "base/status.h"

#include <jansson.h>
#include <stdint.h>

struct stage_list;

/* A key of a kind of stage, whose value may be a range. */
struct stage_draw {
    const char *key; /* "gain="; "": the value of the stage itself; NULL: end of the list */
    bool is_share;   /* the value is a share, drawn unless the spec gives it */
};

/* Draw all values in specs, before stages are loaded. Errors (usage): an invalid range; memory. */
MUST_CHECK enum status stage_list_draw(struct stage_list *list, uint64_t seed, const char *id);

/* The drawn stages as in a job of halo batch: [{"mask": "room.wav,gain=-3.142"}]. NULL: memory. */
json_t *stage_list_texts(const struct stage_list *list);

/* stage_list_texts(), but NULL if nothing was drawn. */
json_t *stage_list_drawn(const struct stage_list *list);

#endif
