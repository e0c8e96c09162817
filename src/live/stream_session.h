/* A stream that runs: a device, a chain with masks to choose from, what steers it and what is
 * shown of it. halo live and halo listen embed one and add what only they have.
 *
 * Opened in this order: options and `blind` are set and all else is zero, open_device, make_chain,
 * level_match_outputs, make_live, then the owner's view_open and device_run. Stop, then free, after
 * a failure at any of these too. Threads: the control thread.
 */
#ifndef HALO_STREAM_SESSION_H
#define HALO_STREAM_SESSION_H

#include "live/live_chain.h"
#include "live/live_controls.h"
#include "live/live_load.h"
#include "live/live_log.h"
#include "live/play_options.h"
#include "view/view.h"

#include <jansson.h>

struct stream_session {
    const struct play_options *options;
    bool blind;            /* a blind test: the dry sound and the stages' controls are off */
    struct device *device; /* NULL: not open, or lost */
    struct device_info info;
    char device_name[300];
    bool stuck; /* a step hangs in the device's thread: what it uses must stay */
    struct live_chain chain;
    struct live *live;
    struct live_controls controls;
    struct live_load load;
    struct live_log *log; /* or NULL; the owner's */
    struct choices_way way;

    struct view *view; /* NULL: messages are notes */
    char keys[160];    /* what they do */
    double gain_db;
    bool muted;
    bool feedback_seen; /* that is why it is muted */
    bool dry;
    bool leaving;    /* was asked to end */
    double deadline; /* to have faded out by; monotonic seconds, 0: not set yet */
    struct meter_reading in[LIVE_CHANNELS_MOST];
    struct meter_reading out[LIVE_CHANNELS_MOST];
    double reduction_most; /* dB, by the limiter */
    uint64_t clips_in;
    uint64_t feedback_count;
};

/* ---- up and down ---- */

/* At that rate and with so many outputs; 0: as the options have it. Errors: the device's. */
MUST_CHECK enum status stream_session_open_device(struct stream_session *session, uint32_t rate,
                                                  size_t outputs);

/* What the options and the device say of the chain, for an input of `channels`; the owner adds
 * the rest and calls live_chain_init. */
struct live_chain_request stream_session_chain_request(const struct stream_session *session,
                                                       size_t channels);

/* A device that has too few channels for the chain is opened again with more. `makers`, for
 * the error: "the chain makes". Errors: the user's map has too few, the device's. */
MUST_CHECK enum status stream_session_match_outputs(struct stream_session *session, uint32_t rate,
                                                    const char *makers);

/* The live step's; the owner adds `guard`. */
struct live_settings stream_session_settings(const struct stream_session *session);

/* The recorders may be NULL and outlive the session. Errors: memory. */
MUST_CHECK enum status stream_session_make_live(struct stream_session *session,
                                                const struct live_settings *settings,
                                                struct recorder *recorder,
                                                struct recorder *recorder_dry);

void stream_session_stop_device(struct stream_session *session);

/* Stop the device and close the view. False: a step hangs, all that it uses has to be left
 * behind, and a note says so. */
bool stream_session_stop(struct stream_session *session);
void stream_session_free(struct stream_session *session);

/* ---- while it runs ---- */

/* What the step has done since: into the log and the view, and the load and facts brought up to
 * date. */
void stream_session_update(struct stream_session *session);

double stream_session_seconds(const struct stream_session *session); /* of sound so far */

/* A signal asked to stop, or --seconds have passed. */
bool stream_session_time_is_up(const struct stream_session *session);

/* Time is up or stream_session_leave was called, and the sound has faded out or cannot. */
bool stream_session_is_over(struct stream_session *session);

void stream_session_leave(struct stream_session *session); /* fade out, to end */
void stream_session_set_dry(struct stream_session *session, bool dry);
void stream_session_set_gain(struct stream_session *session, double db); /* the nearest allowed */
void stream_session_set_mute(struct stream_session *session, bool muted);

/* Keys that mean the same in every command. False: it is none of these. */
bool stream_session_key(struct stream_session *session, int key);

/* ---- what is shown ---- */

void stream_session_read_meters(struct stream_session *session);

/* Good until the session changes; the owner adds what only it knows. */
struct live_status stream_session_status(struct stream_session *session, const char *command);

/* The report as one JSON object on standard output; `own`, which this takes, stands before the
 * ledger. Errors: memory, writing. */
MUST_CHECK enum status stream_session_report_json(const struct stream_session *session,
                                                  const struct live_status *status, json_t *own);

/* The last lines of the report for a person: stages and limiter. */
void stream_session_report_end(const struct stream_session *session);

#endif
