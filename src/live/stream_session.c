#include "live/stream_session.h"

#include "base/json_text.h"
#include "base/monotonic.h"
#include "base/plural.h"
#include "base/stop.h"
#include "chain/report.h"
#include "signal/audio.h"
#include "sound/sound_format.h"

#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { PERIOD_MOST = 1 << 13 };     /* frames of a block */
enum { CALL_SLACK = 50 * 1000000 }; /* ns by which any system may call late */

static const double FADE_OUT_MOST = 0.6; /* seconds, at the end */
static const double GAIN_STEP_DB = 1;

/* ---- up ---- */

/* JACK, ALSA and PulseAudio through it say nothing; a mask may name channels all the same. */
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

/* Once: what is made of it stays where the device is opened again. */
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
        .ceiling = audio_from_db(session->options->ceiling_db),
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

int64_t stream_session_slack(const struct device_info *info)
{
    uint64_t frames = info->input_latency + info->output_latency + 2 * info->period;
    return info->priority < 0 ? INT64_MAX /* not in real time */
                              : CALL_SLACK + (int64_t)(1e9 * (double)frames / (double)info->rate);
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
    TRY(live_controls_init(&session->controls, &session->chain.stages, session->live));
    TRY(live_load_init(&session->load, rate));
    session->load.ledger.slack = stream_session_slack(&session->info);
    return STATUS_OK;
}

/* ---- another chain ---- */

/* Values that were changed, for the same stages; the device does not run. */
static void carry_controls(struct stream_session *session, const struct live_controls *old)
{
    struct live_controls *controls = &session->controls;
    for (size_t i = 0; i < controls->count && i < old->count; i++) {
        controls->controls[i].value = old->controls[i].value;
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
    session->chain = *chain; /* where `settings` and the controls look for its stages */
    session->live = NULL;
    session->controls = (struct live_controls){0};
    enum status status = live_create(settings, session->chain.filter, NULL, NULL, &session->live);
    if (status == STATUS_OK)
        status = live_controls_init(&session->controls, &session->chain.stages, session->live);
    if (status != STATUS_OK)
        goto fail;
    session->way.frames = (uint64_t)(session->options->fade * (double)settings->rate);
    ledger_set_rate(&session->load.ledger, settings->rate);
    carry_controls(session, &controls);
    carry_choice(session, old.choices);
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

/* ---- down ---- */

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
    /* It may have given way to another. */
    (void)atomic_compare_exchange_strong(&filter->notice, &notice, NULL);
    if (session->controls.notice)
        view_message(session->view, "%s", session->controls.notice);
    session->controls.notice = NULL;
}

/* Once when it begins, and once when it is over. */
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
    session->load.ledger.slack = stream_session_slack(&session->info);
    device_set_latency(session->device, (uint64_t)session->chain.filter->latency +
                                            live_adapter_latency(session->live));
    show_stall(session);
    if (notice && notice != session->device_notice)
        view_warning(session->view, "%s", notice);
    session->device_notice = notice;
}

void stream_session_update(struct stream_session *session)
{
    struct live_event event;
    const struct choices *choices = session->chain.choices;
    const struct live_change *change = live_change_of(session->live);
    bool switching =
        (choices && choices_are_switching(choices)) || (change && live_change_is_under_way(change));
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

bool stream_session_time_is_up(const struct stream_session *session)
{
    double seconds = session->options->seconds;
    return stop_requested() || (seconds > 0 && stream_session_seconds(session) >= seconds);
}

bool stream_session_is_over(struct stream_session *session)
{
    if (stream_session_time_is_up(session))
        stream_session_leave(session);
    if (!session->leaving)
        return false;
    if (session->deadline == 0)
        session->deadline = monotonic_seconds() + FADE_OUT_MOST;
    return live_has_faded_out(session->live) || !session->device ||
           monotonic_seconds() > session->deadline;
}

/* ---- changes ---- */

static void send(struct stream_session *session, enum live_control what, double value)
{
    const struct live_event event = {.what = what, .value = value};
    if (!live_send(session->live, &event))
        view_message(session->view, "too many changes at once: one was ignored");
}

void stream_session_leave(struct stream_session *session)
{
    if (!session->leaving)
        send(session, LIVE_END, 0);
    session->leaving = true;
}

void stream_session_set_dry(struct stream_session *session, bool dry)
{
    if (session->dry != dry)
        send(session, LIVE_DRY, dry);
    session->dry = dry;
}

/* No amplification in a blind test: the limiter would affect masks differently. */
void stream_session_set_gain(struct stream_session *session, double db)
{
    double most = session->blind ? 0 : STREAM_GAIN_MOST_DB;
    session->gain_db = fmin(most, fmax(STREAM_GAIN_LEAST_DB, db));
    send(session, LIVE_GAIN, audio_from_db(session->gain_db));
}

void stream_session_set_mute(struct stream_session *session, bool muted)
{
    session->muted = muted;
    session->feedback_seen = false;
    send(session, LIVE_MUTE, muted);
}

bool stream_session_key(struct stream_session *session, int key)
{
    if (key == '[' || key == ']')
        stream_session_set_gain(session,
                                session->gain_db + (key == ']' ? GAIN_STEP_DB : -GAIN_STEP_DB));
    else if (key == 'm')
        stream_session_set_mute(session, !session->muted);
    else if (key == 'q')
        stream_session_leave(session);
    else if (session->blind)
        return false;
    else if (key == ' ' || key == '0') /* 0 is dry, as on the screen */
        stream_session_set_dry(session, key == '0' || !session->dry);
    else
        return live_controls_key(&session->controls, key);
    return true;
}
