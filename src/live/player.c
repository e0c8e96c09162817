#include "live/player_state.h"

#include "base/thread.h"

#include <math.h>
#include <stdlib.h>

static const double reserve_seconds = 0.1;

static void init_lock(struct player *player)
{
    pthread_mutex_init(&player->lock, NULL);
    thread_condition_init(&player->wake);
    pthread_cond_init(&player->filled, NULL);
}

static size_t slots_for(const struct player *player, double seconds)
{
    return (size_t)ceil(seconds * player->region->format.rate / PLAYER_SLOT);
}

static enum status make_slots(struct player *player, double ahead)
{
    player->reserve = slots_for(player, reserve_seconds);
    player->slot_count = slots_for(player, ahead) + 1 + player->reserve; /* one is at work */
    player->slots = calloc(player->slot_count, sizeof *player->slots);
    enum status status = player->slots ? STATUS_OK : fail_memory("a player");
    if (status == STATUS_OK)
        status = ring_create(sizeof(size_t), player->slot_count, "a player", &player->full);
    if (status == STATUS_OK)
        status = ring_create(sizeof(size_t), player->slot_count, "a player", &player->empty);
    for (size_t i = 0; i < player->slot_count && status == STATUS_OK; i++) {
        status = block_init(&player->slots[i].block, player->region->format.channels, PLAYER_SLOT,
                            "a player");
        if (status == STATUS_OK)
            ring_write(player->empty, &i, 1);
    }
    return status;
}

static enum status start_thread(struct player *player)
{
    int error = thread_start(&player->thread, "halo player", THREAD_AS_CALLER, player_main, player);
    player->has_thread = error == 0;
    return error ? fail(STATUS_FAILED, "cannot start a thread to read ahead with") : STATUS_OK;
}

enum status player_open(struct region *region, double ahead, struct player **result)
{
    struct player *player = calloc(1, sizeof *player);
    if (!player) {
        region_close(region);
        return fail_memory("a player");
    }
    player->region = region;
    player->from = player->target = region->from;
    player->to = player->end = region->to;
    atomic_init(&player->asked, 1);
    atomic_init(&player->position, region->from);
    init_lock(player);
    enum status status = make_slots(player, ahead);
    if (status == STATUS_OK)
        status = start_thread(player);
    if (status == STATUS_OK)
        status = player_wait(player, (player->slot_count - player->reserve - 1) * PLAYER_SLOT);
    if (status != STATUS_OK) {
        player_close(player);
        return status;
    }
    *result = player;
    return STATUS_OK;
}

void player_close(struct player *player)
{
    if (!player)
        return;
    pthread_mutex_lock(&player->lock);
    player->leave = true;
    pthread_cond_signal(&player->wake);
    pthread_mutex_unlock(&player->lock);
    if (player->has_thread)
        pthread_join(player->thread, NULL);
    region_close(player->region);
    for (size_t i = 0; player->slots && i < player->slot_count; i++)
        block_free(&player->slots[i].block);
    free(player->slots);
    ring_destroy(player->full);
    ring_destroy(player->empty);
    pthread_cond_destroy(&player->wake);
    pthread_cond_destroy(&player->filled);
    pthread_mutex_destroy(&player->lock);
    free(player);
}

enum status player_wait(struct player *player, size_t frames)
{
    enum status status = STATUS_OK;
    pthread_mutex_lock(&player->lock);
    while (status == STATUS_OK && (atomic_load(&player->current) != atomic_load(&player->asked) ||
                                   player_ready(player) < frames)) {
        if (atomic_load(&player->failed)) {
            player->reported = true;
            status = fail(STATUS_FAILED, "%s", player->failure);
            break;
        }
        player->hungry = true;
        pthread_cond_signal(&player->wake);
        pthread_cond_wait(&player->filled, &player->lock);
    }
    pthread_mutex_unlock(&player->lock);
    return status;
}

void player_seek(struct player *player, uint64_t frame)
{
    if (frame >= player->to)
        frame = player->to - 1;
    pthread_mutex_lock(&player->lock);
    player->target = frame < player->from ? player->from : frame;
    atomic_fetch_add(&player->asked, 1);
    pthread_cond_signal(&player->wake);
    pthread_mutex_unlock(&player->lock);
}

uint64_t player_position(const struct player *player)
{
    return atomic_load_explicit(&player->position, memory_order_relaxed);
}

uint64_t player_missed(const struct player *player)
{
    return atomic_load_explicit(&player->missed, memory_order_relaxed);
}

const struct region *player_region(const struct player *player)
{
    return player->region;
}

const char *player_failure(struct player *player)
{
    if (player->reported || !atomic_load(&player->failed))
        return NULL;
    player->reported = true;
    return player->failure;
}
