#include "listen/listen_play.h"

#include "base/monotonic.h"
#include "base/stop.h"
#include "listen/listen_session.h"

enum { TICK = 25 }; /* ms between looks */

static const double PATIENCE = 1; /* seconds that a fade at the end may take */

/* Once it was asked for, the end comes when the sound has faded out, or cannot. A test that
 * runs ends with it. */
static bool is_over(struct listen_session *session, double *deadline)
{
    double seconds = session->options->play.seconds;
    if (stop_requested() || (seconds > 0 && listen_seconds(session) >= seconds)) {
        listen_trial_stop(session);
        listen_control_leave(session);
    }
    if (!session->leaving)
        return false;
    if (*deadline == 0)
        *deadline = monotonic_seconds() + PATIENCE;
    return live_has_faded_out(session->live) || monotonic_seconds() > *deadline;
}

static enum status run(struct listen_session *session)
{
    double deadline = 0;
    while (!is_over(session, &deadline)) {
        if (device_state(session->device) == DEVICE_LOST) {
            listen_trial_stop(session);
            return fail(STATUS_FAILED, "the device %s is lost", session->device_name);
        }
        listen_control_wait(session, TICK);
        listen_session_update(session);
        listen_show(session);
    }
    return STATUS_OK;
}

enum status listen_play(const struct listen_options *options)
{
    struct listen_session session;
    enum status status = listen_session_open(&session, options);
    if (status == STATUS_OK) {
        status = run(&session);
        listen_session_update(&session);
        view_close(session.view); /* the screen goes first */
        session.view = NULL;
        enum status reported = listen_trial_finish(&session);
        if (reported == STATUS_OK)
            reported = listen_report(&session);
        status = status == STATUS_OK ? reported : status;
    }
    bool stuck = !listen_session_close(&session);
    if (status == STATUS_OK && stuck)
        status = STATUS_FAILED;
    return status == STATUS_OK && stop_requested() ? STATUS_INTERRUPTED : status;
}
