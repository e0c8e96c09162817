/* Values of stages that are drawn at random, so that every program can draw them again:
 *
 *   --mask room.wav,gain=-6..0      --gain -6..0      --noise street.wav,snr=5..20
 *
 * A range A..B is replaced by A + u (B - A), rounded to three decimals; start= of noise, unless it
 * says where, by 100 u percent, rounded to nine. u is the upper 53 bits of SplitMix64 as a
 * fraction, its first output from the state that is the FNV-1a sum, of 64 bits, of the text
 * "SEED\nID\nSTAGE\nKEY": stages are numbered from 1, and KEY is gain, snr or start.
 */
#ifndef HALO_STAGE_DRAW_H
#define HALO_STAGE_DRAW_H

#include "base/status.h"

#include <jansson.h>
#include <stdint.h>

struct stage_list;

/* A key of a kind of stage whose value may be a range. */
struct stage_draw {
    const char *key; /* "gain=", or "": the value of the stage; NULL: the end */
    bool is_share;   /* a share of something, always drawn unless it is given */
};

/* Replace what is to be drawn in the specs of all stages, before they are loaded. Errors (usage):
 * no range; memory. */
MUST_CHECK enum status stage_list_draw(struct stage_list *list, uint64_t seed, const char *id);

/* The stages with what was drawn, as in a job of halo batch: [{"mask": "room.wav,gain=-3.142"}].
 * NULL: memory. */
json_t *stage_list_texts(const struct stage_list *list);

/* The same; NULL also: nothing was drawn. */
json_t *stage_list_drawn(const struct stage_list *list);

#endif
