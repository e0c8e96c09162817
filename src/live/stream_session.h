/* A running stream: device, chain with masks to choose from, controls, log and view. halo live and
 * halo listen embed one; stream_session_show.c shows and reports.
 *
 * Set options and `blind` in a zeroed struct, then call open_device, make_chain, match_outputs,
 * make_live, and the owner's view_open and device_run. Stop, then free, also after a failure.
 * Threads: the control thread.
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

#define STREAM_GAIN_LEAST_DB (-60.0)
#define STREAM_GAIN_MOST_DB 24.0

struct stream_session {
    const struct play_options *options;
    bool blind;            /* a blind test: no dry sound, no controls */
    struct device *device; /* NULL: not open, or lost */
    struct device_info info;
    char device_name[300];
    struct channel_layout layout; /* of the device's input, since it was first opened */
    bool layout_is_guessed;       /* by the number of channels */
    double latency_least;  /* of the device's requests: what it was widened to; 0: not widened */
    char device_text[340]; /* with its stall */
    double stalled;        /* seconds that it does not answer; 0: it does */
    const char *device_notice; /* as last shown */
    bool stuck;                /* a step hangs: what it uses must not be freed */
    enum status closed;        /* the first failure of a device's close */
    struct live_chain chain;
    struct live *live;
    struct live_controls controls;
    struct live_load load;
    bool was_switching;   /* at the last update */
    struct live_log *log; /* the owner's, or NULL */
    struct choices_way way;

    struct view *view; /* NULL: messages are notes */
    char keys[200];    /* help line */
    double gain_db;
    bool muted;
    bool feedback_seen; /* the reason for the mute */
    bool dry;
    bool leaving;    /* fading out */
    double deadline; /* of the fade-out; monotonic seconds, 0: not set */
    struct meter_reading in[LIVE_CHANNELS_MOST];
    struct meter_reading out[LIVE_CHANNELS_MOST];
    double reduction_most;     /* dB, by the limiter */
    uint64_t clips_in, bad_in; /* of all inputs */
    uint64_t feedback_count;
    uint64_t from_cpu; /* blocks of chains that were changed for others, as the next one counts */
};

/* Blocks of a chain computed by the CPU since the GPU was late or failed. */
uint64_t stream_session_blocks_from_cpu(const struct live_chain *chain);

/* ---- open and close ---- */

/* rate, outputs: 0 as in the options. Errors: the device's; --layout is of other channels (usage).
 */
MUST_CHECK enum status stream_session_open_device(struct stream_session *session, uint32_t rate,
                                                  size_t outputs);

/* From options and device, for an input of `channels`; complete it and call live_chain_init. */
struct live_chain_request stream_session_chain_request(const struct stream_session *session,
                                                       size_t channels);

/* If the device has too few channels for the chain, open it again with more. `makers`, for
 * the error: "the chain makes". Errors: the user's map has too few, the device's. */
MUST_CHECK enum status stream_session_match_outputs(struct stream_session *session, uint32_t rate,
                                                    const char *makers);

/* As the stream is now, with a guard if the input can hear the output; the owner may do without. */
struct live_settings stream_session_settings(const struct stream_session *session);

/* The recorders may be NULL and must outlive the session. Errors: memory. */
MUST_CHECK enum status stream_session_make_live(struct stream_session *session,
                                                const struct live_settings *settings,
                                                struct recorder *recorder,
                                                struct recorder *recorder_dry);

/* While no step runs: another chain, of the device's rate, takes the place of the one there is,
 * with the choice and the controls of that. On failure all stays; `chain` is the session's in any
 * case.
 */
MUST_CHECK enum status stream_session_exchange(struct stream_session *session,
                                               struct live_chain *chain,
                                               const struct live_settings *settings);

/* ns by which the device's calls may be late (ledger.h): as late as its buffers allow, and in
 * bunches. */
int64_t stream_session_slack(const struct device_info *info);

void stream_session_stop_device(struct stream_session *session);

/* The device plays silence from now on, so that what the step counted can be read. */
void stream_session_halt(struct stream_session *session);

/* Stop the device and close the view. False: a step hangs (noted), and what it uses must be leaked.
 */
bool stream_session_stop(struct stream_session *session);
void stream_session_free(struct stream_session *session);

/* ---- while it runs ---- */

/* Log and show the step's events; update load and device info. */
void stream_session_update(struct stream_session *session);

double stream_session_seconds(const struct stream_session *session); /* of sound so far */

/* A stop signal, or --seconds have passed. */
bool stream_session_time_is_up(const struct stream_session *session);

/* Time is up or stream_session_leave was called, and the fade-out is done or impossible. */
bool stream_session_is_over(struct stream_session *session);

void stream_session_leave(struct stream_session *session); /* start the final fade-out */
void stream_session_set_dry(struct stream_session *session, bool dry);
void stream_session_set_gain(struct stream_session *session, double db); /* limited */
void stream_session_set_mute(struct stream_session *session, bool muted);

/* Keys common to both commands. False: not one of these. */
bool stream_session_key(struct stream_session *session, int key);

/* ---- what is shown ---- */

/* What peaked since the last call, and the counts; when something is shown, and at the end. */
void stream_session_read_meters(struct stream_session *session);

/* Valid until the session changes; the owner completes it. */
struct live_status stream_session_status(struct stream_session *session, const char *command);

/* Print the report as one JSON object; `own` (owned) comes before the ledger. Errors: memory,
 * writing. */
MUST_CHECK enum status stream_session_report_json(const struct stream_session *session,
                                                  const struct live_status *status, json_t *own);

/* The lines of late and lost blocks in the text report. */
void stream_session_report_ledger(const struct stream_session *session);

/* The last lines of the text report: stages and limiter. */
void stream_session_report_end(const struct stream_session *session);

#endif
