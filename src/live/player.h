/* Plays a region of a sound, over and over, into a real-time step.
 *
 * A thread of its own reads ahead; the step takes what is there. The region's last frame is
 * followed by its first one, with nothing between or blended. Frames are the region's: at its
 * rate, counted from the first of the sound.
 * A seek is made ready before it happens: the step plays on until the first tenth of a second
 * from the new place is read, then goes there with its next block, so that what was read ahead
 * delays nothing and nothing is missed. Where the step finds nothing to play it plays silence
 * and counts that.
 * Where reading fails, or the sound holds a NaN or an infinity, the player falls silent.
 * Threads: the step calls player_read (and who renders without a device player_wait, from the
 * same thread); any thread player_position and player_missed; one control thread all else.
 */
#ifndef HALO_PLAYER_H
#define HALO_PLAYER_H

#include "base/status.h"
#include "signal/audio.h"
#include "sound/region.h"

#include <stdint.h>

struct player;

/* Reads `ahead` seconds ahead, and has done so on return. The region is the player's from here
 * on, to close too, also when opening fails. Errors: those of reading, memory, threads. */
MUST_CHECK enum status player_open(struct region *region, double ahead, struct player **player);
void player_close(struct player *player);

/* Real-time: the next `frames` frames, any number of them. */
void player_read(struct player *player, float *const *planar, size_t frames);

/* Wait until seeks have happened and `frames` frames lie ready, `ahead` seconds at most: the
 * next player_read of as many then gives the same frames every time. Errors: reading failed. */
MUST_CHECK enum status player_wait(struct player *player, size_t frames);

/* Go on from `frame`, or from the region's nearest one. */
void player_seek(struct player *player, uint64_t frame);

uint64_t player_position(const struct player *player); /* the frame played next */
uint64_t player_missed(const struct player *player);   /* frames that were silence instead */

/* What the region was when it was opened; the sound may turn out to end before its `to`. */
const struct region *player_region(const struct player *player);

/* Why the player fell silent: on the first call after that, then and until that NULL. */
const char *player_failure(struct player *player);

#endif
