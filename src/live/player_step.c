/* The player's real-time side. */
#include "live/player_state.h"

#include <string.h>

static void report_position(struct player *player)
{
    const struct player_slot *slot = player->slot;
    uint64_t at = slot->position + player->played;
    if (at >= slot->to)
        at = player->from + (at - player->from) % (slot->to - player->from);
    atomic_store_explicit(&player->position, at, memory_order_relaxed);
}

static void give_back(struct player *player)
{
    size_t number = (size_t)(player->slot - player->slots);
    ring_write(player->empty, &number, 1);
    player->slot = NULL;
}

/* Have a slot at work that is none of a seek before the current one. */
static bool take_slot(struct player *player)
{
    uint64_t current = atomic_load_explicit(&player->current, memory_order_acquire);
    for (;;) {
        size_t number;
        if (player->slot && player->slot->seek >= current)
            return true;
        if (player->slot)
            give_back(player);
        if (ring_read(player->full, &number, 1) == 0)
            return false;
        player->slot = &player->slots[number];
        player->played = 0;
        if (player->slot->seek >= current)
            report_position(player);
    }
}

size_t player_ready(struct player *player)
{
    if (!take_slot(player))
        return 0;
    return PLAYER_SLOT - player->played + ring_readable(player->full) * PLAYER_SLOT;
}

void player_read(struct player *player, float *const *planar, size_t frames)
{
    size_t channels = player->region->format.channels, done = 0;
    while (done < frames && take_slot(player)) {
        size_t left = PLAYER_SLOT - player->played;
        size_t part = frames - done < left ? frames - done : left;
        for (size_t c = 0; c < channels; c++)
            memcpy(planar[c] + done, player->slot->block.data[c] + player->played,
                   part * sizeof(float));
        player->played += part;
        done += part;
        report_position(player);
        if (player->played == PLAYER_SLOT)
            give_back(player);
    }
    for (size_t c = 0; c < channels && done < frames; c++)
        memset(planar[c] + done, 0, (frames - done) * sizeof(float));
    atomic_fetch_add_explicit(&player->missed, frames - done, memory_order_relaxed);
}
