#include "live/live_session.h"

#include "signal/audio.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const double RING_SECONDS = 10;          /* of a recording: disks may stall */
enum { CAPACITY = 1 << 16, PERIOD_MOST = 1 << 13 }; /* taps for masks to come; frames of a block */

/* ---- up ---- */

static enum status open_device(struct live_session *session, size_t outputs)
{
    struct device_request request = session->options->play.device;
    if (outputs && !request.output_map_count)
        request.channels_out = outputs;
    enum status status = device_open(&request, &session->device);
    if (status == STATUS_OK)
        device_info(session->device, &session->info);
    return status;
}

/* The block is the device's period, if it keeps to one. */
static size_t block_of(const struct live_session *session)
{
    const struct device_info *info = &session->info;
    if (info->varies || info->period > PERIOD_MOST)
        return session->options->play.device.block;
    return info->period;
}

static size_t capacity_for_masks(const struct live_session *session)
{
    const struct live_options *options = session->options;
    return options->watch || options->osc ? CAPACITY : 0;
}

static enum status make_chain(struct live_session *session)
{
    const struct play_options *play = &session->options->play;
    const struct live_chain_request request = {
        .options = &play->chain,
        .stage = play->choosing,
        .others = play->others,
        .other_count = play->other_count,
        .capacity = capacity_for_masks(session),
        .format = {.rate = session->info.rate, .channels = session->info.channels_in},
        .block = block_of(session),
        .priority = session->info.priority,
        .live = true,
    };
    return live_chain_init(&session->chain, &request);
}

static enum status open_recordings(struct live_session *session)
{
    const struct live_options *options = session->options;
    struct stream_format format = {.rate = session->info.rate,
                                   .channels = session->chain.filter->outputs};
    enum status status = STATUS_OK;
    bool force = options->play.force;
    if (options->record)
        status = recorder_open(options->record, force, &format, RING_SECONDS, &session->recorder);
    format.channels = session->chain.filter->inputs;
    if (status == STATUS_OK && options->record_dry)
        status = recorder_open(options->record_dry, force, &format, RING_SECONDS,
                               &session->recorder_dry);
    const char *named = options->record ? options->record : options->record_dry;
    if (status != STATUS_OK || !named)
        return status;
    if (asprintf(&session->log_path, "%s.log", named) < 0)
        return fail_memory("a log");
    return live_log_open(session->log_path, force, &session->chain, &session->settings,
                         &session->log);
}

/* A device that has too few channels for the chain is asked for more. */
static enum status level_match_outputs(struct live_session *session)
{
    size_t outputs = session->chain.filter->outputs;
    if (session->info.channels_out >= outputs)
        return STATUS_OK;
    if (session->options->play.device.output_map_count)
        return fail(STATUS_FAILED, "the chain makes %zu channels, --output-map names %zu", outputs,
                    session->info.channels_out);
    size_t period = session->info.period;
    uint32_t rate = session->info.rate;
    device_close(session->device);
    session->device = NULL;
    enum status status = open_device(session, outputs);
    if (status == STATUS_OK && (session->info.rate != rate || session->info.period != period))
        note("with %zu channels the device has periods of %zu frames", outputs,
             session->info.period);
    return status;
}

static void put_keys(struct live_session *session)
{
    snprintf(session->keys, sizeof session->keys,
             "1-9 mask  space dry  [ ] gain  m mute%s  r reload  w write  q leave",
             live_controls_keys(&session->controls));
}

static enum status make_live(struct live_session *session)
{
    const struct live_options *options = session->options;
    const struct filter *filter = session->chain.filter;
    session->settings = (struct live_settings){
        .rate = session->info.rate,
        .ceiling = audio_from_db(options->play.ceiling_db),
        .gain = 1,
        .muted = options->muted,
        .guard = options->guard,
        .stages = &session->chain.stages,
    };
    session->muted = options->muted;
    session->way = options->play.way;
    session->way.frames = (uint64_t)(options->play.fade * (double)session->info.rate);
    enum status status = open_recordings(session);
    if (status == STATUS_OK)
        status = live_create(&session->settings, session->chain.filter, session->recorder,
                             session->recorder_dry, &session->live);
    if (status == STATUS_OK)
        status = live_controls_init(&session->controls, &session->chain.stages, session->live);
    if (status == STATUS_OK)
        status = live_device_init(&session->feed, session->live, filter->inputs, filter->outputs,
                                  filter->block, session->info.channels_out);
    if (status == STATUS_OK)
        status = live_load_init(&session->load, filter->block, session->info.rate);
    return status;
}

enum status live_session_open(struct live_session *session, const struct live_options *options)
{
    *session = (struct live_session){.options = options};
    enum status status = open_device(session, 0);
    if (status == STATUS_OK)
        status = make_chain(session);
    if (status == STATUS_OK)
        status = level_match_outputs(session);
    if (status == STATUS_OK && options->osc)
        status = osc_open((unsigned)options->osc_port, &session->osc);
    if (status == STATUS_OK && options->watch)
        status = live_control_watch(session);
    if (status == STATUS_OK)
        status = make_live(session); /* late, since it begins to write files */
    if (status != STATUS_OK)
        return status;
    put_keys(session);
    device_describe(&session->info, session->device_name, sizeof session->device_name);
    device_report_grants(&session->info);
    if (options->osc && options->osc_port == 0)
        note("OSC control on port %u", osc_port(session->osc));
    status = view_open(play_options_view(&options->play), options->play.interval, &session->view);
    session->begun = status == STATUS_OK;
    if (session->begun)
        device_run(session->device, live_device_step, &session->feed);
    return status;
}

/* ---- down ---- */

/* One of a stream that did not begin is not left behind. */
static enum status close_recording(const struct live_session *session, struct recorder *recorder,
                                   const char *path)
{
    struct recording recording;
    double rate = session->info.rate;
    if (!recorder)
        return STATUS_OK;
    enum status status = recorder_close(recorder, &recording);
    if (!session->begun)
        unlink(path);
    else if (status == STATUS_OK)
        note("%s: %.3f s recorded", path, (double)recording.frames / rate);
    if (recording.lost > 0)
        note("%s: %llu frames were lost and are silence there", path,
             (unsigned long long)recording.lost);
    return status;
}

static void stop_device(struct live_session *session)
{
    if (!session->device)
        return;
    session->stuck = !device_stop(session->device) || session->stuck;
    device_close(session->device);
    session->device = NULL;
}

enum status live_session_close(struct live_session *session)
{
    const struct live_options *options = session->options;
    stop_device(session);
    view_close(session->view);
    osc_close(session->osc);
    file_watch_close(session->watch);
    session->view = NULL;
    if (session->stuck) { /* the files are as after a crash: whole but for the last moment */
        note("the device's thread hangs: leaving it behind");
        return STATUS_FAILED;
    }
    enum status status = close_recording(session, session->recorder, options->record);
    enum status dry = close_recording(session, session->recorder_dry, options->record_dry);
    if (session->log && !session->begun)
        unlink(session->log_path);
    live_log_close(session->log);
    free(session->log_path);
    free(session->load_text);
    live_device_free(&session->feed);
    live_controls_free(&session->controls);
    live_destroy(session->live);
    live_load_free(&session->load);
    live_chain_free(&session->chain);
    return status == STATUS_OK ? dry : status;
}

/* ---- a device that goes and comes back ---- */

void live_session_lose(struct live_session *session)
{
    session->interruptions++;
    stop_device(session);
}

/* Once, until there is another. */
static void report_reason(struct live_session *session, const char *reason)
{
    if (strcmp(reason, session->away) != 0)
        live_notify(session, "still waiting: %s", reason);
    snprintf(session->away, sizeof session->away, "%s", reason);
}

bool live_session_return(struct live_session *session)
{
    char reason[sizeof session->away];
    struct device_request request = session->options->play.device;
    if (session->stuck)
        return false;
    request.rate = session->info.rate; /* the masks and recordings are of that rate */
    if (!request.output_map_count)
        request.channels_out = session->feed.device_outputs;
    if (!request.input_map_count)
        request.channels_in = session->chain.filter->inputs;
    if (!request.host_api)
        request.host_api = session->info.host_api; /* another one may be the default meanwhile */
    log_capture(reason, sizeof reason);
    enum status status = device_open(&request, &session->device);
    log_capture(NULL, 0);
    if (status != STATUS_OK) {
        report_reason(session, reason);
        return false;
    }
    session->away[0] = '\0';
    device_info(session->device, &session->info);
    const struct live_event rise = {.what = LIVE_RISE};
    (void)live_send(session->live, &rise);
    device_run(session->device, live_device_step, &session->feed);
    return true;
}

/* ---- meanwhile ---- */

static void take_event(struct live_session *session, const struct live_event *event)
{
    if (event->what == LIVE_STAGE_CONTROL)
        live_log_control(session->log, event, live_controls_symbol(&session->controls, event));
    else
        live_log_event(session->log, event);
    if (event->what != LIVE_FEEDBACK)
        return;
    session->muted = session->fed_back = true;
    session->feedback_count++;
    live_notify(session, "howling feedback at %.0f Hz: muted; turn something down, then press m",
              event->value);
}

static void look_after(struct live_session *session, struct recorder *recorder, const char *path)
{
    const char *problem = recorder ? recorder_failure(recorder) : NULL;
    if (!problem)
        return;
    live_notify(session, "the recording %s ended: %s", path, problem);
    if (recorder == session->recorder)
        session->record_ended = true;
    else
        session->record_dry_ended = true;
}

void live_session_update(struct live_session *session)
{
    struct live_event event;
    size_t choice;
    uint64_t at;
    struct choices *choices = session->chain.choices;
    bool arming = choices && choices_are_switching(choices);
    while (choices && choices_poll(choices, &choice, &at))
        live_log_switch(session->log, choice, at, &session->way);
    session->load.busy = arming ? "a mask was being changed" : NULL;
    live_load_update(&session->load, &session->feed);
    while (live_took(session->live, &event))
        take_event(session, &event);
    const struct filter *filter = session->chain.filter;
    if (filter->notice) {
        live_notify(session, "%s", filter->notice);
        session->chain.filter->notice = NULL;
    }
    if (session->controls.notice) {
        live_notify(session, "%s", session->controls.notice);
        session->controls.notice = NULL;
    }
    look_after(session, session->recorder, session->options->record);
    look_after(session, session->recorder_dry, session->options->record_dry);
    if (session->device)
        device_info(session->device, &session->info);
}
