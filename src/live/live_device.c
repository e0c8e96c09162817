/* The device of halo live while it runs: lost and back, with another rate, or with a longer buffer.
 */
#include "live/live_session.h"

#include "base/monotonic.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A device that loses that many blocks within that time gets a longer latency, if its driver can.
 */
enum { WIDEN_LOST = 3, WIDEN_MOST = 8 /* times in all */ };
static const double WIDEN_SECONDS = 10;

/* Libraries of sound servers may deadlock when these end: only a new process has them as they were,
 * and a service is started again. */
static const double HANGS_SECONDS = 20;

/* Open it, with the chain for its rate. */
static enum status reopen_device(struct live_session *session)
{
    struct stream_session *stream = &session->stream;
    struct device_request request = stream->options->device;
    if (!request.output_map_count)
        request.channels_out = stream->info.channels_out;
    if (!request.input_map_count)
        request.channels_in = stream->chain.filter->inputs;
    if (!request.driver && !stream->info.has_bridge)
        request.driver = stream->info.host_api; /* the default may have changed */
    request.returns = true;
    request.layout_out = stream->chain.layout;
    request.latency_least = stream->latency_least;
    TRY(device_open(&request, &stream->device));
    enum status status = live_follow_device(session);
    if (status != STATUS_OK)
        stream_session_stop_device(stream);
    return status;
}

/* After the gap's cause. */
static bool try_device(struct live_session *session, enum outage_cause cause)
{
    struct stream_session *stream = &session->stream;
    char reason[sizeof session->away];
    if (stream->stuck)
        return false;
    const struct log_keeper before = log_keep_in(reason, sizeof reason);
    enum status status = reopen_device(session);
    log_keep_again(&before);
    if (status != STATUS_OK) {
        if (strcmp(reason, session->away) != 0)
            view_message(stream->view, "still waiting: %s", reason);
        snprintf(session->away, sizeof session->away, "%s", reason);
        return false;
    }
    session->away[0] = '\0';
    live_log_outage(stream->log,
                    ledger_add_away(&stream->load.ledger, live_frames(stream->live), cause));
    const struct live_event rise = {.what = LIVE_RISE};
    (void)live_send(stream->live, &rise);
    device_run(stream->device, live_step, stream->live);
    return true;
}

/* While it runs. Where that fails, the device is as good as lost. */
static bool change_chain(struct live_session *session)
{
    struct stream_session *stream = &session->stream;
    stream_session_halt(stream);
    bool is_done = !stream->stuck && live_follow_device(session) == STATUS_OK;
    if (is_done)
        device_run(stream->device, live_step, stream->live);
    else
        stream_session_stop_device(stream);
    return is_done || session->options->reconnect;
}

static bool loses_blocks(struct live_session *session)
{
    uint64_t lost = session->stream.load.ledger.lost;
    double now = monotonic_seconds();
    bool many = lost >= session->lost_before + WIDEN_LOST;
    if (many || now - session->counted_at > WIDEN_SECONDS) {
        session->counted_at = now;
        session->lost_before = lost;
    }
    return many;
}

/* Opens it again with a longer buffer, or, if it ended by itself, with the longest. False: not
 * needed, not possible, or it failed. */
static bool widen(struct live_session *session, bool is_lost)
{
    struct stream_session *stream = &session->stream;
    double wider = fmin(2 * stream->info.buffer, stream->info.buffer_most);
    bool many = loses_blocks(session);
    if (stream->info.buffer == 0 || stream->leaving || session->widened == WIDEN_MOST ||
        !(is_lost || (many && wider > stream->info.buffer)))
        return false;
    stream->latency_least = wider;
    session->widened++;
    stream_session_stop_device(stream);
    if (!try_device(session, is_lost ? OUTAGE_AWAY : OUTAGE_REOPENED))
        return false;
    session->lost_before = stream->load.ledger.lost;
    view_warning(stream->view,
                 "the device lost sound: its buffer is %.0f ms now, as with --latency "
                 "%.0f",
                 1e3 * stream->info.buffer, 1e3 * stream->info.buffer);
    return true;
}

/* Two devices, one of which has another rate now: they get another bridge. False: the device is as
 * good as lost. */
static bool open_again(struct live_session *session)
{
    stream_session_stop_device(&session->stream);
    if (!try_device(session, OUTAGE_REOPENED))
        return false;
    view_warning(session->stream.view, "one of the two devices has another rate now: they were "
                                       "opened again");
    return true;
}

bool live_device_check(struct live_session *session)
{
    struct stream_session *stream = &session->stream;
    bool had_device = stream->device;
    enum device_state state = had_device ? device_state(stream->device) : DEVICE_RUNNING;
    bool is_lost = state == DEVICE_LOST;
    if (had_device && widen(session, is_lost))
        return true;
    if (state == DEVICE_CHANGED && open_again(session))
        return true;
    if (is_lost || (had_device && !stream->device)) {
        session->interruptions++;
        stream_session_stop_device(stream);
        if (session->options->reconnect)
            view_warning(stream->view, "the device is lost; waiting for it to return");
        return session->options->reconnect;
    }
    if (!stream->device && try_device(session, OUTAGE_AWAY))
        view_warning(stream->view, "the device is back");
    else if (stream->device && !live_fits_device(session))
        return change_chain(session);
    return stream->device || device_hangs() < HANGS_SECONDS;
}

enum status live_device_fail(const struct live_session *session)
{
    const char *name = session->stream.device_name;
    if (device_hangs() >= HANGS_SECONDS)
        return fail(CAUSE_DEVICE, "the sound system hangs since %s was lost: start halo again",
                    name);
    return fail(CAUSE_DEVICE, "the device %s is lost; --reconnect waits until it returns", name);
}
