#include "live/live_change.h"

#include "base/monotonic.h"
#include "base/realtime.h"
#include "base/status.h"
#include "convolve/switch_weights.h"
#include "live/live.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the recent input ---- */

/* The ring holds this many times what a reader wants: reading may last as long as the sound. */
enum { RINGS_KEPT = 2 };

enum status live_history_init(struct live_history *history, size_t channels, size_t block,
                              size_t frames, uint64_t begin)
{
    history->block = block;
    history->begin = begin;
    atomic_store(&history->frames, begin);
    size_t length = RINGS_KEPT * ((frames + block - 1) / block + 1) * block;
    TRY(block_init(&history->ring, channels, length, "the recent input"));
    /* touch all pages now, so that the step causes no page faults */
    for (size_t c = 0; c < channels; c++)
        memset(history->ring.data[c], 0, length * sizeof(float));
    return STATUS_OK;
}

void live_history_free(struct live_history *history)
{
    block_free(&history->ring);
}

HALO_REALTIME void live_history_write(struct live_history *history, const float *const *in)
{
    uint64_t frames = atomic_load_explicit(&history->frames, memory_order_relaxed);
    size_t at = (size_t)(frames % history->ring.frames);
    for (size_t c = 0; c < history->ring.channels; c++)
        memcpy(history->ring.data[c] + at, in[c], history->block * sizeof(float));
    atomic_store(&history->frames, frames + history->block);
}

HALO_REALTIME bool live_history_has(const struct live_history *history, uint64_t frame)
{
    uint64_t frames = atomic_load(&history->frames);
    return frame < frames && frames - frame <= history->ring.frames - history->block;
}

HALO_REALTIME static void live_history_at(const struct live_history *history, uint64_t frame,
                                          const float **in)
{
    for (size_t c = 0; c < history->ring.channels; c++)
        in[c] = history->ring.data[c] + frame % history->ring.frames;
}

uint64_t live_history_since(const struct live_history *history, uint64_t frames)
{
    uint64_t now = atomic_load(&history->frames);
    uint64_t most = history->ring.frames / RINGS_KEPT;
    frames = (frames + history->block - 1) / history->block * history->block;
    frames = frames < most ? frames : most;
    return now - history->begin > frames ? now - frames : history->begin;
}

/* ---- a slot ---- */

/* Gain of the dry input: the product of the gain stages, as they are mixed now. */
HALO_REALTIME static float level_of_dry(const struct stream_slot *slot)
{
    double level = 1;
    for (size_t i = 0; i < slot->stages.count; i++) {
        const struct filter *mixed = slot->stages.stages[i].mixed;
        struct stage_mix_gains gains = {.wet = 1};
        if (isnan(slot->levels[i]))
            continue;
        if (mixed)
            gains = stage_mix_gains_now(mixed);
        level *= gains.wet * slot->levels[i] + gains.dry;
    }
    return (float)level;
}

enum status stream_slot_init(struct stream_slot *slot, const struct stream_slot_settings *settings)
{
    const struct filter *chain = settings->chain;
    *slot = (struct stream_slot){.chain = settings->chain, .number = settings->number};
    if (settings->stages)
        slot->stages = *settings->stages;
    slot->left_out = calloc(slot->stages.count + 1, sizeof *slot->left_out);
    slot->absent = calloc(slot->stages.count + 1, sizeof *slot->absent);
    slot->levels = calloc(slot->stages.count + 1, sizeof *slot->levels);
    if (!slot->left_out || !slot->absent || !slot->levels)
        return fail_memory("live sound");
    for (size_t i = 0; i < slot->stages.count; i++)
        slot->levels[i] = stage_describe(&slot->stages.stages[i]).gain;
    ramp_init(&slot->level, level_of_dry(slot));
    ramp_init(&slot->gain, (float)settings->gain);
    ramp_init(&slot->wet, settings->dry ? 0 : 1);
    TRY(history_init(&slot->history, chain->inputs, (size_t)chain->latency, chain->block));
    return block_init(&slot->dry, chain->outputs, chain->block, "live sound");
}

void stream_slot_free(struct stream_slot *slot)
{
    history_free(&slot->history);
    block_free(&slot->dry);
    free(slot->left_out);
    free(slot->absent);
    free(slot->levels);
    *slot = (struct stream_slot){0};
}

/* Mixes the dry input into the output. Output o gets input o modulo the number of inputs. */
HALO_REALTIME static void mix_dry(struct stream_slot *slot, const float *const *in,
                                  float *const *out)
{
    const struct filter *chain = slot->chain;
    history_advance(&slot->history, in);
    if (slot->wet.at == slot->wet.frames && slot->wet.to == 1)
        return;
    for (size_t o = 0; o < chain->outputs; o++)
        memcpy(slot->dry.data[o],
               history_now(&slot->history, o % chain->inputs) - slot->history.keep,
               chain->block * sizeof(float));
    struct ramp dry = {.from = 1 - slot->wet.from,
                       .to = 1 - slot->wet.to,
                       .at = slot->wet.at,
                       .frames = slot->wet.frames};
    ramp_set(&slot->level, level_of_dry(slot), chain->block);
    ramp_process(&slot->level, chain->outputs, slot->dry.data, chain->block);
    ramp_process(&slot->wet, chain->outputs, out, chain->block);
    ramp_process(&dry, chain->outputs, slot->dry.data, chain->block);
    for (size_t o = 0; o < chain->outputs; o++)
        for (size_t i = 0; i < chain->block; i++)
            out[o][i] += slot->dry.data[o][i];
}

HALO_REALTIME void stream_slot_process(struct stream_slot *slot, const float *const *in,
                                       float *const *out)
{
    filter_process(slot->chain, in, out);
    mix_dry(slot, in, out);
    ramp_process(&slot->gain, slot->chain->outputs, out, slot->chain->block);
}

HALO_REALTIME static void apply_to_stage(struct stream_slot *slot, const struct live_event *event)
{
    const struct stage_list *stages = &slot->stages;
    const struct stage_control control = {
        .kind = event->kind, .stage = event->stage, .port_index = event->port};
    if (event->what == LIVE_STAGE_CONTROL)
        stage_controls_set(stages, &control, (float)event->value);
    else if (event->what == LIVE_STAGE_ABSENT)
        stage_mix_make_absent(stages->stages[event->stage].mixed, event->value != 0);
    else
        stage_mix_leave_out(stages->stages[event->stage].mixed);
}

HALO_REALTIME bool stream_slot_has(const struct live_event *event)
{
    return event->what == LIVE_GAIN || event->what == LIVE_DRY || event->what >= LIVE_STAGE_CONTROL;
}

HALO_REALTIME void stream_slot_apply(struct stream_slot *slot, const struct live_event *event,
                                     size_t smooth)
{
    if (event->what == LIVE_GAIN)
        ramp_set(&slot->gain, (float)event->value, smooth);
    else if (event->what == LIVE_DRY)
        ramp_set(&slot->wet, event->value != 0 ? 0 : 1, smooth);
    else
        apply_to_stage(slot, event);
}

HALO_REALTIME static bool has_noticed(struct stream_slot *slot, size_t stage,
                                      struct live_event *event)
{
    const struct filter *mixed = slot->stages.stages[stage].mixed;
    if (!mixed)
        return false;
    if (stage_mix_is_absent(mixed) != slot->absent[stage]) {
        slot->absent[stage] = !slot->absent[stage];
        *event = (struct live_event){
            .what = LIVE_STAGE_ABSENT, .value = slot->absent[stage], .stage = stage};
        return true;
    }
    if (stage_mix_is_left_out(mixed) && !slot->left_out[stage]) {
        slot->left_out[stage] = true;
        *event = (struct live_event){.what = LIVE_STAGE_FAILED, .stage = stage};
        return true;
    }
    return false;
}

HALO_REALTIME bool stream_slot_noticed(struct stream_slot *slot, struct live_event *event)
{
    for (size_t i = 0; i < slot->stages.count; i++)
        if (has_noticed(slot, i, event))
            return true;
    return false;
}

/* ---- the change ---- */

enum {
    NEARLY = 8,        /* blocks that may be missing when a slot is offered to the step */
    FED_AT_A_TIME = 2, /* blocks that the step feeds to the coming slot, per block */
    CHANNELS_MOST = 64,
    HISTORY_SECONDS = 10,
    HISTORY_SAMPLES = 1 << 23, /* samples of all channels; the ring holds twice as many */
};

static const int64_t PATIENCE_NS = 1000000000; /* ns that a block waits for an isolated plugin */

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

/* Feeds one block. Waits for isolated plugins up to `patience` ns; 0: without limit. */
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

static enum status nobody(void *context, float *const *out)
{
    (void)context, (void)out;
    return STATUS_OK;
}

struct feeding {
    size_t behind; /* blocks that are left */
    int64_t patience;
    const atomic_bool *cancelled;
    enum status (*heard)(void *context, float *const *out);
    void *context;
};

static enum status feed_until(const struct live_change *change, struct live_coming *coming,
                              const struct feeding *feeding)
{
    struct block out;
    const struct filter *chain = coming->slot.chain;
    TRY(block_init(&out, chain->outputs, chain->block, "a change of presets"));
    enum status status = STATUS_OK;
    realtime_flush_denormals();
    while (status == STATUS_OK && !(feeding->cancelled && atomic_load(feeding->cancelled)) &&
           atomic_load(&change->history.frames) >
               coming->at + feeding->behind * change->history.block) {
        status = feed_block(change, coming, feeding->patience, out.data);
        if (status == STATUS_OK)
            status = feeding->heard(feeding->context, out.data);
    }
    block_free(&out);
    return status;
}

enum status live_change_feed(const struct live_change *change, struct live_coming *coming,
                             uint64_t frames, const atomic_bool *cancelled)
{
    return live_change_hear(change, coming, frames, cancelled, nobody, NULL);
}

enum status live_change_hear(const struct live_change *change, struct live_coming *coming,
                             uint64_t frames, const atomic_bool *cancelled,
                             enum status (*heard)(void *context, float *const *out), void *context)
{
    const struct feeding feeding = {.behind = NEARLY / 2,
                                    .patience = PATIENCE_NS,
                                    .cancelled = cancelled,
                                    .heard = heard,
                                    .context = context};
    coming->since = coming->at = live_history_since(&change->history, frames);
    return feed_until(change, coming, &feeding);
}

enum status live_change_feed_on(const struct live_change *change, struct live_coming *coming,
                                const atomic_bool *cancelled)
{
    const struct feeding feeding = {
        .behind = NEARLY / 2, .patience = PATIENCE_NS, .cancelled = cancelled, .heard = nobody};
    return feed_until(change, coming, &feeding);
}

enum status live_change_feed_since(const struct live_change *change, struct live_coming *coming,
                                   uint64_t since)
{
    coming->since = coming->at = since;
    return feed_until(change, coming, &(struct feeding){.heard = nobody});
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

/* Feeds the coming slot. True: it has processed the block that begins at `now`, into change->out. A
 * slot without memory that was offered within this block begins with the next one. */
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

HALO_REALTIME static void exchange_slots(struct stream_slot *slot, struct stream_slot *coming)
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
    exchange_slots(slot, &coming->slot);
    change->has_begun = false;
    atomic_store(&change->state, LIVE_CHANGE_DONE);
}
