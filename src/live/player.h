/* Plays a region of a sound in a loop, for a real-time step.
 *
 * A thread reads ahead. The loop has no gap and no crossfade. Frames are the region's, counted from
 * the start of the sound, at its rate.
 * After a seek the step plays on until a tenth of a second from the new position was read, so that
 * nothing is missed. Without data the step plays silence, and counts it; after a read error, a NaN
 * or an infinity the player stays silent. Threads: the step calls player_read (and player_wait if
 * there is no device); any thread player_position and player_missed; one control thread everything
 * else.
 */
#ifndef HALO_PLAYER_H
#define HALO_PLAYER_H

#include "base/status.h"
#include "signal/audio.h"
#include "sound/region.h"

#include <stdint.h>

struct player;

/* Returns once `ahead` seconds were read. The player owns the region, even if this fails. Errors:
 * reading, memory, threads. */
MUST_CHECK enum status player_open(struct region *region, double ahead, struct player **player);
void player_close(struct player *player);

/* Real-time: the next `frames` frames, any number of them. */
void player_read(struct player *player, float *const *planar, size_t frames);

/* Wait until pending seeks are done and `frames` frames (at most `ahead` seconds) are ready, which
 * makes player_read deterministic. Errors: reading failed. */
MUST_CHECK enum status player_wait(struct player *player, size_t frames);

/* Continue at `frame`, limited to the region. */
void player_seek(struct player *player, uint64_t frame);

uint64_t player_position(const struct player *player); /* the next frame */
uint64_t player_missed(const struct player *player);   /* frames replaced by silence */

/* As opened; the sound may end before `to`. */
const struct region *player_region(const struct player *player);

/* The error that silenced the player, returned once; else NULL. */
const char *player_failure(struct player *player);

#endif
