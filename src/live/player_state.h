/* A player's state, shared by player.c (control and thread) and player_step.c alone.
 *
 * Sound lies in slots, which pass by number from the thread to the step when they are full and
 * back when they are done with. Slots of a seek carry its number; the step gives those before
 * `current` back unplayed.
 */
#ifndef HALO_PLAYER_STATE_H
#define HALO_PLAYER_STATE_H

#include "base/ring.h"
#include "live/player.h"

#include <pthread.h>
#include <stdatomic.h>

enum { PLAYER_SLOT = 512 }; /* frames */

struct player_slot {
    struct block block;
    uint64_t seek;
    uint64_t position; /* of its first frame */
    uint64_t to;       /* where the region ends, as far as known then */
};

struct player {
    struct region *region;
    uint64_t from, to; /* `to` as opened */
    size_t slot_count;
    size_t reserve; /* slots that only a seek takes */
    struct player_slot *slots;
    struct ring *full, *empty; /* of slots' numbers, size_t */

    atomic_uint_fast64_t asked;   /* seeks so far; written under the lock */
    atomic_uint_fast64_t current; /* the seek that sounds */
    atomic_uint_fast64_t position, missed;
    atomic_bool failed;

    /* The step's. */
    struct player_slot *slot; /* at work, or NULL */
    size_t played;            /* of it */

    /* The thread's. */
    uint64_t seek;
    uint64_t end;  /* of the region, as far as known */
    uint64_t next; /* frame to read */

    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock;
    pthread_cond_t wake, filled;
    uint64_t target; /* lock: of the seek asked for */
    bool hungry;     /* lock: somebody waits for `filled` */
    bool leave;      /* lock */

    char failure[512]; /* written before `failed` is set */
    bool reported;     /* the control thread's */
};

/* Real-time, the step's: go to the seek that sounds. Returns the frames that lie ready. */
size_t player_ready(struct player *player);

#endif
