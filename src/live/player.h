/* Plays a region of a sound in a loop, for a real-time step.
 *
 * A thread reads ahead. The loop has no gap and no crossfade. Positions are frames of the region's
 * rate, counted from the start of the sound.
 * After a seek the old position goes on playing until a tenth of a second from the new position was
 * read. If data comes too late, the step plays silence and counts it. After a read error, a NaN or
 * an infinity the player stays silent. Threads: the step calls player_read (and player_wait if
 * there is no device). Any thread calls player_position and player_missed. One control thread calls
 * everything else. */
#ifndef HALO_PLAYER_H
#define HALO_PLAYER_H

#include "base/status.h"
#include "signal/audio.h"
#include "sound/region.h"

#include <stdint.h>

struct player;

/* Returns when `ahead` seconds have been read. The player owns the region, even if this fails.
 * Errors: reading, memory, threads. */
MUST_CHECK enum status player_open(struct region *region, double ahead, struct player **player);
void player_close(struct player *player);

/* Real-time. Reads the next `frames` frames; any number. */
void player_read(struct player *player, float *const *planar, size_t frames);

/* Wait until pending seeks are done and `frames` frames (at most `ahead` seconds) are ready. Then
 * player_read is deterministic. Errors: reading failed. */
MUST_CHECK enum status player_wait(struct player *player, size_t frames);

/* Continue at `frame`, or at the nearest frame of the loop. */
void player_seek(struct player *player, uint64_t frame);

/* Repeat the frames from `from` to before `to`, which lie in the region; from < to. Continues as
 * after a seek, at the present frame or at `from` if that lies outside. At first the loop is the
 * whole region. */
void player_loop(struct player *player, uint64_t from, uint64_t to);
void player_loop_ends(const struct player *player, uint64_t *from, uint64_t *to);

uint64_t player_position(const struct player *player); /* frame that is played next */
uint64_t player_missed(const struct player *player);   /* frames replaced by silence */

/* The region as it was opened. The sound may end before region->to. */
const struct region *player_region(const struct player *player);

/* The error that silenced the player. Each error is returned once; else NULL. */
const char *player_failure(struct player *player);

#endif
