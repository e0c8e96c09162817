#include "live/live_change.h"

#include "base/monotonic.h"
#include "base/realtime.h"
#include "convolve/switch_weights.h"

enum {
    NEARLY = 8,        /* blocks that the step may have to feed */
    FED_AT_A_TIME = 2, /* by the step, in a block */
    CHANNELS_MOST = 64,
    HISTORY_SECONDS = 10,
    HISTORY_SAMPLES = 1 << 23, /* of all channels; twice as many are kept */
};

static const int64_t PATIENCE_NS = 1000000000; /* with an isolated plugin, for a block */

size_t live_change_history(size_t channels, uint32_t rate)
{
    size_t most = HISTORY_SAMPLES / channels, frames = (size_t)HISTORY_SECONDS * rate;
    return frames < most ? frames : most;
}

enum status live_change_init(struct live_change *change, const struct filter *chain, size_t history,
                             uint64_t begin)
{
    TRY(live_history_init(&change->history, chain->inputs, chain->block, history, begin));
    return block_init(&change->out, chain->outputs, chain->block, "a change of presets");
}

void live_change_free(struct live_change *change)
{
    live_history_free(&change->history);
    block_free(&change->out);
}

/* ---- the thread that prepares ---- */

/* Faster than the sound came: isolated plugins are waited for, but not for ever if `patience`, in
 * ns, is not 0. */
static enum status feed_block(const struct live_change *change, struct live_coming *coming,
                              int64_t patience, float *const *out)
{
    const float *in[CHANNELS_MOST];
    bool was_there = live_history_has(&change->history, coming->at);
    live_history_at(&change->history, coming->at, in);
    coming->slot.chain->deadline = patience ? monotonic_ns() + patience : 0;
    stream_slot_process(&coming->slot, in, out);
    if (!was_there || !live_history_has(&change->history, coming->at))
        return fail(CAUSE_OTHER, "it needs more time than the sound takes");
    coming->at += change->history.block;
    return STATUS_OK;
}

static enum status feed_until(const struct live_change *change, struct live_coming *coming,
                              size_t behind, int64_t patience, const atomic_bool *cancelled)
{
    struct block out;
    const struct filter *chain = coming->slot.chain;
    TRY(block_init(&out, chain->outputs, chain->block, "a change of presets"));
    enum status status = STATUS_OK;
    realtime_flush_denormals();
    while (status == STATUS_OK && !(cancelled && atomic_load(cancelled)) &&
           atomic_load(&change->history.frames) > coming->at + behind * change->history.block)
        status = feed_block(change, coming, patience, out.data);
    block_free(&out);
    return status;
}

enum status live_change_feed(const struct live_change *change, struct live_coming *coming,
                             uint64_t frames, const atomic_bool *cancelled)
{
    coming->since = coming->at = live_history_since(&change->history, frames);
    return feed_until(change, coming, NEARLY / 2, PATIENCE_NS, cancelled);
}

enum status live_change_feed_since(const struct live_change *change, struct live_coming *coming,
                                   uint64_t since)
{
    coming->since = coming->at = since;
    return feed_until(change, coming, 0, 0, NULL);
}

/* ---- the control thread ---- */

void live_change_offer(struct live_change *change, struct live_coming *coming)
{
    change->coming = coming;
    atomic_store(&change->state, LIVE_CHANGE_OFFERED);
}

struct live_coming *live_change_taken(struct live_change *change)
{
    if (atomic_load(&change->state) != LIVE_CHANGE_DONE)
        return NULL;
    struct live_coming *taken = change->coming;
    change->coming = NULL;
    atomic_store(&change->state, LIVE_CHANGE_NONE);
    return taken;
}

void live_change_withdraw(struct live_change *change)
{
    change->coming = NULL;
    change->has_begun = false;
    atomic_store(&change->state, LIVE_CHANGE_NONE);
}

bool live_change_is_under_way(const struct live_change *change)
{
    return atomic_load(&change->state) != LIVE_CHANGE_NONE;
}

/* ---- the step, real-time ---- */

/* Whether the coming slot did the block that begins at `now`; its output is in change->out. One
 * without a memory, offered within this block, begins with the next. */
HALO_REALTIME static bool catch_up(struct live_change *change, struct live_coming *coming,
                                   uint64_t now, int64_t deadline)
{
    const float *in[CHANNELS_MOST];
    if (coming->since > now)
        return false;
    for (size_t i = 0; i < FED_AT_A_TIME && coming->at <= now; i++) {
        live_history_at(&change->history, coming->at, in);
        coming->slot.chain->deadline = deadline;
        stream_slot_process(&coming->slot, in, change->out.data);
        coming->at += change->history.block;
    }
    return coming->at > now;
}

HALO_REALTIME static void crossfade(const struct live_change *change, uint64_t now,
                                    float *const *out)
{
    const struct live_coming *coming = change->coming;
    const struct convolver_switch way = {
        .at = coming->began, .frames = coming->frames, .shape = coming->shape};
    for (size_t i = 0; i < change->history.block; i++) {
        const struct switch_weights weights = switch_weights_at(&way, now + i);
        if (weights.old == 1)
            continue;
        for (size_t c = 0; c < change->out.channels; c++) {
            float new = change->out.data[c][i];
            out[c][i] = weights.new == 1 ? new : weights.old * out[c][i] + weights.new * new;
        }
    }
}

HALO_REALTIME static void exchange(struct stream_slot *slot, struct stream_slot *coming)
{
    struct stream_slot old = *slot;
    *slot = *coming;
    *coming = old;
}

HALO_REALTIME void live_change_process(struct live_change *change, struct stream_slot *slot,
                                       uint64_t now, float *const *out)
{
    if (atomic_load(&change->state) != LIVE_CHANGE_OFFERED)
        return;
    struct live_coming *coming = change->coming;
    if (!catch_up(change, coming, now, slot->chain->deadline))
        return;
    if (!change->has_begun)
        coming->began = now;
    change->has_begun = true;
    crossfade(change, now, out);
    if (now + change->history.block - coming->began < coming->frames)
        return;
    exchange(slot, &coming->slot);
    change->has_begun = false;
    atomic_store(&change->state, LIVE_CHANGE_DONE);
}
