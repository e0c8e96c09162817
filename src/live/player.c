#include "live/player.h"

#include "base/monotonic.h"
#include "base/realtime.h"
#include "base/ring.h"
#include "base/thread.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PLAYER_SLOT = 512 /* frames */, POLL_MS = 10 };

static const double RESERVE_SECONDS = 0.1;

/* Slots of sound. Their numbers pass from the reading thread to the step, and back when the sound
 * has been played. Each slot has the number of its seek. The step returns slots of earlier seeks
 * than `current` without playing them. */
struct player_slot {
    struct block block;
    uint64_t seek;
    uint64_t position; /* position of its first frame */
    uint64_t from;     /* first frame of the loop */
    uint64_t to;       /* end of the loop, as far as it is known when the slot is filled */
};

struct player_target {
    uint64_t frame;
    uint64_t from, to; /* the loop */
};

struct player {
    struct region *region;
    uint64_t from, to; /* used by the control thread: the loop */
    size_t slot_count;
    size_t reserve; /* slots that are left empty for the next seek */
    struct player_slot *slots;
    struct ring *full, *empty; /* slot numbers, size_t */

    atomic_uint_fast64_t asked;   /* number of seeks so far; written under the lock */
    atomic_uint_fast64_t current; /* number of the seek that is played */
    atomic_uint_fast64_t position, missed;
    atomic_bool failed;

    struct player_slot *slot; /* used by the step: slot that is played, or NULL */
    size_t played;            /* used by the step: frames of `slot` that were played */

    uint64_t seek;  /* used by the thread: number of the current seek */
    uint64_t begin; /* used by the thread: first frame of the loop */
    uint64_t end;   /* used by the thread: end of the loop, as far as it is known */
    uint64_t known; /* used by the thread: end of the region, as far as it is known */
    uint64_t next;  /* used by the thread: next frame to read */

    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock;
    pthread_cond_t wake, filled;
    struct player_target target; /* under `lock`: the requested seek */
    bool hungry;                 /* under `lock`: player_wait waits for `filled` */
    bool leave;                  /* under `lock` */

    struct failure failure; /* written before `failed` is set */
    bool reported;          /* used by the control thread */
};

/* ---- the step: real-time ---- */

HALO_REALTIME static void report_position(struct player *player)
{
    const struct player_slot *slot = player->slot;
    uint64_t at = slot->position + player->played;
    if (at >= slot->to)
        at = slot->from + (at - slot->from) % (slot->to - slot->from);
    atomic_store_explicit(&player->position, at, memory_order_relaxed);
}

HALO_REALTIME static void release_slot(struct player *player)
{
    size_t number = (size_t)(player->slot - player->slots);
    ring_write(player->empty, &number, 1);
    player->slot = NULL;
}

/* Makes a slot of the current or a later seek current. Returns false if no slot is ready. */
HALO_REALTIME static bool next_slot(struct player *player)
{
    uint64_t current = atomic_load_explicit(&player->current, memory_order_acquire);
    for (;;) {
        size_t number;
        if (player->slot && player->slot->seek >= current)
            return true;
        if (player->slot)
            release_slot(player);
        if (ring_read(player->full, &number, 1) == 0)
            return false;
        player->slot = &player->slots[number];
        player->played = 0;
        if (player->slot->seek >= current)
            report_position(player);
    }
}

static size_t player_ready(struct player *player)
{
    if (!next_slot(player))
        return 0;
    return PLAYER_SLOT - player->played + ring_readable(player->full) * PLAYER_SLOT;
}

HALO_REALTIME void player_read(struct player *player, float *const *planar, size_t frames)
{
    size_t channels = player->region->format.channels, done = 0;
    while (done < frames && next_slot(player)) {
        size_t left = PLAYER_SLOT - player->played;
        size_t part = frames - done < left ? frames - done : left;
        for (size_t c = 0; c < channels; c++)
            memcpy(planar[c] + done, player->slot->block.data[c] + player->played,
                   part * sizeof(float));
        player->played += part;
        done += part;
        report_position(player);
        if (player->played == PLAYER_SLOT)
            release_slot(player);
    }
    for (size_t c = 0; c < channels && done < frames; c++)
        memset(planar[c] + done, 0, (frames - done) * sizeof(float));
    atomic_fetch_add_explicit(&player->missed, frames - done, memory_order_relaxed);
}

static size_t slots_for(const struct player *player, double seconds)
{
    return (size_t)ceil(seconds * player->region->format.rate / PLAYER_SLOT);
}

static enum status make_slots(struct player *player, double ahead)
{
    player->reserve = slots_for(player, RESERVE_SECONDS);
    player->slot_count = slots_for(player, ahead) + 1 + player->reserve; /* 1 is being played */
    player->slots = calloc(player->slot_count, sizeof *player->slots);
    if (!player->slots)
        return fail_memory("a player");
    TRY(ring_create(sizeof(size_t), player->slot_count, "a player", &player->full));
    TRY(ring_create(sizeof(size_t), player->slot_count, "a player", &player->empty));
    for (size_t i = 0; i < player->slot_count; i++) {
        TRY(block_init(&player->slots[i].block, player->region->format.channels, PLAYER_SLOT,
                       "a player"));
        ring_write(player->empty, &i, 1);
    }
    return STATUS_OK;
}

/* ---- the thread: from the region into slots ---- */

/* Reads the next frames. At the end of the region, continues at its start. */
static enum status read_some(struct player *player, float *const *planar, size_t frames,
                             size_t *got)
{
    if (player->next >= player->end) {
        player->next = player->begin;
        TRY(region_seek(player->region, player->next));
    }
    uint64_t left = player->end - player->next;
    size_t part = frames < left ? frames : (size_t)left;
    TRY(region_read(player->region, planar, part, got));
    player->next += *got;
    if (*got == part)
        return STATUS_OK;
    if (player->next == player->begin)
        return fail(CAUSE_DAMAGED, "cannot play %s: it ends before frame %llu",
                    player->region->name, (unsigned long long)player->begin);
    player->end = player->known = player->next; /* the sound is shorter than the region */
    return STATUS_OK;
}

static enum status fill_slot(struct player *player, struct player_slot *slot)
{
    size_t channels = player->region->format.channels, got = 0;
    float *at[channels];
    slot->seek = player->seek;
    slot->position = player->next < player->end ? player->next : player->begin;
    slot->from = player->begin;
    for (size_t done = 0; done < PLAYER_SLOT; done += got) {
        for (size_t c = 0; c < channels; c++)
            at[c] = slot->block.data[c] + done;
        got = 0;
        TRY(read_some(player, at, PLAYER_SLOT - done, &got));
    }
    slot->to = player->end;
    return STATUS_OK;
}

/* Fills up to `most` slots, and keeps `reserve` slots empty. Stops at a new seek. */
static enum status fill(struct player *player, size_t most, size_t reserve)
{
    for (size_t i = 0; i < most; i++) {
        size_t number;
        if (atomic_load(&player->asked) != player->seek ||
            ring_readable(player->empty) <= reserve || ring_read(player->empty, &number, 1) == 0)
            break;
        TRY(fill_slot(player, &player->slots[number]));
        ring_write(player->full, &number, 1);
    }
    return STATUS_OK;
}

/* Fills the reserved slots from the new position. The step still plays the other slots. */
static enum status begin_seek(struct player *player, uint64_t seek,
                              const struct player_target *target)
{
    player->seek = seek;
    player->begin = target->from;
    player->end = target->to < player->known ? target->to : player->known;
    if (player->begin >= player->end) /* the sound is shorter than the region */
        player->begin = player->region->from;
    player->next = target->frame < player->end ? target->frame : player->end - 1;
    TRY(region_seek(player->region, player->next));
    TRY(fill(player, player->reserve, 0));
    atomic_store_explicit(&player->current, seek, memory_order_release);
    return STATUS_OK;
}

static enum status work(struct player *player, uint64_t seek, const struct player_target *target)
{
    if (seek != player->seek)
        TRY(begin_seek(player, seek, target));
    return fill(player, player->slot_count, player->reserve);
}

static void *read_ahead(void *argument)
{
    struct player *player = argument;
    const struct log_keeper before = log_keep_failure(&player->failure);
    pthread_mutex_lock(&player->lock);
    while (!player->leave) {
        uint64_t seek = atomic_load(&player->asked);
        const struct player_target target = player->target;
        player->hungry = false;
        pthread_mutex_unlock(&player->lock);
        if (!atomic_load(&player->failed) && work(player, seek, &target) != STATUS_OK)
            atomic_store(&player->failed, true);
        pthread_mutex_lock(&player->lock);
        pthread_cond_signal(&player->filled);
        struct timespec until = monotonic_after(POLL_MS);
        if (atomic_load(&player->asked) == seek && !player->hungry && !player->leave)
            pthread_cond_timedwait(&player->wake, &player->lock, &until);
    }
    pthread_mutex_unlock(&player->lock);
    log_keep_again(&before);
    return NULL;
}

/* ---- open and close ---- */

enum status player_open(struct region *region, double ahead, struct player **result)
{
    struct player *player = calloc(1, sizeof *player);
    if (!player) {
        region_close(region);
        return fail_memory("a player");
    }
    player->region = region;
    player->from = player->begin = region->from;
    player->to = player->end = player->known = region->to;
    player->target = (struct player_target){region->from, region->from, region->to};
    atomic_init(&player->asked, 1);
    atomic_init(&player->position, region->from);
    pthread_mutex_init(&player->lock, NULL);
    thread_condition_init(&player->wake);
    pthread_cond_init(&player->filled, NULL);
    enum status status = make_slots(player, ahead);
    if (status != STATUS_OK)
        goto fail;
    player->has_thread =
        thread_start(&player->thread, "halo player", THREAD_AS_CALLER, read_ahead, player) == 0;
    status = player->has_thread
                 ? player_wait(player, (player->slot_count - player->reserve - 1) * PLAYER_SLOT)
                 : fail(CAUSE_NO_MEMORY, "cannot start a thread to read ahead");
    if (status != STATUS_OK)
        goto fail;
    *result = player;
    return STATUS_OK;
fail:
    player_close(player);
    return status;
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

/* ---- the control thread ---- */

enum status player_wait(struct player *player, size_t frames)
{
    enum status status = STATUS_OK;
    pthread_mutex_lock(&player->lock);
    while (status == STATUS_OK && (atomic_load(&player->current) != atomic_load(&player->asked) ||
                                   player_ready(player) < frames)) {
        if (atomic_load(&player->failed)) {
            player->reported = true;
            status = fail_again(&player->failure);
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
    player->target = (struct player_target){frame < player->from ? player->from : frame,
                                            player->from, player->to};
    atomic_fetch_add(&player->asked, 1);
    pthread_cond_signal(&player->wake);
    pthread_mutex_unlock(&player->lock);
}

void player_loop(struct player *player, uint64_t from, uint64_t to)
{
    uint64_t at = player_position(player);
    player->from = from;
    player->to = to;
    player_seek(player, at < from || at >= to ? from : at);
}

void player_loop_ends(const struct player *player, uint64_t *from, uint64_t *to)
{
    *from = player->from;
    *to = player->to;
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
    return player->failure.message;
}
