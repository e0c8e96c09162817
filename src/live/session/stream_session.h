/* A running stream: device, chain with masks to choose from, controls, log, view, and the loop that
 * reads keys and OSC. The sessions of halo live and halo listen begin with one.
 *
 * Set `options`, `ceiling_db` and `blind` in a zeroed struct. Call open_device, live_chain_init, match_outputs,
 * make_live, view_open, device_run, and then stream_session_run. At the end, or after a failure,
 * call stop and then free. Threads: the control thread. */
#ifndef HALO_STREAM_SESSION_H
#define HALO_STREAM_SESSION_H

#include "live/live_chain.h"
#include "live/remote/osc.h"
#include "live/session/ledger.h"
#include "live/session/live_controls.h"
#include "live/session/live_log.h"
#include "live/session/preset.h"
#include "live/web/live_web.h"
#include "view/view.h"

#include <jansson.h>

#define STREAM_GAIN_LEAST_DB (-60.0)
#define STREAM_GAIN_MOST_DB 24.0
#define STREAM_CEILING_LEAST_DB (-60.0)

/* Load of the step: its time over the block's duration; and the ledger of late or lost blocks. */
struct live_load {
    float *recent;   /* ring of the loads of the last blocks */
    float *ordered;  /* copy of `recent`, partly sorted, to find p99 */
    size_t count;    /* blocks so far */
    size_t found_at; /* `count` when p99 was found */
    double now;      /* highest load since the last update */
    double p99;      /* load that 99 % of the recent blocks do not exceed */
    double worst;    /* highest load of all blocks */
    double sum;      /* sum of the loads of all blocks */
    uint64_t unseen; /* blocks whose times were dropped */
    struct ledger ledger;
};

/* The load that 99.9 % of the recent blocks do not exceed. */
double live_load_p999(const struct live_load *load);

/* Kinds of requests. A request waits until an earlier one of its kind is done.
 * - STREAM_SWITCH: a switch of halo listen
 * - STREAM_MASK: read a mask
 * - STREAM_PRESET: change to a preset */
enum stream_request_kind { STREAM_SWITCH, STREAM_MASK, STREAM_PRESET, STREAM_REQUESTS };

struct stream_request {
    bool is_asked;
    size_t choice; /* STREAM_SWITCH and STREAM_MASK: the choice, from 0 */
    char *text;    /* STREAM_MASK: spec of the mask, owned; NULL: the choice's present spec */
    struct preset_source source; /* STREAM_PRESET */
    bool is_for_device; /* STREAM_PRESET: a --for-device rule made the request, not a user */
    /* STREAM_PRESET: prepare the present chain again, with masks as they are in their files now */
    bool is_present;
    bool is_edit;     /* STREAM_PRESET: a command changed the chain; the preset has no name */
    bool is_kept;     /* is_edit: the state before it was kept for undo */
    const char *path; /* path of the OSC message that made the request; NULL: none */
    struct osc_sender sender; /* sender of that message */
};

struct stream_session {
    const struct play_options *options;
    bool blind;            /* a blind test: no dry sound, no keys for controls */
    struct device *device; /* NULL: not open, or lost */
    struct device_info info;
    char device_name[300];        /* input and output for messages, such as "ALSA: in -> out" */
    struct channel_layout layout; /* layout of the device's input when it was first opened */
    bool layout_is_guessed;       /* `layout` is the usual one for the number of channels */
    double latency_least; /* seconds: least latency to request from the device; 0: no lower limit */
    char device_text[340];     /* device_name with the time since the device last answered */
    double stalled;            /* seconds since the device last answered; 0: it answers */
    const char *device_notice; /* message about the device, as displayed last */
    bool stuck;                /* a step hangs; nothing that it uses may be freed */
    enum status closed;        /* first failure of closing a device */
    struct live_chain chain;
    struct live *live;
    struct live_controls controls;
    struct live_load load;
    bool was_switching;     /* a mask was being switched at the last update */
    struct live_log *log;   /* owned by the command; or NULL */
    struct osc *osc;        /* owned by the command; or NULL */
    struct choices_way way; /* how masks are switched */
    struct stream_request
        next[STREAM_REQUESTS]; /* by kind: the request that waits, if its `is_asked` is set */
    struct stream_request current[STREAM_REQUESTS]; /* by kind, in execution if `is_asked` is set */

    struct live_web *web; /* owned by the command; or NULL */
    bool changed;         /* the chain, its masks or its controls may have changed */
    double shown_at;      /* monotonic seconds: when OSC and pages were shown something last */

    struct view *view; /* NULL: messages are printed as notes */
    char keys[200];    /* help line for the keys */
    double gain_db;
    double ceiling_db; /* ceiling of the limiter, in dB */
    bool muted;
    bool feedback_seen; /* the feedback guard has muted the output */
    bool dry;
    bool leaving;    /* the final fade-out has begun */
    double deadline; /* end of the fade-out in monotonic seconds; 0: not set */
    struct meter_reading in[LIVE_CHANNELS_MOST];
    struct meter_reading out[LIVE_CHANNELS_MOST];
    double reduction_most;     /* largest reduction by the limiter, in dB */
    uint64_t clips_in, bad_in; /* clipped and invalid samples, of all inputs */
    uint64_t feedback_count;
    uint64_t from_cpu; /* stream_session_blocks_from_cpu of the chains before the present one */
};

/* Advances the switches of masks and logs them. `is_over`: no step of the chain will follow. */
void stream_session_switch(struct stream_session *session, bool is_over);

/* Blocks of a chain that the CPU computed, because the GPU was late or failed. */
uint64_t stream_session_blocks_from_cpu(const struct live_chain *chain);

/* Makes the controls of the present chain. Errors: memory. */
MUST_CHECK enum status stream_session_make_controls(struct stream_session *session);

/* ---- open and close ---- */

/* Opens the device. `rate`, `outputs`: 0 for the values of the options. Errors: the device's;
 * --layout has another number of channels (usage). */
MUST_CHECK enum status stream_session_open_device(struct stream_session *session, uint32_t rate,
                                                  size_t outputs);

/* Makes the request for a chain from options and device. `channels`: channels of the input. The
 * caller may change it, and then calls live_chain_init. */
struct live_chain_request stream_session_chain_request(const struct stream_session *session,
                                                       size_t channels);

/* If the device has fewer channels than the chain's outputs, opens it again with more. `makers`:
 * begin of the message such as "the chain makes". Errors: too short a channel map; the device's. */
MUST_CHECK enum status stream_session_match_outputs(struct stream_session *session, uint32_t rate,
                                                    const char *makers);

/* Settings from the present state; a feedback guard if the input can hear the output. */
struct live_settings stream_session_settings(const struct stream_session *session);

/* Creates `live` and controls. Recorders may be NULL, and outlive the session. Errors: memory. */
MUST_CHECK enum status stream_session_make_live(struct stream_session *session,
                                                const struct live_settings *settings,
                                                struct recorder *recorder,
                                                struct recorder *recorder_dry);

/* Replaces the chain by another one with the device's rate, while no step runs. Choice and controls
 * stay. On failure the old chain stays. `chain` belongs to the session in any case. */
MUST_CHECK enum status stream_session_exchange(struct stream_session *session,
                                               struct live_chain *chain,
                                               const struct live_settings *settings);

void stream_session_stop_device(struct stream_session *session);

/* Plays silence from now on. No step runs then, so all that the step counted can be read. */
void stream_session_halt(struct stream_session *session);

/* Stops the device, closes the view. False: a step hangs, and nothing that it uses may be freed. */
bool stream_session_stop(struct stream_session *session);
void stream_session_free(struct stream_session *session);

/* ---- while it runs ---- */

/* The functions that a command adds to the loop. It casts `session` to its own session. */
struct stream_command {
    int tick; /* ms between rounds; 0: as often as the view and OSC subscribers need it */
    void (*leave)(struct stream_session *session); /* called after --seconds, or a stop signal */
    enum status (*check_device)(struct stream_session *session); /* an error ends the loop */
    void (*before_keys)(struct stream_session *session); /* called before the keys; may be NULL */
    void (*key)(struct stream_session *session, int key);
    /* executes requests and OSC commands */
    void (*after_keys)(struct stream_session *session, bool keys_ended);
    void (*update)(struct stream_session *session); /* each round, and once after the last step */
    void (*show)(struct stream_session *session);   /* when the display is due, with new meters */
    void (*finish)(struct stream_session *session); /* called after the last update; or NULL */
    enum status (*report)(struct stream_session *session); /* called when the view is closed */
};

/* Runs rounds until faded out, then prints the report. Errors: check_device's and report's. */
MUST_CHECK enum status stream_session_run(struct stream_session *session,
                                          const struct stream_command *command);

/* Puts a request in the queue of its kind; it replaces a request that waits there. If `command` is
 * not NULL, its sender is told if the request fails. */
void stream_session_ask(struct stream_session *session, enum stream_request_kind kind,
                        const struct stream_request *request, const struct live_command *command);

/* Makes the waiting request the current one. */
struct stream_request *stream_session_begin_request(struct stream_session *session,
                                                    enum stream_request_kind kind);

/* Ends a request. `reason` why it failed is displayed or sent by OSC; "": it succeeded. */
void stream_session_end_request(struct stream_session *session, struct stream_request *request,
                                const char *reason);

/* Logs and displays the events of the step. Updates load and device info. */
void stream_session_update(struct stream_session *session);

/* Length of the sound so far, in seconds. */
double stream_session_seconds(const struct stream_session *session);

void stream_session_leave(struct stream_session *session); /* starts the final fade-out */
void stream_session_set_dry(struct stream_session *session, bool dry);
void stream_session_set_gain(struct stream_session *session, double db); /* limits the gain */
/* `db`: 0 or less, and at least STREAM_CEILING_LEAST_DB. */
void stream_session_set_ceiling(struct stream_session *session, double db);
void stream_session_set_mute(struct stream_session *session, bool muted);

/* Handles the keys that halo live and halo listen share. Returns false for other keys. */
bool stream_session_key(struct stream_session *session, int key);

/* ---- display and report ---- */

/* The status to display, valid until the session changes, without what only the command has. */
struct live_status stream_session_status(struct stream_session *session, const char *command);

/* Prints the report in JSON, with `own` (owned) before the ledger. Errors: memory, writing. */
MUST_CHECK enum status stream_session_report_json(const struct stream_session *session,
                                                  const struct live_status *status, json_t *own);

/* Prints the lines of the text report about late and lost blocks. */
void stream_session_report_ledger(const struct stream_session *session);

/* Prints the last lines of the text report, about stages and limiter. */
void stream_session_report_end(const struct stream_session *session);

#endif
