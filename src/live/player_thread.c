/* The player's own thread: from the region into slots. */
#include "base/monotonic.h"
#include "live/player_state.h"

#include <time.h>

enum { LOOK_MS = 10 }; /* between looks at the empty slots */

/* The sound has ended before the region's end: that is where it ends from now on. */
static enum status end_early(struct player *player)
{
    if (player->next == player->from)
        return fail(STATUS_FAILED, "cannot play %s: it ends before frame %llu",
                    player->region->name, (unsigned long long)player->from);
    player->end = player->next;
    return STATUS_OK;
}

/* Read on, from the region's start where it has ended. */
static enum status read_some(struct player *player, float *const *planar, size_t frames,
                             size_t *got)
{
    enum status status = STATUS_OK;
    if (player->next >= player->end) {
        player->next = player->from;
        status = region_seek(player->region, player->next);
    }
    uint64_t left = player->end - player->next;
    size_t part = frames < left ? frames : (size_t)left;
    if (status == STATUS_OK)
        status = region_read(player->region, planar, part, got);
    if (status != STATUS_OK)
        return status;
    player->next += *got;
    return *got < part ? end_early(player) : STATUS_OK;
}

static enum status fill_slot(struct player *player, struct player_slot *slot)
{
    size_t channels = player->region->format.channels, got = 0;
    float *at[channels];
    enum status status = STATUS_OK;
    slot->seek = player->seek;
    slot->position = player->next < player->end ? player->next : player->from;
    for (size_t done = 0; done < PLAYER_SLOT && status == STATUS_OK; done += got) {
        for (size_t c = 0; c < channels; c++)
            at[c] = slot->block.data[c] + done;
        got = 0;
        status = read_some(player, at, PLAYER_SLOT - done, &got);
    }
    slot->to = player->end;
    return status;
}

/* Fill up to `most` slots, but leave `reserve` empty; a new seek comes first. */
static enum status fill(struct player *player, size_t most, size_t reserve)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < most && status == STATUS_OK; i++) {
        size_t number;
        if (atomic_load(&player->asked) != player->seek ||
            ring_readable(player->empty) <= reserve || ring_read(player->empty, &number, 1) == 0)
            break;
        status = fill_slot(player, &player->slots[number]);
        if (status == STATUS_OK)
            ring_write(player->full, &number, 1);
    }
    return status;
}

/* The step is still at the seek before, which the other slots belong to. */
static enum status begin_seek(struct player *player, uint64_t seek, uint64_t target)
{
    player->seek = seek;
    player->next = target < player->end ? target : player->end - 1;
    enum status status = region_seek(player->region, player->next);
    if (status == STATUS_OK)
        status = fill(player, player->reserve, 0);
    if (status == STATUS_OK)
        atomic_store_explicit(&player->current, seek, memory_order_release);
    return status;
}

static void work(struct player *player, uint64_t seek, uint64_t target)
{
    enum status status = STATUS_OK;
    if (atomic_load(&player->failed))
        return;
    if (seek != player->seek)
        status = begin_seek(player, seek, target);
    if (status == STATUS_OK)
        status = fill(player, player->slot_count, player->reserve);
    if (status != STATUS_OK)
        atomic_store(&player->failed, true);
}

void *player_main(void *argument)
{
    struct player *player = argument;
    log_capture(player->failure, sizeof player->failure);
    pthread_mutex_lock(&player->lock);
    while (!player->leave) {
        uint64_t seek = atomic_load(&player->asked), target = player->target;
        player->hungry = false;
        pthread_mutex_unlock(&player->lock);
        work(player, seek, target);
        pthread_mutex_lock(&player->lock);
        pthread_cond_signal(&player->filled);
        struct timespec until = monotonic_after(LOOK_MS);
        if (atomic_load(&player->asked) == seek && !player->hungry && !player->leave)
            pthread_cond_timedwait(&player->wake, &player->lock, &until);
    }
    pthread_mutex_unlock(&player->lock);
    return NULL;
}
