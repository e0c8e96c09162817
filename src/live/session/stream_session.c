#include "live/session/stream_session.h"

#include "base/json_text.h"
#include "base/monotonic.h"
#include "base/plural.h"
#include "base/stop.h"
#include "chain/report.h"
#include "signal/audio.h"
#include "sound/file/sound_format.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PERIOD_MOST = 1 << 13,     /* frames: longest period that is used as a block */
    RECENT = 1 << 13,          /* number of recent blocks, for p99 */
    STALE = 16,                /* p99 is found again when one in this many recent blocks is new */
    CALL_SLACK = 50 * 1000000, /* ns by which any system may call late */
    OSC_TICK = 25,             /* ms between the meters that are sent by OSC */
    WEB_TICK = 50,             /* ms between the meters that pages are sent */
    SWITCH_TICK = 10,          /* ms while masks are switched, since another change may wait */
    AWAY_TICK = 200,           /* ms between attempts to open a lost device again */
};

static const double FADE_OUT_MOST = 0.6; /* seconds that the final fade-out may take */
static const double GAIN_STEP_DB = 1;

/* ---- the load of the step ---- */

static enum status live_load_init(struct live_load *load, uint32_t rate)
{
    *load = (struct live_load){0};
    TRY(ledger_init(&load->ledger, rate));
    load->recent = calloc(RECENT, sizeof *load->recent);
    load->ordered = calloc(RECENT, sizeof *load->ordered);
    return load->recent && load->ordered ? STATUS_OK : fail_memory("the load of a stream");
}

static void live_load_free(struct live_load *load)
{
    free(load->recent);
    free(load->ordered);
    ledger_free(&load->ledger);
}

static void add_time(struct live_load *load, const struct block_time *time)
{
    double share = (double)time->ns / (double)time->lasts;
    load->recent[load->count++ % RECENT] = (float)share;
    load->sum += share;
    if (share > load->now)
        load->now = share;
    if (share > load->worst)
        load->worst = share;
}

static void exchange(float *a, float *b)
{
    float kept = *a;
    *a = *b;
    *b = kept;
}

/* The value at position `rank` if the values were sorted. Sorts only as much as needed. */
static float select_value(float *values, size_t count, size_t rank)
{
    size_t from = 0, end = count;
    while (end - from > 1) {
        float pivot = values[from + (end - from) / 2];
        size_t below = from, equal = from;
        for (size_t i = from; i < end; i++) {
            if (values[i] > pivot)
                continue;
            bool is_below = values[i] < pivot;
            exchange(&values[i], &values[equal]);
            if (is_below)
                exchange(&values[equal], &values[below++]);
            equal++;
        }
        if (rank >= below && rank < equal)
            return pivot;
        end = rank < below ? below : end;
        from = rank < below ? from : equal;
    }
    return values[from];
}

static void live_load_update(struct live_load *load, struct live *live, struct live_log *log)
{
    struct block_time time;
    load->now = 0;
    load->unseen = live_dropped_times(live);
    ledger_watch(&load->ledger);
    while (live_read_time(live, &time)) {
        add_time(load, &time);
        live_log_outage(log, ledger_add(&load->ledger, &time));
    }
    size_t recent = load->count < RECENT ? load->count : RECENT;
    size_t fresh = load->count - load->found_at;
    if (fresh == 0 || fresh < recent / STALE)
        return;
    load->found_at = load->count;
    memcpy(load->ordered, load->recent, recent * sizeof *load->ordered);
    load->p99 = (double)select_value(load->ordered, recent, (recent * 99 + 99) / 100 - 1);
}

double live_load_p999(const struct live_load *load)
{
    size_t recent = load->count < RECENT ? load->count : RECENT;
    if (recent == 0)
        return 0;
    memcpy(load->ordered, load->recent, recent * sizeof *load->ordered);
    return (double)select_value(load->ordered, recent, (recent * 999 + 999) / 1000 - 1);
}

/* ---- start ---- */

/* If nothing states the layout of the input, uses the usual one for its number of channels. JACK,
 * ALSA, and PulseAudio through ALSA do not state it, but a mask may name channels. */
static void guess_layout(struct stream_session *session, struct stream_format *format)
{
    char text[CHANNEL_LAYOUT_TEXT];
    if (channel_layout_is_known(format->layout) || session->options->layout ||
        session->options->device.input_map_count)
        return;
    format->layout = channel_layout_usual(format->channels);
    session->layout_is_guessed = channel_layout_is_known(format->layout);
    if (session->layout_is_guessed && format->channels > 2)
        note("%s does not tell its channel layout: its %zu channels are taken for %s; see --layout",
             session->device_name, format->channels,
             channel_layout_name(format->layout, format->channels, text));
}

/* Sets the input's layout. It stays when the device is opened again: the chain was made for it. */
static enum status settle_layout(struct stream_session *session, bool is_first)
{
    struct stream_format format = {.channels = session->info.channels_in,
                                   .layout = session->info.layout_in};
    if (!is_first || format.channels == 0)
        return STATUS_OK;
    TRY(stated_layout_apply(session->options->layout, session->device_name, &format));
    guess_layout(session, &format);
    session->layout = format.layout;
    return STATUS_OK;
}

enum status stream_session_open_device(struct stream_session *session, uint32_t rate,
                                       size_t outputs)
{
    struct device_request request = session->options->device;
    bool is_first = !session->device_name[0];
    request.latency_least = session->latency_least;
    if (rate)
        request.rate = rate;
    if (outputs && !request.output_map_count)
        request.channels_out = outputs;
    if (!request.input_map_count)
        request.channels_in = play_options_channels(session->options);
    if (outputs)
        request.layout_out = session->chain.layout;
    TRY(device_open(&request, &session->device));
    device_info(session->device, &session->info);
    device_describe(&session->info, session->device_name, sizeof session->device_name);
    return settle_layout(session, is_first);
}

struct live_chain_request stream_session_chain_request(const struct stream_session *session,
                                                       size_t channels)
{
    const struct play_options *options = session->options;
    const struct device_info *info = &session->info;
    bool keeps_period = !info->varies && info->period <= PERIOD_MOST;
    return (struct live_chain_request){
        .options = &options->chain,
        .stage = options->choosing,
        .others = options->others,
        .other_count = options->other_count,
        .format = {.rate = info->rate, .channels = channels, .layout = session->layout},
        .block = keeps_period ? info->block : options->device.block,
        .priority = info->priority,
        .live = true,
    };
}

enum status stream_session_match_outputs(struct stream_session *session, uint32_t rate,
                                         const char *makers)
{
    size_t outputs = session->chain.filter->outputs;
    if (session->info.channels_out >= outputs)
        return STATUS_OK;
    if (session->options->device.output_map_count)
        return fail(CAUSE_UNSUPPORTED, "%s %zu channel%s, --output-map names %zu", makers, outputs,
                    plural_s(outputs), session->info.channels_out);
    enum status status = device_close(session->device);
    session->device = NULL;
    TRY(status);
    return stream_session_open_device(session, rate, outputs);
}

struct live_settings stream_session_settings(const struct stream_session *session)
{
    return (struct live_settings){
        .rate = session->info.rate,
        .ceiling = audio_from_db(session->ceiling_db),
        .gain = audio_from_db(session->gain_db),
        .dry = session->dry,
        .muted = session->muted,
        .guard = !session->info.is_deaf,
        .stages = &session->chain.stages,
        .device_outputs = session->info.channels_out,
        .device = session->device_name,
        .freewheels = session->info.priority < 0,
    };
}

/* ns by which calls may be late (ledger.h): the device's buffers, since calls come in groups. */
static int64_t slack_of(const struct device_info *info)
{
    uint64_t frames = info->input_latency + info->output_latency + 2 * info->period;
    return info->priority < 0 ? INT64_MAX /* the device does not run in real time */
                              : CALL_SLACK + (int64_t)(1e9 * (double)frames / (double)info->rate);
}

enum status stream_session_make_controls(struct stream_session *session)
{
    TRY(live_controls_init(&session->controls, &session->chain.stages, session->live));
    session->controls.chain = &session->chain;
    session->controls.way = &session->way;
    return STATUS_OK;
}

enum status stream_session_make_live(struct stream_session *session,
                                     const struct live_settings *settings,
                                     struct recorder *recorder, struct recorder *recorder_dry)
{
    struct filter *filter = session->chain.filter;
    uint32_t rate = session->info.rate;
    session->way = session->options->way;
    session->way.frames = (uint64_t)(session->options->fade * (double)rate);
    TRY(live_create(settings, filter, recorder, recorder_dry, &session->live));
    TRY(stream_session_make_controls(session));
    TRY(live_load_init(&session->load, rate));
    session->load.ledger.slack = slack_of(&session->info);
    return STATUS_OK;
}

/* ---- another chain ---- */

/* Copies the controls' values to a new chain with the same stages. The device does not run. */
static void carry_controls(struct stream_session *session, const struct live_controls *old)
{
    struct live_controls *controls = &session->controls;
    for (size_t i = 0; i < controls->count && i < old->count; i++) {
        controls->controls[i].value = old->controls[i].value;
        controls->changed[i] = old->changed[i];
        stage_controls_set(controls->stages, &controls->controls[i], old->controls[i].value);
    }
    controls->chosen = old->chosen < controls->count ? old->chosen : 0;
}

static void carry_choice(struct stream_session *session, const struct choices *old)
{
    if (old && choices_asked(old) != session->chain.request.first)
        choices_ask(session->chain.choices, choices_asked(old), 0, &session->way);
}

enum status stream_session_exchange(struct stream_session *session, struct live_chain *chain,
                                    const struct live_settings *settings)
{
    struct live_chain old = session->chain;
    struct live_controls controls = session->controls;
    struct live *live = session->live;
    session->chain = *chain; /* `settings` and the controls refer to the stages in session->chain */
    session->live = NULL;
    session->controls = (struct live_controls){0};
    enum status status = live_create(settings, session->chain.filter, NULL, NULL, &session->live);
    if (status == STATUS_OK)
        status = stream_session_make_controls(session);
    if (status != STATUS_OK)
        goto fail;
    session->way.frames = (uint64_t)(session->options->fade * (double)settings->rate);
    ledger_set_rate(&session->load.ledger, settings->rate);
    carry_controls(session, &controls);
    carry_choice(session, old.choices);
    live_chain_carry_bands(&session->chain, &old);
    live_controls_free(&controls);
    live_destroy(live);
    live_chain_free(&old);
    return STATUS_OK;
fail:
    live_controls_free(&session->controls);
    live_destroy(session->live);
    live_chain_free(&session->chain);
    session->controls = controls;
    session->live = live;
    session->chain = old;
    return status;
}

/* ---- end ---- */

void stream_session_stop_device(struct stream_session *session)
{
    if (!session->device)
        return;
    session->stalled = 0;
    session->device_notice = NULL;
    stream_session_halt(session);
    enum status status = device_close(session->device);
    session->closed = session->closed == STATUS_OK ? status : session->closed;
    session->device = NULL;
}

void stream_session_halt(struct stream_session *session)
{
    if (session->device)
        session->stuck = session->stuck || !device_stop(session->device);
}

bool stream_session_stop(struct stream_session *session)
{
    stream_session_stop_device(session);
    view_close(session->view);
    session->view = NULL;
    if (session->stuck)
        warning("the device's thread hangs and is abandoned");
    return !session->stuck;
}

void stream_session_free(struct stream_session *session)
{
    live_controls_free(&session->controls);
    live_destroy(session->live);
    live_load_free(&session->load);
    live_chain_free(&session->chain);
}

/* ---- while it runs ---- */

static void handle_event(struct stream_session *session, const struct live_event *event)
{
    bool is_control = event->what == LIVE_STAGE_CONTROL;
    session->changed = true;
    live_log_event(session->log, event,
                   is_control ? live_controls_symbol(&session->controls, event) : NULL);
    if (event->what != LIVE_FEEDBACK && event->what != LIVE_TRY)
        return;
    session->muted = session->feedback_seen = event->what == LIVE_FEEDBACK;
    if (event->what == LIVE_TRY) {
        view_message(session->view, event->value < 1 ? "feedback: tried again, quietly"
                                                     : "heard no feedback: at the full level");
        return;
    }
    session->feedback_count++;
    char at[32] = "";
    if (event->value > 0)
        snprintf(at, sizeof at, " at %.0f Hz", event->value);
    view_warning(session->view, "feedback%s: muted for a while; lower a level", at);
}

static void show_notices(struct stream_session *session)
{
    struct filter *filter = session->chain.filter;
    const char *notice = filter->notice;
    if (notice)
        view_warning(session->view, "%s", notice);
    /* does nothing if there is a new notice already */
    (void)atomic_compare_exchange_strong(&filter->notice, &notice, NULL);
    if (session->controls.notice)
        view_message(session->view, "%s", session->controls.notice);
    session->controls.notice = NULL;
}

/* Shows a message when the device stops answering, and when it answers again. */
static void show_stall(struct stream_session *session)
{
    double stalled = device_stalled(session->device);
    if (stalled > 0 && session->stalled == 0)
        view_warning(session->view, "%s does not answer; waiting for it", session->device_name);
    if (stalled == 0 && session->stalled > 0)
        view_warning(session->view, "%s answers again, after %.1f s", session->device_name,
                     session->stalled);
    session->stalled = stalled;
}

static void update_device(struct stream_session *session)
{
    const char *notice = device_notice(session->device);
    device_info(session->device, &session->info);
    device_describe(&session->info, session->device_name, sizeof session->device_name);
    session->load.ledger.slack = slack_of(&session->info);
    device_set_latency(session->device, (uint64_t)session->chain.filter->latency +
                                            live_adapter_latency(session->live));
    show_stall(session);
    if (notice && notice != session->device_notice)
        view_warning(session->view, "%s", notice);
    session->device_notice = notice;
}

static void log_done(struct stream_session *session, size_t stage,
                     const struct live_chain_done *done)
{
    const struct live_chain *chain = &session->chain;
    if (done->event == LIVE_CHAIN_PUT)
        live_log_load(session->log, done->choice, chain->texts[done->choice],
                      live_frames(session->live));
    else if (done->event == LIVE_CHAIN_SWITCHED)
        live_log_switch(session->log, done->choice, done->at, &session->way);
    else
        live_log_bands(session->log, stage, chain->stages.stages[stage].text, done->at, &done->way);
}

void stream_session_switch(struct stream_session *session, bool is_over)
{
    for (size_t i = 0; i < session->chain.stages.count; i++) {
        struct live_chain_done done = live_chain_advance(&session->chain, i, is_over);
        while (done.event != LIVE_CHAIN_NOTHING) {
            log_done(session, i, &done);
            session->changed = true;
            if (is_over)
                break;
            done = live_chain_advance(&session->chain, i, false);
        }
    }
}

void stream_session_update(struct stream_session *session)
{
    struct live_event event;
    const struct live_change *change = live_change_of(session->live);
    bool switching =
        live_chain_is_switching(&session->chain) || (change && live_change_is_under_way(change));
    session->load.ledger.switching = switching || session->was_switching;
    session->was_switching = switching;
    live_load_update(&session->load, session->live, session->log);
    session->reduction_most = fmax(session->reduction_most, live_reduction(session->live));
    while (live_receive(session->live, &event))
        handle_event(session, &event);
    show_notices(session);
    if (session->device)
        update_device(session);
}

double stream_session_seconds(const struct stream_session *session)
{
    return (double)live_frames(session->live) / (double)session->chain.request.format.rate;
}

/* ---- changes ---- */

static void send_event(struct stream_session *session, enum live_control what, double value)
{
    const struct live_event event = {.what = what, .value = value};
    if (!live_send(session->live, &event))
        view_message(session->view, "too many changes at once: one was ignored");
}

void stream_session_leave(struct stream_session *session)
{
    if (!session->leaving)
        send_event(session, LIVE_END, 0);
    session->leaving = true;
}

void stream_session_set_dry(struct stream_session *session, bool dry)
{
    if (session->dry != dry)
        send_event(session, LIVE_DRY, dry);
    session->dry = dry;
}

/* In a blind test, amplification is not allowed: the limiter would affect masks differently. */
void stream_session_set_gain(struct stream_session *session, double db)
{
    double most = session->blind ? 0 : STREAM_GAIN_MOST_DB;
    session->gain_db = fmin(most, fmax(STREAM_GAIN_LEAST_DB, db));
    send_event(session, LIVE_GAIN, audio_from_db(session->gain_db));
}

void stream_session_set_ceiling(struct stream_session *session, double db)
{
    session->ceiling_db = db;
    send_event(session, LIVE_CEILING, audio_from_db(db));
}

void stream_session_set_mute(struct stream_session *session, bool muted)
{
    session->muted = muted;
    session->feedback_seen = false;
    send_event(session, LIVE_MUTE, muted);
}

bool stream_session_key(struct stream_session *session, int key)
{
    bool louder = key == ']' || key == '>';
    if (louder || key == '[' || key == '<') /* in halo listen, [ and ] set the loop */
        stream_session_set_gain(session,
                                session->gain_db + (louder ? GAIN_STEP_DB : -GAIN_STEP_DB));
    else if (key == 'm')
        stream_session_set_mute(session, !session->muted);
    else if (key == 'q')
        stream_session_leave(session);
    else if (session->blind)
        return false;
    else if (key == ' ' || key == '0') /* 0 is dry, as displayed */
        stream_session_set_dry(session, key == '0' || !session->dry);
    else
        return live_controls_key(&session->controls, key);
    return true;
}

/* ---- display and report ---- */

uint64_t stream_session_blocks_from_cpu(const struct live_chain *chain)
{
    const struct filter *convolver = live_chain_convolver(chain);
    return convolver ? convolver_late(convolver) : 0;
}

/* Reads the meters: peaks since the last call, and counts. */
static void read_meters(struct stream_session *session)
{
    live_read_meters(session->live, session->in, session->out);
    session->clips_in = session->bad_in = 0;
    for (size_t c = 0; c < session->chain.filter->inputs; c++) {
        session->clips_in += session->in[c].clips;
        session->bad_in += session->in[c].bad;
    }
}

static const char *show_device(struct stream_session *session)
{
    if (session->stalled == 0)
        return session->device_name;
    snprintf(session->device_text, sizeof session->device_text, "%s, no answer for %.0f s",
             session->device_name, session->stalled);
    return session->device_text;
}

struct live_status stream_session_status(struct stream_session *session, const char *command)
{
    const struct live_chain *chain = &session->chain;
    const struct filter *convolver = live_chain_convolver(chain);
    const struct live_load *load = &session->load;
    size_t mask = live_chain_mask_latency(chain);
    bool is_wet = !session->dry && chain->choices;
    size_t chosen = is_wet ? live_chain_mask_of(chain, choices_asked(chain->choices)) + 1 : 0;
    return (struct live_status){
        .command = command,
        .seconds = stream_session_seconds(session),
        .frames = live_frames(session->live),
        .rate = session->info.rate,
        .block = session->info.varies ? chain->filter->block : session->info.period,
        .device = show_device(session),
        .inputs = chain->filter->inputs,
        .outputs = chain->filter->outputs,
        .in = session->in,
        .out = session->out,
        .choices = session->blind ? 0 : chain->choice_count,
        .names = chain->names,
        .chosen = chosen <= chain->choice_count ? chosen : 0, /* 0 is a choice, too */
        .without_dry = session->blind,
        .switching = chain->choices && choices_are_switching(chain->choices),
        .hidden = session->blind,
        .control = live_controls_show(&session->controls),
        .gain_db = session->gain_db,
        .muted = session->muted,
        .feedback_seen = session->feedback_seen,
        .reduction_db = -live_reduction(session->live),
        .ceiling_db = session->ceiling_db,
        .load_now = load->now,
        .load_p99 = load->p99,
        .load_worst = load->worst,
        .late = load->ledger.late,
        .lost = load->ledger.lost,
        .latency_input = session->info.input_latency,
        .latency_mask = mask,
        .latency_plugins = (size_t)chain->filter->latency - mask,
        .latency_output = session->info.output_latency,
        .latency_adapter = live_adapter_latency(session->live),
        .has_bridge = session->info.has_bridge,
        .latency_bridge = session->info.bridge_latency,
        .ratio_ppm = session->info.ratio_ppm,
        .backend = convolver ? convolver_backend(convolver) : NULL,
        .keys = session->keys,
    };
}

enum status stream_session_report_json(const struct stream_session *session,
                                       const struct live_status *status, json_t *own)
{
    json_t *object =
        json_pack("{s:s, s:o, s:I, s:f, s:I, s:I, s:I, s:I, s:s*, s:s}", "event", "report",
                  "device", json_text(session->device_name), "frames", (json_int_t)status->frames,
                  "seconds", status->seconds, "rate", (json_int_t)status->rate, "block",
                  (json_int_t)status->block, "inputs", (json_int_t)status->inputs, "outputs",
                  (json_int_t)status->outputs, "backend", status->backend, "precision",
                  precision_names[stage_list_precision(&session->chain.stages)]);
    json_t *end = json_pack("{s:I, s:o, s:o, s:o}", "unseen", (json_int_t)session->load.unseen,
                            "ledger", ledger_json(&session->load.ledger), "verdict",
                            ledger_verdict_json(&session->load.ledger, session->info.priority),
                            "stages", report_stages(&session->chain.stages));
    struct channel_layout in = session->chain.request.format.layout;
    json_object_set_new(object, "layout_in", report_layout(in, status->inputs));
    json_object_set_new(object, "layout", report_layout(session->chain.layout, status->outputs));
    int error = json_object_update(object, own) == 0 && json_object_update(object, end) == 0
                    ? json_write(json_incref(object), JSON_COMPACT, stdout)
                    : ENOMEM;
    json_decref(object);
    json_decref(own);
    json_decref(end);
    return error ? fail_errno(error, "cannot write the report") : STATUS_OK;
}

void stream_session_report_ledger(const struct stream_session *session)
{
    if (session->load.unseen > 0)
        warning("%llu block%s not watched: the control thread was late",
                (unsigned long long)session->load.unseen,
                session->load.unseen == 1 ? " was" : "s were");
    ledger_print(&session->load.ledger, session->info.priority);
}

void stream_session_report_end(const struct stream_session *session)
{
    report_print_stages(&session->chain.stages);
    if (session->clips_in > 0)
        warning("the input clipped %llu time%s", (unsigned long long)session->clips_in,
                plural_s(session->clips_in));
    if (session->bad_in > 0)
        warning("the input had %llu invalid sample%s (NaN or infinite)",
                (unsigned long long)session->bad_in, plural_s(session->bad_in));
    if (session->reduction_most > 0)
        warning("the limiter reduced up to %.1f dB", session->reduction_most);
}

/* ---- requests ---- */

void stream_session_ask(struct stream_session *session, enum stream_request_kind kind,
                        const struct stream_request *request, const struct live_command *command)
{
    struct stream_request *next = &session->next[kind];
    *next = *request;
    next->is_asked = true;
    if (!command || command->sender.size == 0) /* pages see the warning */
        return;
    next->path = command->path;
    next->sender = command->sender;
}

struct stream_request *stream_session_begin_request(struct stream_session *session,
                                                    enum stream_request_kind kind)
{
    session->current[kind] = session->next[kind];
    session->next[kind] = (struct stream_request){0};
    return &session->current[kind];
}

void stream_session_end_request(struct stream_session *session, struct stream_request *request,
                                const char *reason)
{
    if (*reason && request->path)
        osc_refuse(session->osc, &request->sender, request->path, reason);
    else if (*reason)
        view_warning(session->view, "%s", reason);
    free(request->text);
    session->changed = true;
    *request = (struct stream_request){0};
}

/* ---- the loop ---- */

/* Whether the stream can end: the fade-out is done or impossible. */
static bool is_over(struct stream_session *session, const struct stream_command *command)
{
    double seconds = session->options->seconds;
    if (stop_requested() || (seconds > 0 && stream_session_seconds(session) >= seconds))
        command->leave(session);
    if (!session->leaving)
        return false;
    if (session->deadline == 0)
        session->deadline = monotonic_seconds() + FADE_OUT_MOST;
    return live_has_faded_out(session->live) || !session->device ||
           monotonic_seconds() > session->deadline;
}

/* ms until the next round. Each wakes the processor, so only as many as display and OSC need. */
static int tick_of(const struct stream_session *session, const struct stream_command *command)
{
    if (command->tick)
        return command->tick;
    if (!session->device)
        return AWAY_TICK;
    if (live_chain_is_switching(&session->chain))
        return SWITCH_TICK;
    if (osc_is_subscribed(session->osc))
        return OSC_TICK;
    int tick = view_tick(session->view);
    return live_web_has_pages(session->web) && tick > WEB_TICK ? WEB_TICK : tick;
}

static void take_commands(struct stream_session *session, const struct stream_command *command)
{
    struct pollfd fds[] = {
        {.fd = view_key_fd(session->view), .events = POLLIN},
        {.fd = session->osc ? osc_fd(session->osc) : -1, .events = POLLIN},
        {.fd = session->osc ? osc_local_fd(session->osc) : -1, .events = POLLIN},
        {.fd = session->web ? live_web_fd(session->web) : -1, .events = POLLIN},
    };
    int key;
    (void)poll(fds, sizeof fds / sizeof *fds, tick_of(session, command));
    if (command->before_keys)
        command->before_keys(session);
    while ((key = view_key(session->view)) != VIEW_KEY_NONE)
        command->key(session, key);
    command->after_keys(session, fds[0].fd < 0);
}

/* Whether to show something. Many messages that wake the control thread do not make it due. */
static bool is_due(struct stream_session *session)
{
    static const double LEAST = 0.02; /* seconds between two times for OSC and pages */
    double now = monotonic_seconds();
    bool is_heard = osc_is_subscribed(session->osc) || live_web_has_pages(session->web);
    if (!view_is_due(session->view) && !(is_heard && now >= session->shown_at + LEAST))
        return false;
    session->shown_at = now;
    return true;
}

static enum status run_rounds(struct stream_session *session, const struct stream_command *command)
{
    while (!is_over(session, command)) {
        TRY(command->check_device(session));
        take_commands(session, command);
        command->update(session);
        if (!is_due(session))
            continue;
        read_meters(session);
        command->show(session);
    }
    return STATUS_OK;
}

enum status stream_session_run(struct stream_session *session, const struct stream_command *command)
{
    enum status status = run_rounds(session, command);
    stream_session_halt(session);
    command->update(session);
    read_meters(session);
    if (command->finish)
        command->finish(session);
    view_close(session->view); /* before the report is printed */
    session->view = NULL;
    enum status reported = command->report(session);
    return status == STATUS_OK ? reported : status;
}
