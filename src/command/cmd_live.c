#include "base/monotonic.h"
#include "base/stop.h"
#include "live/live_session.h"

#include <math.h>

enum { TICK = 25, AWAY_TICK = 200 }; /* ms between looks, and while the device is away */

static const double PATIENCE = 1; /* seconds that a fade at the end may take */

/* Once it was asked for, the end comes when the sound has faded out, or cannot. */
static bool is_over(struct live_session *session, double *deadline)
{
    double seconds = session->options->play.seconds;
    double heard = (double)live_frames(session->live) / (double)session->info.rate;
    if (stop_requested() || (seconds > 0 && heard >= seconds))
        live_control_leave(session);
    if (!session->leaving)
        return false;
    if (*deadline == 0)
        *deadline = monotonic_seconds() + PATIENCE;
    return live_has_faded_out(session->live) || !session->device || monotonic_seconds() > *deadline;
}

/* False: the device has gone, and nobody waits for it. */
static bool look_after_device(struct live_session *session)
{
    if (session->device && device_state(session->device) == DEVICE_LOST) {
        live_session_lose(session);
        if (session->options->reconnect)
            live_notify(session, "the device is lost; waiting for it to come back");
        return session->options->reconnect;
    }
    if (!session->device && live_session_return(session))
        live_notify(session, "the device is back");
    return true;
}

static enum status run(struct live_session *session)
{
    double deadline = 0;
    while (!is_over(session, &deadline)) {
        if (!look_after_device(session))
            return fail(STATUS_FAILED,
                        "the device %s is lost; --reconnect would wait for it to come back",
                        session->device_name);
        live_control_wait(session, session->device ? TICK : AWAY_TICK);
        live_session_update(session);
        live_show(session);
    }
    return STATUS_OK;
}

static enum status live(const struct live_options *options)
{
    struct live_session session;
    enum status status = live_session_open(&session, options);
    bool ran = status == STATUS_OK;
    if (ran)
        status = run(&session);
    if (ran) { /* the screen goes first */
        live_session_update(&session);
        view_close(session.view);
        session.view = NULL;
        enum status reported = live_report(&session);
        status = status == STATUS_OK ? reported : status;
    }
    enum status closed = live_session_close(&session);
    if (status == STATUS_OK)
        status = closed;
    return status == STATUS_OK && stop_requested() ? STATUS_INTERRUPTED : status;
}

enum status live_run(void *context)
{
    struct live_options *options = context;
    enum status status = live_options_check(options);
    if (status != STATUS_OK)
        return status;
    options->play.device.wants_input = true;
    note_verbosity(options->play.verbosity);
    stop_watch();
    return live(options);
}
