/* The live step, on a file. */
#include "live/replay.h"

#include "base/stop.h"
#include "chain/stage_mask.h"
#include "live/preset_loader.h"

#include <stdlib.h>

struct replay_state {
    struct replay *replay;
    struct live_chain *chain;
    struct live *live;
    struct prepared_preset *coming; /* a chain to which the stream changes, or NULL */
    unsigned slots;                 /* changes so far */
    struct proof_result *proof;
    struct block in;
    struct block out;
    size_t next; /* event */
    size_t choice;
    uint64_t at;
};

static bool is_of_mask(const struct logged *logged)
{
    return logged->kind == LOGGED_SWITCH || logged->kind == LOGGED_LOAD;
}

/* What the log says of stages and masks against those of the chain. */
static enum status check_event(const struct replay *replay, const struct live_chain *chain,
                               struct logged *logged)
{
    struct live_event *event = &logged->event;
    struct stage_control control;
    if (is_of_mask(logged))
        return logged->choice < chain->choice_count
                   ? STATUS_OK
                   : replay_refuse(replay, "it chooses a missing mask");
    if (logged->kind == LOGGED_CONTROL) {
        TRY(stage_controls_find(&chain->stages, event->stage, logged->text, &control));
        event->kind = control.kind;
        event->port = control.port_index;
    } else if (event->what > LIVE_STAGE_CONTROL &&
               (event->stage >= chain->stages.count || !chain->stages.stages[event->stage].mixed)) {
        return replay_refuse(replay, "it has an event of a missing stage");
    }
    return STATUS_OK;
}

static enum status change_mask(struct replay_state *state, const struct logged *logged)
{
    struct live_chain *chain = state->chain;
    enum status status = STATUS_OK;
    if (logged->frame < chain->since)
        return replay_refuse(state->replay, "it chooses a mask of a chain that is not there");
    if (logged->kind == LOGGED_SWITCH)
        choices_ask(chain->choices, logged->choice, logged->frame - chain->since, &logged->way);
    if (logged->kind == LOGGED_LOAD) {
        note("%s: at %.3f s mask %s was read again; its present content is used",
             state->replay->path, (double)logged->frame / (double)state->replay->format.rate,
             logged->text);
        struct mask *mask = NULL;
        TRY(stage_mask_read(logged->text, &chain->mask_format, &state->replay->options.settings,
                            &mask));
        status = live_chain_put(chain, logged->choice, logged->text, mask, NULL);
    }
    if (status == STATUS_OK)
        (void)choices_poll(chain->choices, &state->choice, &state->at);
    return status;
}

/* ---- presets ---- */

static enum status prepare(struct replay_state *state, const struct logged *logged)
{
    const struct replay *replay = state->replay, *preset = logged->preset;
    struct prepared_preset *prepared = state->coming;
    struct live_chain_request request = preset->request;
    request.proof = replay->request.proof;
    request.frames = replay->request.frames - (int64_t)logged->since;
    struct live_change *change = live_change_of(state->live);
    TRY(live_chain_init(&prepared->chain, &request));
    if (prepared->chain.filter->outputs != state->chain->filter->outputs)
        return replay_refuse(state->replay, "a preset makes other channels");
    const struct stream_slot_settings settings = {.chain = prepared->chain.filter,
                                                  .stages = &prepared->chain.stages,
                                                  .gain = preset->settings.gain,
                                                  .dry = preset->settings.dry,
                                                  .number = ++state->slots};
    TRY(stream_slot_init(&prepared->coming.slot, &settings));
    prepared->coming.frames = logged->way.frames;
    prepared->coming.shape = logged->way.shape;
    prepared->chain.since = logged->since;
    TRY(live_change_feed_since(change, &prepared->coming, logged->since));
    live_change_offer(change, &prepared->coming);
    return STATUS_OK;
}

static enum status change_chain(struct replay_state *state, const struct logged *logged)
{
    if (!(state->coming = calloc(1, sizeof *state->coming)))
        return fail_memory("a replay");
    return prepare(state, logged);
}

/* The chain's last step was before frame `until`. */
static void prove_chain(const struct replay_state *state, struct live_chain *chain, uint64_t until)
{
    const struct replay *replay = state->replay;
    if (replay->request.proof)
        proof_end(replay->request.proof, &chain->stages, chain->since, until, replay->format.rate,
                  state->proof);
}

/* After a block: as the control thread of the stream. */
static void take_changed(struct replay_state *state)
{
    if (!state->coming || !live_change_taken(live_change_of(state->live)))
        return;
    prove_chain(state, state->chain, live_frames(state->live));
    struct live_chain old = *state->chain;
    *state->chain = state->coming->chain;
    state->coming->chain = old;
    prepared_preset_free(state->coming);
    state->coming = NULL;
    live_send_to(state->live, state->slots);
}

/* ---- events ---- */

static bool must_wait(const struct replay_state *state, const struct logged *logged)
{
    const struct choices *choices = state->chain->choices;
    return (is_of_mask(logged) && choices && choices_are_switching(choices)) ||
           (logged->kind == LOGGED_PRESET && state->coming);
}

static enum status send_event(struct replay_state *state, struct logged *logged, bool *is_sent)
{
    *is_sent = true;
    if (logged->kind == LOGGED_PRESET)
        return change_chain(state, logged);
    TRY(check_event(state->replay, state->chain, logged));
    if (is_of_mask(logged))
        return change_mask(state, logged);
    *is_sent = live_send(state->live, &logged->event); /* else the queue is full */
    return STATUS_OK;
}

/* Events up to the end of the next block. A switch waits for the previous one, as in the recording.
 */
static enum status send_events(struct replay_state *state, uint64_t end)
{
    const struct replay *replay = state->replay;
    bool is_sent = true;
    for (; state->next < replay->event_count; state->next++) {
        struct logged *logged = &replay->events[state->next];
        if (logged->frame >= end || must_wait(state, logged))
            return STATUS_OK;
        TRY(send_event(state, logged, &is_sent));
        if (!is_sent)
            return STATUS_OK;
    }
    return STATUS_OK;
}

static enum status run_block(struct replay_state *state, struct source *source, struct sink *sink,
                             uint64_t *heard, bool *ended)
{
    size_t block = state->in.frames, got = 0;
    TRY(source_read(source, state->in.data, block, &got));
    block_silence(&state->in, got, block - got);
    *ended = got < block;
    if (state->chain->choices)
        (void)choices_poll(state->chain->choices, &state->choice, &state->at);
    TRY(send_events(state, *heard + block));
    live_process(state->live, (const float *const *)state->in.data, state->out.data);
    const char *failure = state->chain->filter->failure;
    if (failure && !state->replay->fails) /* a plugin that failed in the recording may fail again */
        return fail(CAUSE_OTHER, "cannot replay %s: %s", state->replay->path, failure);
    struct live_event taken;
    while (live_receive(state->live, &taken))
        ;
    take_changed(state);
    *heard += got;
    return got > 0 ? sink_write(sink, (const float *const *)state->out.data, got) : STATUS_OK;
}

enum status replay_run(struct replay *replay, struct live_chain *chain, struct source *source,
                       struct sink *sink, uint64_t *heard, struct proof_result *proof)
{
    struct replay_state state = {.replay = replay, .chain = chain, .proof = proof};
    const struct filter *filter = chain->filter; /* the first; others have the same channels */
    bool ended = false;
    *heard = 0;
    replay->settings.stages = &chain->stages;
    if (replay->has_presets)
        replay->settings.history = live_change_history(chain->filter->inputs, replay->format.rate);
    for (size_t i = 0; i < replay->event_count && replay->events[i].kind != LOGGED_PRESET; i++)
        TRY(check_event(replay, chain, &replay->events[i]));
    enum status status;
    if ((status = live_create(&replay->settings, chain->filter, NULL, NULL, &state.live)) ||
        (status = block_init(&state.in, filter->inputs, filter->block, "a replay")) ||
        (status = block_init(&state.out, filter->outputs, filter->block, "a replay")))
        goto end;
    while (status == STATUS_OK && !ended)
        status =
            stop_requested() ? STATUS_INTERRUPTED : run_block(&state, source, sink, heard, &ended);
    if (status == STATUS_OK && state.coming)
        prove_chain(&state, &state.coming->chain, *heard);
    if (status == STATUS_OK)
        prove_chain(&state, state.chain, *heard);
end:
    block_free(&state.in);
    block_free(&state.out);
    live_destroy(state.live);
    prepared_preset_free(state.coming);
    return status;
}
