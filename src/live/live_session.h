/* halo live while it runs: a device, a chain and what steers them.
 *
 * live_session.c brings a stream up and down, live_control.c does what keys, OSC and files
 * ask for, live_show.c tells. Threads: the control thread.
 */
#ifndef HALO_LIVE_SESSION_H
#define HALO_LIVE_SESSION_H

#include "base/file_watch.h"
#include "live/live_chain.h"
#include "live/live_controls.h"
#include "live/live_device.h"
#include "live/live_load.h"
#include "live/live_log.h"
#include "live/live_options.h"
#include "live/osc.h"
#include "live/recorder.h"
#include "view/view.h"

struct live_session {
    const struct live_options *options;
    struct device *device; /* NULL: lost */
    struct device_info info;
    char device_name[300];
    struct live_chain chain;
    struct live_settings settings;
    struct live *live;
    struct live_controls controls;
    struct live_device feed;
    struct live_load load;
    struct recorder *recorder; /* or NULL, likewise */
    struct recorder *recorder_dry;
    struct live_log *log;
    char *log_path;
    struct choices_way way;
    bool stuck; /* a step hangs in the device's thread: what it uses must stay */

    struct view *view;
    char keys[160];           /* what they do */
    struct osc *osc;          /* or NULL */
    struct file_watch *watch; /* or NULL */

    double gain_db;
    bool muted;
    bool dry;
    bool fed_back;
    bool load_waits; /* for a switch to end, before a mask is read */
    size_t load_choice;
    char *load_text;   /* NULL: the choice's own */
    bool leaving;      /* was asked to end */
    bool begun;        /* the sound has */
    bool record_ended; /* by a failure */
    bool record_dry_ended;
    char away[300]; /* why the device is not back, as told last */
    struct meter_reading in[LIVE_CHANNELS_MOST];
    struct meter_reading out[LIVE_CHANNELS_MOST];
    double reduction_most; /* dB */
    uint64_t feedback_count;
    uint64_t clips_in;
    uint64_t interruptions; /* times that the device was lost */
};

/* ---- live_session.c ---- */

/* Open the device, the chain and the recordings; the sound begins. Errors: whatever is wrong
 * with any of them. Close in any case. */
MUST_CHECK enum status live_session_open(struct live_session *session,
                                         const struct live_options *options);
MUST_CHECK enum status live_session_close(struct live_session *session);

/* The device was lost: let go of it, and try whether it is back. True: the sound goes on. */
void live_session_lose(struct live_session *session);
bool live_session_return(struct live_session *session);

/* What the step has done since: into the log, and told. Recordings that failed are told. */
void live_session_update(struct live_session *session);

/* ---- live_control.c ---- */

/* Do what keys, OSC and changed files ask for; waits for them for so many milliseconds. */
void live_control_wait(struct live_session *session, int milliseconds);
void live_control_leave(struct live_session *session); /* fade out, to end */

/* Masks that may change are watched from now on. */
MUST_CHECK enum status live_control_watch(struct live_session *session);

/* ---- live_show.c ---- */

void live_show(struct live_session *session);
void live_notify(struct live_session *session, const char *format, ...) PRINTF_LIKE(2, 3);
MUST_CHECK enum status live_report(struct live_session *session);

#endif
