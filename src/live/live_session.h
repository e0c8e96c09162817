/* halo live while it runs.
 *
 * live_session.c brings a stream up, shows it and brings it down; live_control.c does what keys,
 * OSC and changed files ask for.
 * Threads: the control thread.
 */
#ifndef HALO_LIVE_SESSION_H
#define HALO_LIVE_SESSION_H

#include "base/file_watch.h"
#include "live/live_options.h"
#include "live/osc.h"
#include "live/recorder.h"
#include "live/stream_session.h"

struct live_session {
    struct stream_session stream;
    const struct live_options *options;
    struct recorder *recorder; /* or NULL, as all of these */
    struct recorder *recorder_dry;
    char *log_path;
    struct osc *osc;
    struct file_watch *watch;

    bool load_waits; /* for a switch to end, before a mask is read */
    size_t load_choice;
    char *load_text;   /* NULL: the choice's own */
    bool begun;        /* the sound has */
    bool record_ended; /* by a failure */
    bool record_dry_ended;
    char away[300];         /* why the device is not back, as shown last */
    uint64_t interruptions; /* times that the device was lost */
};

/* ---- live_session.c ---- */

/* Until the user leaves or the device is lost, then the report. Errors: whatever is wrong with
 * device, chain or recordings. */
MUST_CHECK enum status live_session_run(const struct live_options *options);

/* ---- live_control.c ---- */

/* Do what keys, OSC and changed files ask for; waits for them for so many milliseconds. */
void live_control_wait(struct live_session *session, int milliseconds);

/* Masks that may change are watched from now on. */
MUST_CHECK enum status live_control_watch(struct live_session *session);

#endif
