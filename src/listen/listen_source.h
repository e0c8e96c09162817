/* What halo listen feeds the live step with: a player, or a device's input, whose last seconds
 * are kept so that they can be measured.
 * Threads: the control thread; listen_source_step is the device's and real-time.
 */
#ifndef HALO_LISTEN_SOURCE_H
#define HALO_LISTEN_SOURCE_H

#include "base/ring.h"
#include "live/live.h"
#include "live/player.h"

struct listen_source {
    struct player *player; /* not owned; NULL: the device's input */
    struct live *live;
    struct block played;
    size_t channels;
    struct ring *tap;    /* of the input: frames, channel beside channel */
    struct block recent; /* the last of them, round and round */
    uint64_t taken;      /* frames that came into it */
};

/* `recent` frames of an input are kept. Errors: memory. */
MUST_CHECK enum status listen_source_init(struct listen_source *source, struct player *player,
                                          struct live *live, size_t channels, size_t recent);
void listen_source_free(struct listen_source *source);

/* A device_step; `context` is the struct listen_source. */
void listen_source_step(void *context, const float *const *in, float *const *out, size_t frames,
                        bool lost);

/* Take over what came in; to be called a few times a second at least. */
void listen_source_update(struct listen_source *source);

/* The last frames of the input, in order. False: there are not as many yet. */
bool listen_source_recent(const struct listen_source *source, struct block *block);

#endif
