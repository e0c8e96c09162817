/* A running stream: device, chain with masks to choose from, controls, log, view, and the loop that
 * takes keys and OSC. The sessions of halo live and halo listen begin with one.
 *
 * Set options and `blind` in a zeroed struct, then call open_device, make_chain, match_outputs,
 * make_live, and the owner's view_open and device_run; then stream_session_run. Stop, then free,
 * also after a failure.
 * Threads: the control thread.
 */
#ifndef HALO_STREAM_SESSION_H
#define HALO_STREAM_SESSION_H

#include "live/live_chain.h"
#include "live/remote/osc.h"
#include "live/session/ledger.h"
#include "live/session/live_controls.h"
#include "live/session/live_log.h"
#include "live/session/preset.h"
#include "view/view.h"

#include <jansson.h>

#define STREAM_GAIN_LEAST_DB (-60.0)
#define STREAM_GAIN_MOST_DB 24.0

/* The time of the live step divided by the block's duration, and the ledger of blocks that were
 * late or lost. */
struct live_load {
    float *recent;   /* loads, a ring */
    float *ordered;  /* in part */
    size_t count;    /* blocks so far */
    size_t found_at; /* `count` when p99 was */
    double now;      /* highest since the last update */
    double p99;      /* of recent blocks */
    double worst;    /* of all blocks */
    double sum;
    uint64_t unseen; /* blocks whose times were dropped */
    struct ledger ledger;
};

/* The kinds of request that wait until an earlier one is done: a switch of halo listen; a mask to
 * read; a preset to change to. */
enum stream_request_kind { STREAM_SWITCH, STREAM_MASK, STREAM_PRESET, STREAM_REQUESTS };

struct stream_request {
    bool is_asked;
    size_t choice;               /* from 0, of a switch or a mask */
    char *text;                  /* spec of a mask, owned; NULL: the choice's own */
    struct preset_source source; /* of a preset */
    bool is_for_device;          /* a rule of --for-device asks, and no user */
    bool is_present;  /* preset: what is heard, with its masks as they are in their files now */
    const char *path; /* of the OSC message that asks for it; NULL: none */
    struct osc_sender sender;
};

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
    struct osc *osc;      /* the owner's, or NULL */
    struct choices_way way;
    struct stream_request next[STREAM_REQUESTS];    /* by kind: it waits */
    struct stream_request current[STREAM_REQUESTS]; /* by kind: it has begun */

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

void stream_session_stop_device(struct stream_session *session);

/* The device plays silence from now on, so that what the step counted can be read. */
void stream_session_halt(struct stream_session *session);

/* Stop the device and close the view. False: a step hangs (noted), and what it uses must be leaked.
 */
bool stream_session_stop(struct stream_session *session);
void stream_session_free(struct stream_session *session);

/* ---- while it runs ---- */

/* What a command adds to the loop. `session` is the stream that its own session begins with. */
struct stream_command {
    int tick; /* ms between rounds; 0: as view and subscribers of OSC need them */
    void (*leave)(
        struct stream_session *session); /* --seconds have passed, or a stop signal came */
    enum status (*check_device)(struct stream_session *session); /* a failure ends the loop */
    void (*before_keys)(struct stream_session *session);         /* or NULL */
    void (*key)(struct stream_session *session, int key);
    void (*after_keys)(struct stream_session *session, bool keys_ended); /* requests and OSC */
    void (*update)(struct stream_session *session);        /* also once after the last step */
    void (*show)(struct stream_session *session);          /* when it is due, with new meters */
    void (*finish)(struct stream_session *session);        /* after the last update; or NULL */
    enum status (*report)(struct stream_session *session); /* when the view is closed */
};

/* Runs rounds until the sound has faded out, then reports. Errors: those of check_device and
 * report. */
MUST_CHECK enum status stream_session_run(struct stream_session *session,
                                          const struct stream_command *command);

/* Let a request wait, in place of one of its kind; `command`, unless NULL, is answered if it fails.
 */
void stream_session_ask(struct stream_session *session, enum stream_request_kind kind,
                        const struct stream_request *request, const struct osc_command *command);

/* The waiting request becomes the current one. */
struct stream_request *stream_session_begin_request(struct stream_session *session,
                                                    enum stream_request_kind kind);

/* `reason` is shown or sent to who asked: why it was not done. "": it was. */
void stream_session_end_request(struct stream_session *session, struct stream_request *request,
                                const char *reason);

/* Log and show the step's events; update load and device info. */
void stream_session_update(struct stream_session *session);

double stream_session_seconds(const struct stream_session *session); /* of sound so far */

void stream_session_leave(struct stream_session *session); /* start the final fade-out */
void stream_session_set_dry(struct stream_session *session, bool dry);
void stream_session_set_gain(struct stream_session *session, double db); /* limited */
void stream_session_set_mute(struct stream_session *session, bool muted);

/* Keys common to both commands. False: not one of these. */
bool stream_session_key(struct stream_session *session, int key);

/* ---- what is shown ---- */

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
