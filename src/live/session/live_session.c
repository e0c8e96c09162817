#include "live/session/live_session.h"

#include "base/plural.h"
#include "base/stop.h"
#include "live/session/live_pages.h"
#include "live/web/spectrum.h"
#include "signal/audio.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double RING_SECONDS = 10; /* capacity of a recording's ring, for slow disks */

/* ---- start ---- */

static enum status match_outputs(struct live_session *session)
{
    struct stream_session *stream = &session->stream;
    const struct device_info before = stream->info;
    enum status status = stream_session_match_outputs(stream, 0, "the chain makes");
    if (status == STATUS_OK &&
        (stream->info.rate != before.rate || stream->info.period != before.period))
        note("with %zu channels the device has periods of %zu frames",
             stream->chain.filter->outputs, stream->info.period);
    return status;
}

static enum status open_recordings(struct live_session *session,
                                   const struct live_settings *settings)
{
    const struct live_options *options = session->options;
    struct stream_session *stream = &session->stream;
    const struct filter *filter = stream->chain.filter;
    struct channel_layout layout = stream->chain.request.format.layout;
    const struct stream_format formats[] = {
        {stream->info.rate, filter->outputs, stream->chain.layout},
        {stream->info.rate, filter->inputs, layout},
    };
    const char *named = options->record ? options->record : options->record_dry;
    for (size_t i = 0; i < LIVE_RECORDINGS; i++) {
        struct live_recording *recording = &session->recordings[i];
        struct stream_format format = formats[i];
        if (stream->layout_is_guessed)
            format.layout = channel_layout_implied(format.channels);
        if (recording->path)
            TRY(recorder_open(recording->path, options->play.force, &format, RING_SECONDS,
                              &recording->recorder));
    }
    if (!named)
        return STATUS_OK;
    if (asprintf(&session->log_path, "%s.log", named) < 0)
        return fail_memory("a log");
    return live_log_open(session->log_path, options->play.force, &stream->chain, settings,
                         &stream->log);
}

struct live_settings live_session_settings(const struct live_session *session)
{
    const struct stream_session *stream = &session->stream;
    struct live_settings settings = stream_session_settings(stream);
    settings.guard = settings.guard && session->options->guard;
    settings.history = live_change_history(stream->chain.filter->inputs, stream->info.rate);
    if (session->options->web.wanted)
        settings.heard = spectrum_history(stream->chain.filter->outputs, stream->info.rate);
    return settings;
}

static enum status make_live(struct live_session *session)
{
    struct stream_session *stream = &session->stream;
    stream->muted = session->options->muted;
    struct live_settings settings = live_session_settings(session);
    TRY(open_recordings(session, &settings));
    return stream_session_make_live(stream, &settings, session->recordings[0].recorder,
                                    session->recordings[1].recorder);
}

static enum status begin(struct live_session *session)
{
    const struct live_options *options = session->options;
    struct stream_session *stream = &session->stream;
    live_control_show_keys(session);
    live_preset_begun(session);
    if (options->save_preset)
        TRY(live_preset_save(session, options->save_preset, options->play.force));
    device_report_grants(&stream->info);
    if (options->guard && stream->info.is_deaf)
        note_detail("no feedback guard: the input cannot hear the output");
    if (options->osc && options->osc_port == 0)
        note("OSC control on port %u", osc_port(session->stream.osc));
    TRY(view_open(play_options_view(&options->play), options->play.interval, &stream->view));
    TRY(live_log_keep(stream->log)); /* last, since this replaces the old files */
    for (size_t i = 0; i < LIVE_RECORDINGS; i++)
        TRY(recorder_keep(session->recordings[i].recorder));
    live_pages_begin(session);
    session->begun = true;
    device_run(stream->device, live_step, stream->live);
    return STATUS_OK;
}

struct live_chain_request live_session_chain_request(const struct live_session *session,
                                                     size_t channels)
{
    const struct live_options *options = session->options;
    struct live_chain_request request = stream_session_chain_request(&session->stream, channels);
    if (session->presets.preset)
        request = preset_chain_request(session->presets.preset, &request);
    request.proof = &options->proof;
    request.equalises = true;
    request.capacity = options->watch || options->osc || options->web.wanted ? LIVE_CAPACITY : 0;
    return request;
}

static enum status session_open(struct live_session *session, const struct live_options *options)
{
    *session = (struct live_session){
        .stream = {.options = &options->play, .ceiling_db = options->play.ceiling_db},
        .options = options,
        .recordings = {{.path = options->record}, {.path = options->record_dry}},
    };
    TRY(live_preset_begin(session));
    TRY(stream_session_open_device(&session->stream, 0, 0));
    TRY(live_for_device_begin(session));
    struct live_chain_request request =
        live_session_chain_request(session, session->stream.info.channels_in);
    TRY(live_chain_init(&session->stream.chain, &request));
    TRY(match_outputs(session));
    TRY(live_for_device_check(session));
    TRY(osc_open(options->osc ? (int)options->osc_port : OSC_NO_PORT, &session->stream.osc));
    if (options->watch)
        TRY(live_control_watch(session));
    TRY(live_pages_open(session));
    TRY(make_live(session)); /* last, since this creates files */
    return begin(session);
}

/* ---- end ---- */

static enum status close_recording(const struct live_session *session, struct live_recording *own)
{
    struct recording recording;
    if (!own->recorder)
        return STATUS_OK;
    enum status status = recorder_close(own->recorder, &recording);
    own->recorder = NULL;
    if (session->begun && status == STATUS_OK)
        note("%s: %.3f s recorded", own->path,
             (double)recording.frames / (double)session->stream.chain.request.format.rate);
    if (recording.lost > 0)
        warning("%s: %llu frame%s lost and silence there", own->path,
                (unsigned long long)recording.lost, recording.lost == 1 ? " was" : "s were");
    return status;
}

void live_session_end_recordings(struct live_session *session)
{
    struct stream_session *stream = &session->stream;
    for (size_t i = 0; i < LIVE_RECORDINGS; i++) {
        enum status closed = close_recording(session, &session->recordings[i]);
        stream->closed = stream->closed == STATUS_OK ? closed : stream->closed;
    }
    live_log_close(stream->log);
    stream->log = NULL;
}

static enum status session_close(struct live_session *session)
{
    live_pages_close(session);
    bool stopped = stream_session_stop(&session->stream);
    live_edit_close(session);
    if (stopped)
        live_preset_close(session);
    live_control_end_loads(session);
    osc_close(session->stream.osc);
    file_watch_close(session->watch);
    if (!stopped) /* if halo was stopped, the files stay as after a crash */
        return STATUS_FAILED;
    live_session_end_recordings(session);
    enum status status = session->stream.closed;
    free(session->log_path);
    stream_session_free(&session->stream);
    preset_destroy(session->presets.preset);
    return status;
}

/* ---- what is shown ---- */

static const char *active_recording(const struct live_session *session)
{
    for (size_t i = 0; i < LIVE_RECORDINGS; i++)
        if (session->recordings[i].recorder && !session->recordings[i].ended)
            return session->recordings[i].path;
    return NULL;
}

static struct live_status make_status(struct live_session *session)
{
    struct stream_session *stream = &session->stream;
    struct live_status status = stream_session_status(stream, "halo live");
    status.device = stream->device ? status.device : "lost: waiting for it";
    status.recording = active_recording(session);
    status.recorded = status.recording ? status.seconds : 0;
    const struct live_presets *presets = &session->presets;
    const char *coming = stream->current[STREAM_PRESET].source.text;
    status.preset = *presets->name ? presets->name : NULL;
    status.coming_preset = *coming ? coming : NULL;
    status.lines = presets->prompt.lines;
    status.line_count = presets->prompt.is_open ? 1 : 0;
    status.question_lines = status.line_count;
    if (stream->blind) { /* These may tell which version is heard. */
        status.backend = status.preset = NULL;
        status.latency_mask = status.latency_plugins = 0;
    }
    status.osc_refused = stream->osc ? osc_refused(stream->osc) : 0;
    return status;
}

static uint64_t blocks_from_cpu(const struct live_session *session)
{
    return session->stream.from_cpu + stream_session_blocks_from_cpu(&session->stream.chain);
}

void live_session_prove(struct live_session *session, struct live_chain *chain, uint64_t until)
{
    proof_end(&session->options->proof, &chain->stages, chain->since, until,
              chain->request.format.rate, &session->proof);
}

/* Proves the last chain. Its last step must be over. If the step hangs, nothing is proven. */
static void prove(struct live_session *session)
{
    struct stream_session *stream = &session->stream;
    struct prepared_preset *coming = session->presets.coming;
    if (!session->options->proof.wanted)
        return;
    stream_session_stop_device(stream);
    if (stream->stuck)
        return;
    live_session_prove(session, &stream->chain, live_frames(stream->live));
    if (coming && live_change_of(stream->live)->has_begun)
        live_session_prove(session, &coming->chain, live_frames(stream->live));
}

/* Returns NULL if input and output have one clock, since there is no bridge then. */
static json_t *bridge_json(const struct live_status *status)
{
    return status->has_bridge
               ? json_pack("{s:I, s:f}", "latency", (json_int_t)status->latency_bridge, "ratio_ppm",
                           status->ratio_ppm)
               : NULL;
}

static enum status report_json(const struct live_session *session, const struct live_status *status)
{
    const struct stream_session *stream = &session->stream;
    const struct live_load *load = &stream->load;
    json_t *own = json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:b, s:I, s:I, s:o*, s:o*}",
        "latency", (json_int_t)live_status_latency(status), "priority",
        (json_int_t)stream->info.priority, "interruptions", (json_int_t)session->interruptions,
        "widened", (json_int_t)session->widened, "blocks", (json_int_t)load->count, "from_cpu",
        (json_int_t)blocks_from_cpu(session), "late", (json_int_t)status->late, "lost",
        (json_int_t)status->lost, "load_mean", load->count ? load->sum / (double)load->count : 0,
        "load_p99", load->p99, "load_p999", live_load_p999(load), "load_worst", load->worst,
        "limiter_most_db", -stream->reduction_most, "feedback_guard",
        live_session_settings(session).guard, "howls", (json_int_t)stream->feedback_count,
        "clips_in", (json_int_t)stream->clips_in, "proof", proof_json(&session->proof), "bridge",
        bridge_json(status));
    return stream_session_report_json(stream, status, own);
}

static enum status report(struct stream_session *stream)
{
    struct live_session *session = (struct live_session *)stream;
    prove(session);
    const struct live_status status = make_status(session);
    const struct live_load *load = &stream->load;
    double ms = 1e3 / (double)status.rate;
    size_t latency = live_status_latency(&status);
    if (stream->options->json)
        return report_json(session, &status);
    note("%.1f s of %s, blocks of %zu frames at %u Hz; latency %zu frame%s, %.1f ms",
         status.seconds, stream->device_name, status.block, status.rate, latency, plural_s(latency),
         ms * (double)latency);
    if (status.has_bridge)
        note("two clocks: the input's at %+.1f ppm of the output's; the bridge between them added "
             "%zu frames",
             status.ratio_ppm, status.latency_bridge);
    void (*print)(const char *format, ...) = status.late + status.lost > 0 ? warning : note;
    print("the step took %.1f %% of its time, p99 %.1f %%, at worst %.1f %%; %llu block%s late, "
          "%llu lost",
          load->count ? 100 * load->sum / (double)load->count : 0, 100 * load->p99,
          100 * load->worst, (unsigned long long)status.late, plural_s(status.late),
          (unsigned long long)status.lost);
    stream_session_report_ledger(stream);
    if (blocks_from_cpu(session) > 0)
        warning("blocks computed by the CPU since the GPU was late: %llu",
                (unsigned long long)blocks_from_cpu(session));
    if (session->interruptions > 0 && session->options->reconnect)
        warning("interruptions by a lost device: %llu", (unsigned long long)session->interruptions);
    if (stream->feedback_count > 0)
        warning("mutes by feedback: %llu", (unsigned long long)stream->feedback_count);
    stream_session_report_end(stream);
    proof_print(&session->proof);
    return STATUS_OK;
}

/* ---- while it runs ---- */

static void check_recordings(struct live_session *session)
{
    for (size_t i = 0; i < LIVE_RECORDINGS; i++) {
        struct live_recording *own = &session->recordings[i];
        const char *problem = own->recorder ? recorder_failure(own->recorder) : NULL;
        own->ended = own->ended || problem;
        if (problem)
            view_warning(session->stream.view, "the recording %s ended: %s", own->path, problem);
    }
}

static void update(struct stream_session *stream)
{
    struct live_session *session = (struct live_session *)stream;
    stream_session_switch(stream, false);
    stream_session_update(stream);
    live_for_device_update(session);
    check_recordings(session);
}

/* Logs the last switch. Switches are logged when they end, and the last one may not have ended. */
static void finish(struct stream_session *stream)
{
    live_preset_finish((struct live_session *)stream);
    if (!stream->stuck)
        stream_session_switch(stream, true);
}

static void show(struct stream_session *stream)
{
    const struct live_status status = make_status((struct live_session *)stream);
    view_show(stream->view, &status);
    if (stream->osc)
        osc_send_meters(stream->osc, &status);
    live_pages_show((struct live_session *)stream, &status);
}

static const struct stream_command commands = {
    .leave = stream_session_leave,
    .check_device = live_device_check,
    .key = live_control_key,
    .after_keys = live_control_advance,
    .update = update,
    .show = show,
    .finish = finish,
    .report = report,
};

enum status live_session_run(const struct live_options *options)
{
    struct live_session session;
    enum status status = session_open(&session, options);
    if (status == STATUS_OK) {
        status = stream_session_run(&session.stream, &commands);
        status = status == STATUS_OK ? session.unproven : status;
        if (status == STATUS_OK)
            status = proof_judge(&session.proof, LIVE_UNPROVEN);
    }
    enum status closed = session_close(&session);
    status = status == STATUS_OK ? closed : status;
    if (status == STATUS_OK)
        stop_is_the_end();
    return status;
}
