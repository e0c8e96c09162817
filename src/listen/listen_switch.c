#include "listen/listen_session.h"

#include "base/realtime.h"
#include "live/device/device.h"

#include <math.h>
#include <string.h>

enum { TRIES_MOST = 1 << 20 /* blocks that a switch may take to prepare */ };

static const double MEASURE_EVERY = 2; /* seconds between measurements of a live input */

/* Seconds, for a test's switch: longest delay, shortest pause, and the longest part of the pause
 * for tails of stages after the masks. */
static const double DELAY_MOST = 4, PAUSE_LEAST = 0.01, TAIL_MOST = 0.5;

/* ---- the input of the step ---- */

enum { CHUNK = 64 /* frames */, TAP = 1 << 17 /* frames queued */ };

enum status listen_source_init(struct listen_source *source, struct player *player,
                               struct live *live, size_t channels, size_t recent)
{
    *source = (struct listen_source){.player = player, .live = live, .channels = channels};
    if (player)
        return block_init(&source->played, channels, DEVICE_FRAMES_MOST, "a player");
    enum status status = ring_create(channels * sizeof(float), TAP, "an input", &source->tap);
    return status == STATUS_OK ? block_init(&source->recent, channels, recent, "an input") : status;
}

void listen_source_free(struct listen_source *source)
{
    block_free(&source->played);
    block_free(&source->recent);
    ring_destroy(source->tap);
}

HALO_REALTIME static void tap(struct listen_source *source, const float *const *in, size_t frames)
{
    float chunk[CHUNK * LIVE_CHANNELS_MOST];
    for (size_t at = 0; at < frames; at += CHUNK) {
        size_t part = frames - at < CHUNK ? frames - at : CHUNK;
        audio_interleave(in, at, source->channels, part, chunk);
        ring_write(source->tap, chunk, part);
    }
}

HALO_REALTIME void listen_source_step(void *context, const float *const *in, float *const *out,
                                      size_t frames, bool lost)
{
    struct listen_source *source = context;
    if (source->player) {
        player_read(source->player, source->played.data, frames);
        in = (const float *const *)source->played.data;
    } else {
        tap(source, in, frames);
    }
    live_step(source->live, in, out, frames, lost);
}

void listen_source_update(struct listen_source *source)
{
    float chunk[CHUNK * LIVE_CHANNELS_MOST];
    size_t got, capacity = source->recent.frames;
    /* `recent` belongs to a live input only, and is freed if a change of rate failed */
    if (capacity == 0)
        return;
    do {
        size_t at = (size_t)(source->taken % capacity);
        got = ring_read(source->tap, chunk, capacity - at < CHUNK ? capacity - at : CHUNK);
        audio_deinterleave(chunk, source->channels, got, source->recent.data, at);
        source->taken += got;
    } while (got > 0);
}

/* Copies the last frames of the input. Returns false if there are too few yet. */
static bool listen_source_recent(const struct listen_source *source, struct block *block)
{
    size_t capacity = source->recent.frames;
    if (capacity == 0 || source->taken < capacity)
        return false;
    size_t oldest = (size_t)(source->taken % capacity);
    for (size_t c = 0; c < source->channels; c++) {
        const float *from = source->recent.data[c];
        memcpy(block->data[c], from + oldest, (capacity - oldest) * sizeof *from);
        memcpy(block->data[c] + capacity - oldest, from, oldest * sizeof *from);
    }
    return true;
}

static size_t slot_count(const struct listen_session *session)
{
    const struct live_chain *chain = &session->stream.chain;
    return live_chain_mask_count(chain) * (chain->request.twice ? 2 : 1);
}

/* ---- before the stream ---- */

static void run_block(struct listen_session *session, const struct block *silence,
                      struct block *nowhere)
{
    filter_process(session->stream.chain.filter, (const float *const *)silence->data,
                   nowhere->data);
}

static size_t switch_at_once(struct listen_session *session, size_t slot,
                             const struct block *silence, struct block *nowhere)
{
    struct choices *choices = session->stream.chain.choices;
    const struct choices_way way = {0};
    size_t choice, blocks = 0;
    uint64_t at;
    choices_ask(choices, slot, 0, &way);
    (void)choices_poll(choices, &choice, &at);
    while (choices_are_switching(choices) && blocks++ < TRIES_MOST) {
        run_block(session, silence, nowhere);
        (void)choices_poll(choices, &choice, &at);
    }
    return blocks;
}

/* Finds how many blocks the slowest switch takes. Before, runs silence as long as the longest mask,
 * since switches are prepared from the history. */
static size_t learn_longest(struct listen_session *session, const struct block *silence,
                            struct block *nowhere)
{
    size_t longest = 0;
    for (size_t done = 0; done < session->stream.chain.taps; done += silence->frames)
        run_block(session, silence, nowhere);
    for (size_t slot = slot_count(session); slot-- > 0;) {
        size_t blocks = switch_at_once(session, slot, silence, nowhere);
        longest = blocks > longest ? blocks : longest;
    }
    return longest;
}

/* Frames of tail of the stages after the masks. *unknown: it may be longer. */
static uint64_t tail_after_masks(const struct live_chain *chain, bool *unknown)
{
    uint64_t tail = 0;
    *unknown = false;
    for (size_t i = chain->request.stage + 1; i < chain->stages.count; i++) {
        const struct filter *filter = chain->stages.stages[i].filter;
        tail += filter->tail;
        *unknown = *unknown || filter->tail_unknown;
    }
    return tail;
}

/* Sets the times of the gap. Before the pause, at least twice the time must pass that the slowest
 * mask needs to be prepared. */
static void set_gap(struct listen_session *session, size_t longest)
{
    const struct live_chain *chain = &session->stream.chain;
    const struct stage *stage = &chain->stages.stages[chain->request.stage];
    struct switch_gap *gap = &session->gap;
    double rate = (double)session->stream.info.rate, fade = session->options->play.fade;
    size_t block = chain->filter->block, arming = (2 * longest + 2) * block;
    bool unknown;
    uint64_t tail = tail_after_masks(chain, &unknown), most = (uint64_t)(TAIL_MOST * rate);
    gap->convolver = stage->filter;
    gap->fade = (size_t)(fade / 2 * rate);
    gap->latency = chain->filter->latency - stage->before - stage->filter->latency;
    gap->delay = arming > gap->fade ? arming - gap->fade : 0;
    gap->delay = (size_t)fmin((double)gap->delay, DELAY_MOST * rate);
    gap->pause = (size_t)(fmax(fade, PAUSE_LEAST) * rate) + block +
                 (size_t)(gap->latency + (tail < most ? tail : most));
    if (tail > most || unknown)
        warning("stages after the masks may keep the sound of one for longer than the pause of a "
                "switch: put them before --mask");
}

enum status listen_switch_settle(struct listen_session *session, size_t choice)
{
    struct filter *filter = session->stream.chain.filter;
    struct block silence, nowhere = {0};
    enum status status;
    if ((status = block_init(&silence, filter->inputs, filter->block, "a stream")) ||
        (status = block_init(&nowhere, filter->outputs, filter->block, "a stream")))
        goto end;
    size_t longest = learn_longest(session, &silence, &nowhere);
    set_gap(session, longest);
    (void)switch_at_once(session, choice, &silence, &nowhere);
    filter_reset(filter);
end:
    block_free(&silence);
    block_free(&nowhere);
    return status;
}

/* ---- switches ---- */

void listen_switch_to(struct listen_session *session, size_t choice)
{
    uint64_t from, to;
    if (session->restarts && session->player) {
        player_loop_ends(session->player, &from, &to);
        player_seek(session->player, from);
    }
    stream_session_ask(&session->stream, STREAM_SWITCH, &(struct stream_request){.choice = choice},
                       NULL);
}

/* Switches in a test. If the mask already sounds, switches to its second copy. */
static void ask_through_gap(struct listen_session *session, size_t slot)
{
    struct choices *choices = session->stream.chain.choices;
    const struct choices_way at_once = {0};
    size_t choice;
    uint64_t at;
    if (choices_sounding(choices) == slot)
        slot += session->stream.chain.choice_count;
    choices_ask(choices, slot, CONVOLVER_HELD, &at_once);
    (void)choices_poll(choices, &choice, &at);
    if (listen_trial_runs(session))
        session->switch_trial = session->trial.test->answered + 1;
    if (choices_are_switching(choices))
        switch_gap_ask(&session->gap);
}

static void ask(struct listen_session *session)
{
    struct stream_request *request = stream_session_begin_request(&session->stream, STREAM_SWITCH);
    size_t slot = request->choice;
    stream_session_end_request(&session->stream, request, "");
    if (session->stream.blind)
        ask_through_gap(session, slot);
    else
        choices_ask(session->stream.chain.choices, slot, 0, &session->stream.way);
}

/* Logs a switch that was late. It is not displayed: that could reveal what was switched to. */
static void log_late_switch(struct listen_session *session)
{
    uint64_t late = atomic_load(&session->gap.late);
    double by = (double)atomic_load(&session->gap.late_by) / (double)session->stream.info.rate;
    if (late == session->late_logged)
        return;
    session->late_logged = late;
    if (listen_trial_runs(session))
        listen_trial_log_late_switch(session, by);
}

/* Replaces all masks by matched copies. The sounding mask is the last: while it fades, no other can
 * be replaced. In a test, it changes at the switch that starts the trial. */
static enum status replace_masks(struct listen_session *session)
{
    struct choices *choices = session->stream.chain.choices;
    bool test = session->stream.blind;
    size_t count = slot_count(session), sounding = choices_sounding(choices);
    enum status status = STATUS_OK;
    for (size_t i = 1; i <= count && status == STATUS_OK; i++) {
        size_t slot = (sounding + i) % count;
        struct mask *mask;
        status = listen_match_mask(&session->matching,
                                   live_chain_mask_of(&session->stream.chain, slot), &mask);
        if (status != STATUS_OK)
            break;
        status = choices_replace(choices, slot, mask, test ? NULL : &session->stream.way);
        mask_destroy(mask);
    }
    return status;
}

static void measure(struct listen_session *session)
{
    const struct mask_levels_sound sound = {
        .block = &session->recent,
        .rate = session->stream.info.rate,
        .before =
            session->recent.frames - (size_t)(LISTEN_RECENT * (double)session->stream.info.rate),
    };
    bool changed;
    session->measured_at = stream_session_seconds(&session->stream);
    if (listen_match_measure(&session->matching, &sound, &changed) != STATUS_OK || !changed ||
        replace_masks(session) != STATUS_OK)
        return;
    for (size_t i = 0; i < session->matching.count; i++) {
        char text[400];
        listen_match_describe(&session->matching, i, text, sizeof text);
        view_message(session->stream.view, "%s", text);
    }
}

/* Measures a live input periodically; in a test only before each trial. */
static void follow_input(struct listen_session *session)
{
    struct listen_trial *trial = &session->trial;
    bool test = session->stream.blind;
    bool due =
        test ? trial->begins
             : stream_session_seconds(&session->stream) > session->measured_at + MEASURE_EVERY;
    bool is_matched_live =
        !session->player && session->matching.count > 1 && session->options->by != LEVEL_MATCH_NONE;
    if (!is_matched_live || !due || session->stream.leaving ||
        !listen_source_recent(&session->source, &session->recent))
        return;
    measure(session);
    if (test)
        listen_trial_begin(session);
}

void listen_switch_update(struct listen_session *session)
{
    struct choices *choices = session->stream.chain.choices;
    size_t choice;
    uint64_t at;
    if (!choices)
        return;
    (void)choices_poll(choices, &choice, &at);
    if (choices_are_switching(choices) || switch_gap_is_under_way(&session->gap))
        return;
    log_late_switch(session);
    follow_input(session);
    if (session->stream.next[STREAM_SWITCH].is_asked)
        ask(session);
    (void)choices_poll(choices, &choice, &at);
}
