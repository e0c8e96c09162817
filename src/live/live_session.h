/* halo live while it runs: live_session.c opens, shows and closes the stream; live_control.c
 * handles keys, OSC and changed files. Threads: the control thread.
 */
#ifndef HALO_LIVE_SESSION_H
#define HALO_LIVE_SESSION_H

#include "base/file_watch.h"
#include "live/choice_loader.h"
#include "live/live_options.h"
#include "live/osc.h"
#include "live/recorder.h"
#include "live/stream_session.h"

enum { LIVE_RECORDINGS = 2 }; /* of the output, of the input */

struct live_recording {
    const char *path;          /* or NULL */
    struct recorder *recorder; /* or NULL */
    bool ended;                /* by a failure */
};

/* A mask to read. */
struct live_load_request {
    bool is_asked;
    bool is_by_osc;
    size_t choice;
    char *text; /* NULL: the choice's own */
};

struct live_session {
    struct stream_session stream;
    const struct live_options *options;
    struct live_recording recordings[LIVE_RECORDINGS];
    char *log_path; /* these three may be NULL */
    struct osc *osc;
    struct file_watch *watch;

    struct live_load_request next_load; /* begins after the current switch and load */
    struct live_load_request load;
    struct choice_loader *loader; /* of `load`; NULL: none */
    bool begun;                   /* the sound started */
    char away[300];               /* why the device cannot be opened, as last shown */
    uint64_t interruptions;       /* losses of the device */
    struct proof_result proof;    /* at the end */
};

/* ---- live_session.c ---- */

/* Runs until the user quits or the device is lost, then reports. Errors: those of device, chain and
 * recordings. */
MUST_CHECK enum status live_session_run(const struct live_options *options);

/* ---- live_control.c ---- */

/* Wait up to `milliseconds` for keys and OSC, then handle them and changed files. */
void live_control_wait(struct live_session *session, int milliseconds);

/* Watch the files of the masks. */
MUST_CHECK enum status live_control_watch(struct live_session *session);

/* Forget the masks to read, and the one that is being read. */
void live_control_end_loads(struct live_session *session);

#endif
