#include "live/stream_session.h"

#include "base/json_text.h"
#include "base/monotonic.h"
#include "base/stop.h"
#include "chain/report.h"
#include "signal/audio.h"

#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { PERIOD_MOST = 1 << 13 };     /* frames of a block */
enum { CALL_SLACK = 50 * 1000000 }; /* ns by which any system may call late */

static const double FADE_OUT_MOST = 1; /* seconds, at the end */
static const double GAIN_STEP_DB = 1, GAIN_LEAST_DB = -60, GAIN_MOST_DB = 24;

/* ---- up ---- */

enum status stream_session_open_device(struct stream_session *session, uint32_t rate,
                                       size_t outputs)
{
    struct device_request request = session->options->device;
    if (rate)
        request.rate = rate;
    if (outputs && !request.output_map_count)
        request.channels_out = outputs;
    TRY(device_open(&request, &session->device));
    device_info(session->device, &session->info);
    device_describe(&session->info, session->device_name, sizeof session->device_name);
    return STATUS_OK;
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
        .format = {.rate = info->rate, .channels = channels},
        .block = keeps_period ? info->period : options->device.block,
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
        return fail(STATUS_FAILED, "%s %zu channels, --output-map names %zu", makers, outputs,
                    session->info.channels_out);
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
        .gain = 1,
        .muted = session->muted,
        .stages = &session->chain.stages,
        .device_outputs = session->info.channels_out,
    };
}

/* Calls may come as late as the device's buffers allow, and in bunches. */
static int64_t slack_of(const struct device_info *info)
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
    TRY(live_load_init(&session->load, filter->block, rate));
    session->load.ledger.slack = slack_of(&session->info);
    return STATUS_OK;
}

/* ---- down ---- */

void stream_session_stop_device(struct stream_session *session)
{
    if (!session->device)
        return;
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
    if (event->what != LIVE_FEEDBACK)
        return;
    session->muted = session->feedback_seen = true;
    session->feedback_count++;
    view_warning(session->view, "feedback at %.0f Hz: muted; lower a level, then press m",
                 event->value);
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

void stream_session_update(struct stream_session *session)
{
    struct live_event event;
    const struct choices *choices = session->chain.choices;
    bool switching = choices && choices_are_switching(choices);
    session->load.ledger.switching = switching || session->was_switching;
    session->was_switching = switching;
    live_load_update(&session->load, session->live, session->log);
    while (live_receive(session->live, &event))
        handle_event(session, &event);
    show_notices(session);
    if (session->device)
        device_info(session->device, &session->info);
}

double stream_session_seconds(const struct stream_session *session)
{
    return (double)live_frames(session->live) / (double)session->info.rate;
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
    double most = session->blind ? 0 : GAIN_MOST_DB;
    session->gain_db = fmin(most, fmax(GAIN_LEAST_DB, db));
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

/* ---- what is shown ---- */

void stream_session_read_meters(struct stream_session *session)
{
    live_read_meters(session->live, session->in, session->out);
    session->clips_in = session->bad_in = 0;
    for (size_t c = 0; c < session->chain.filter->inputs; c++) {
        session->clips_in += session->in[c].clips;
        session->bad_in += session->in[c].bad;
    }
    session->reduction_most = fmax(session->reduction_most, live_reduction(session->live));
}

struct live_status stream_session_status(struct stream_session *session, const char *command)
{
    const struct live_chain *chain = &session->chain;
    const struct filter *convolver = live_chain_convolver(chain);
    const struct live_load *load = &session->load;
    size_t mask = live_chain_mask_latency(chain);
    bool is_wet = !session->dry && chain->choices;
    return (struct live_status){
        .command = command,
        .seconds = stream_session_seconds(session),
        .frames = live_frames(session->live),
        .rate = session->info.rate,
        .block = chain->filter->block,
        .device = session->device_name,
        .inputs = chain->filter->inputs,
        .outputs = chain->filter->outputs,
        .in = session->in,
        .out = session->out,
        .choices = session->blind ? 0 : chain->choice_count,
        .names = chain->names,
        .chosen = is_wet ? choices_asked(chain->choices) % chain->choice_count + 1 : 0,
        .without_dry = session->blind,
        .switching = chain->choices && choices_are_switching(chain->choices),
        .hidden = session->blind,
        .control = live_controls_show(&session->controls),
        .gain_db = session->gain_db,
        .muted = session->muted,
        .feedback_seen = session->feedback_seen,
        .reduction_db = -live_reduction(session->live),
        .ceiling_db = session->options->ceiling_db,
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
    int error = json_object_update(object, own) == 0 && json_object_update(object, end) == 0
                    ? json_write(json_incref(object), JSON_COMPACT, stdout)
                    : ENOMEM;
    json_decref(object);
    json_decref(own);
    json_decref(end);
    return error ? fail(STATUS_FAILED, "cannot write the report: %s", strerror(error)) : STATUS_OK;
}

void stream_session_report_ledger(const struct stream_session *session)
{
    if (session->load.unseen > 0)
        warning("%llu blocks were not watched: the control thread was late",
                (unsigned long long)session->load.unseen);
    ledger_print(&session->load.ledger, session->info.priority);
}

void stream_session_report_end(const struct stream_session *session)
{
    report_print_stages(&session->chain.stages);
    if (session->clips_in > 0)
        warning("the input clipped %llu time%s", (unsigned long long)session->clips_in,
                session->clips_in == 1 ? "" : "s");
    if (session->bad_in > 0)
        warning("the input had %llu invalid sample%s (NaN or infinite)",
                (unsigned long long)session->bad_in, session->bad_in == 1 ? "" : "s");
    if (session->reduction_most > 0)
        warning("the limiter reduced up to %.1f dB", session->reduction_most);
}
