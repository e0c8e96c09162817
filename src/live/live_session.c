#include "live/live_session.h"

#include "base/stop.h"
#include "signal/audio.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TICK = 25,
    AWAY_TICK = 200
}; /* ms between updates, and between attempts to reopen a lost device */

static const double RING_SECONDS = 10; /* of a recording, for slow disks */

/* ---- up ---- */

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
    const size_t channels[] = {filter->outputs, filter->inputs};
    const char *named = options->record ? options->record : options->record_dry;
    for (size_t i = 0; i < LIVE_RECORDINGS; i++) {
        struct live_recording *recording = &session->recordings[i];
        const struct stream_format format = {.rate = stream->info.rate, .channels = channels[i]};
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

static enum status make_live(struct live_session *session)
{
    struct stream_session *stream = &session->stream;
    stream->muted = session->options->muted;
    struct live_settings settings = stream_session_settings(stream);
    settings.guard = session->options->guard;
    TRY(open_recordings(session, &settings));
    return stream_session_make_live(stream, &settings, session->recordings[0].recorder,
                                    session->recordings[1].recorder);
}

static enum status begin(struct live_session *session)
{
    const struct live_options *options = session->options;
    struct stream_session *stream = &session->stream;
    snprintf(stream->keys, sizeof stream->keys,
             "1-9 mask  space dry  [ ] gain  m mute%s  r reload  w write  q leave",
             live_controls_keys(&stream->controls));
    device_report_grants(&stream->info);
    if (options->osc && options->osc_port == 0)
        note("OSC control on port %u", osc_port(session->osc));
    TRY(view_open(play_options_view(&options->play), options->play.interval, &stream->view));
    TRY(live_log_keep(stream->log)); /* last, since the old files are then replaced */
    for (size_t i = 0; i < LIVE_RECORDINGS; i++)
        TRY(recorder_keep(session->recordings[i].recorder));
    session->begun = true;
    device_run(stream->device, live_step, stream->live);
    return STATUS_OK;
}

static enum status session_open(struct live_session *session, const struct live_options *options)
{
    *session = (struct live_session){
        .stream.options = &options->play,
        .options = options,
        .recordings = {{.path = options->record}, {.path = options->record_dry}},
    };
    TRY(stream_session_open_device(&session->stream, 0, 0));
    struct live_chain_request request =
        stream_session_chain_request(&session->stream, session->stream.info.channels_in);
    request.proof = &options->proof;
    request.capacity = options->watch || options->osc ? LIVE_CAPACITY : 0;
    TRY(live_chain_init(&session->stream.chain, &request));
    TRY(match_outputs(session));
    if (options->osc)
        TRY(osc_open((unsigned)options->osc_port, &session->osc));
    if (options->watch)
        TRY(live_control_watch(session));
    TRY(make_live(session)); /* last, since it creates files */
    return begin(session);
}

/* ---- down ---- */

static enum status close_recording(const struct live_session *session,
                                   const struct live_recording *own)
{
    struct recording recording;
    if (!own->recorder)
        return STATUS_OK;
    enum status status = recorder_close(own->recorder, &recording);
    if (session->begun && status == STATUS_OK)
        note("%s: %.3f s recorded", own->path,
             (double)recording.frames / (double)session->stream.info.rate);
    if (recording.lost > 0)
        warning("%s: %llu frames were lost and are silence there", own->path,
                (unsigned long long)recording.lost);
    return status;
}

static enum status session_close(struct live_session *session)
{
    bool stopped = stream_session_stop(&session->stream);
    live_control_end_loads(session);
    osc_close(session->osc);
    file_watch_close(session->watch);
    if (!stopped) /* the files stay as after a crash */
        return STATUS_FAILED;
    enum status status = session->stream.closed;
    for (size_t i = 0; i < LIVE_RECORDINGS; i++) {
        enum status closed = close_recording(session, &session->recordings[i]);
        status = status == STATUS_OK ? closed : status;
    }
    live_log_close(session->stream.log);
    free(session->log_path);
    stream_session_free(&session->stream);
    return status;
}

/* ---- a lost device ---- */

static bool try_device(struct live_session *session)
{
    struct stream_session *stream = &session->stream;
    char reason[sizeof session->away];
    struct device_request request = stream->options->device;
    if (stream->stuck)
        return false;
    request.rate = stream->info.rate; /* that of masks and recordings */
    if (!request.output_map_count)
        request.channels_out = stream->info.channels_out;
    if (!request.input_map_count)
        request.channels_in = stream->chain.filter->inputs;
    if (!request.host_api)
        request.host_api = stream->info.host_api; /* the default may have changed */
    log_capture(reason, sizeof reason);
    enum status status = device_open(&request, &stream->device);
    log_capture(NULL, 0);
    if (status != STATUS_OK) {
        if (strcmp(reason, session->away) != 0)
            view_message(stream->view, "still waiting: %s", reason);
        snprintf(session->away, sizeof session->away, "%s", reason);
        return false;
    }
    session->away[0] = '\0';
    device_info(stream->device, &stream->info);
    live_log_outage(stream->log, ledger_add_away(&stream->load.ledger, live_frames(stream->live)));
    const struct live_event rise = {.what = LIVE_RISE};
    (void)live_send(stream->live, &rise);
    device_run(stream->device, live_step, stream->live);
    return true;
}

/* False: the device is lost, without --reconnect. */
static bool check_device(struct live_session *session)
{
    struct stream_session *stream = &session->stream;
    if (stream->device && device_state(stream->device) == DEVICE_LOST) {
        session->interruptions++;
        stream_session_stop_device(stream);
        if (session->options->reconnect)
            view_warning(stream->view, "the device is lost; waiting for it to return");
        return session->options->reconnect;
    }
    if (!stream->device && try_device(session))
        view_warning(stream->view, "the device is back");
    return true;
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
    struct live_status status = stream_session_status(&session->stream, "halo live");
    status.device = session->stream.device ? status.device : "lost: waiting for it";
    status.recording = active_recording(session);
    status.recorded = status.recording ? status.seconds : 0;
    status.osc_refused = session->osc ? osc_refused(session->osc) : 0;
    return status;
}

/* Blocks computed by the CPU since the GPU was late or failed. */
static uint64_t blocks_from_cpu(const struct live_session *session)
{
    const struct filter *convolver = live_chain_convolver(&session->stream.chain);
    return convolver ? convolver_late(convolver) : 0;
}

/* The last step must be over. If it hangs, nothing is proven. */
static void prove(struct live_session *session)
{
    struct stream_session *stream = &session->stream;
    const struct proof_options *options = &session->options->proof;
    if (!options->wanted)
        return;
    stream_session_stop_device(stream);
    if (!stream->stuck)
        proof_end(options, &stream->chain.stages, live_frames(stream->live), stream->info.rate,
                  &session->proof);
}

static enum status report_json(const struct live_session *session, const struct live_status *status)
{
    const struct stream_session *stream = &session->stream;
    const struct live_load *load = &stream->load;
    json_t *own = json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:I, s:I, s:o*}", "latency",
        (json_int_t)live_status_latency(status), "priority", (json_int_t)stream->info.priority,
        "interruptions", (json_int_t)session->interruptions, "blocks", (json_int_t)load->count,
        "from_cpu", (json_int_t)blocks_from_cpu(session), "late", (json_int_t)status->late, "lost",
        (json_int_t)status->lost, "load_mean", load->count ? load->sum / (double)load->count : 0,
        "load_p99", load->p99, "load_worst", load->worst, "limiter_most_db",
        -stream->reduction_most, "howls", (json_int_t)stream->feedback_count, "clips_in",
        (json_int_t)stream->clips_in, "proof", proof_json(&session->proof));
    return stream_session_report_json(stream, status, own);
}

static enum status report(struct live_session *session)
{
    const struct live_status status = make_status(session);
    const struct stream_session *stream = &session->stream;
    const struct live_load *load = &stream->load;
    double ms = 1e3 / (double)status.rate;
    size_t latency = live_status_latency(&status);
    if (stream->options->json)
        return report_json(session, &status);
    note("%.1f s of %s, blocks of %zu frames at %u Hz; latency %zu frames, %.1f ms", status.seconds,
         stream->device_name, status.block, status.rate, latency, ms * (double)latency);
    void (*print)(const char *format, ...) = status.late + status.lost > 0 ? warning : note;
    print("the step took %.1f %% of its time, p99 %.1f %%, at worst %.1f %%; %llu blocks late, "
          "%llu lost",
          load->count ? 100 * load->sum / (double)load->count : 0, 100 * load->p99,
          100 * load->worst, (unsigned long long)status.late, (unsigned long long)status.lost);
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

static void update(struct live_session *session)
{
    struct stream_session *stream = &session->stream;
    size_t choice;
    uint64_t at;
    struct choices *choices = stream->chain.choices;
    while (choices && choices_poll(choices, &choice, &at))
        live_log_switch(stream->log, choice, at, &stream->way);
    stream_session_update(stream);
    check_recordings(session);
}

/* The step stands still. A switch is logged when it ended, and the last one may not have. */
static void finish_log(struct live_session *session)
{
    const struct stream_session *stream = &session->stream;
    size_t choice;
    uint64_t at;
    if (!stream->stuck && stream->chain.choices &&
        choices_are_within_switch(stream->chain.choices, &choice, &at))
        live_log_switch(stream->log, choice, at, &stream->way);
}

static enum status run(struct live_session *session)
{
    struct stream_session *stream = &session->stream;
    while (!stream_session_is_over(stream)) {
        if (!check_device(session))
            return fail(STATUS_FAILED, "the device %s is lost; --reconnect waits until it returns",
                        stream->device_name);
        live_control_wait(session, stream->device ? TICK : AWAY_TICK);
        update(session);
        stream_session_read_meters(stream);
        const struct live_status status = make_status(session);
        view_show(stream->view, &status);
        if (session->osc)
            osc_send_meters(session->osc, &status);
    }
    return STATUS_OK;
}

enum status live_session_run(const struct live_options *options)
{
    struct live_session session;
    enum status status = session_open(&session, options);
    if (status == STATUS_OK) {
        status = run(&session);
        stream_session_halt(&session.stream);
        update(&session);
        finish_log(&session);
        view_close(session.stream.view); /* before the report is printed */
        session.stream.view = NULL;
        prove(&session);
        enum status reported = report(&session);
        status = status == STATUS_OK ? reported : status;
        if (status == STATUS_OK)
            status = proof_judge(&session.proof, "what was heard and recorded cannot be trusted");
    }
    enum status closed = session_close(&session);
    status = status == STATUS_OK ? closed : status;
    return status == STATUS_OK && stop_requested() ? STATUS_INTERRUPTED : status;
}
