/* halo live while it runs: live_session.c opens, shows and closes the stream; live_control.c
 * handles keys, OSC and changed files; live_preset.c changes presets; live_device.c follows the
 * device when it is lost or changes. Threads: the control thread. */
#ifndef HALO_LIVE_SESSION_H
#define HALO_LIVE_SESSION_H

#include "base/file_watch.h"
#include "base/task.h"
#include "live/recorder.h"
#include "live/session/live_edit.h"
#include "live/session/live_options.h"
#include "live/session/stream_session.h"

enum { LIVE_RECORDINGS = 2 }; /* the output and the input */

struct live_recording {
    const char *path;          /* NULL: do not record */
    struct recorder *recorder; /* NULL: not open */
    bool ended;                /* a failure ended the recording */
};

/* The line in which a user types the name of a preset. */
struct live_preset_prompt {
    bool is_open;
    bool offers;   /* `name` is the name of what is heard, and the next letter replaces it */
    bool replaces; /* a preset has this name; Enter replaces it */
    char name[PRESET_NAME_MOST];
    char line[PRESET_NAME_MOST + 80]; /* the line as displayed */
    const char *lines[1];
};

/* A preset with its chain, prepared beside the stream. `coming` comes first: it is cast to this. */
struct prepared_preset {
    struct live_coming coming; /* the prepared slot; the old slot after the change */
    struct preset *preset;
    struct live_chain chain;
};

void prepared_preset_free(struct prepared_preset *prepared);

/* State of presets and of changes to another one. */
struct live_presets {
    char name[PRESET_NAME_MOST];    /* name of the preset that is heard; "": none */
    struct preset *preset;          /* preset of the chain; NULL: the command line's chain */
    struct preset_source first;     /* source that the command line names, with its mask */
    bool is_for_device;             /* a rule of --for-device chose what is heard */
    struct task *loader;            /* prepares the requested preset, or NULL */
    struct prepared_preset *coming; /* the prepared preset that was requested, or NULL */
    unsigned number;                /* number of the slot made last */
    struct live_preset_prompt prompt;
};

struct live_session {
    struct stream_session stream; /* the first member; see struct stream_command */
    const struct live_options *options;
    struct live_recording recordings[LIVE_RECORDINGS];
    char *log_path;           /* NULL: no log */
    struct file_watch *watch; /* NULL: files are not watched */

    struct task *loader; /* reads a mask; NULL: none */
    struct live_presets presets;
    struct {
        char device[128]; /* name of the output device, as in device_info */
        char preset[PRESET_NAME_MOST];
    } rules[LIVE_FOR_DEVICE_MOST]; /* presets of devices, by commands */
    size_t rule_count;
    struct live_edit edit;
    json_t *offers;       /* masks and plugins that pages may add; NULL: no pages */
    struct task *plugins; /* lists plugins; NULL: they are listed */
    struct live_pages *pages;
    bool begun;                /* the sound has started */
    char away[300];            /* why the device cannot be opened, as displayed last */
    uint64_t interruptions;    /* number of times that the device was lost */
    char played_to[128];       /* output device when live_for_device_update was last called */
    uint64_t widened;          /* number of times that the device's latency was increased */
    uint64_t lost_before;      /* lost blocks at time `counted_at` */
    double counted_at;         /* monotonic seconds; for the decision to increase the latency */
    struct proof_result proof; /* proof of the chains that have ended */
    enum status unproven;      /* result of the proof before a change of rate */
};

/* ---- live_session.c ---- */

/* Runs until the end, then prints a report. Errors: those of device, chain and recordings. */
MUST_CHECK enum status live_session_run(const struct live_options *options);

#define LIVE_UNPROVEN "what was heard and recorded cannot be trusted"

/* The settings of stream_session_settings, with those that only halo live has. */
struct live_settings live_session_settings(const struct live_session *session);

/* The request for a chain that fits the present device. `channels`: channels of the input. */
struct live_chain_request live_session_chain_request(const struct live_session *session,
                                                     size_t channels);

/* Adds the proof of a chain to `proof`. Its last step was before frame `until`. */
void live_session_prove(struct live_session *session, struct live_chain *chain, uint64_t until);

/* While no step runs: closes recordings and their log. Errors are kept for the end's report. */
void live_session_end_recordings(struct live_session *session);

/* ---- live_device.c ---- */

/* Opens a lost device again, or adapts the chain if rate or period changed. Call it about four
 * times a second. Errors: the device is lost, and --reconnect is missing or cannot help. */
MUST_CHECK enum status live_device_check(struct stream_session *stream);

/* If a --for-device rule fits, begins with its preset or mask. Errors: the chain's. */
MUST_CHECK enum status live_for_device_begin(struct live_session *session);

/* Checks all --for-device rules against the initial chain, and says which rule applies. Errors: a
 * chain that cannot be used, or has another number of outputs. */
MUST_CHECK enum status live_for_device_check(const struct live_session *session);

/* From now on, the present output device has a saved preset. Errors: no such preset; too many. */
MUST_CHECK enum status live_for_device_add(struct live_session *session, const char *preset);

/* If the output device has changed, changes to what the rule for the new device says. */
void live_for_device_update(struct live_session *session);

/* ---- live_control.c ---- */

void live_control_key(struct stream_session *stream, int key);

/* Executes a command of OSC or a page, and keeps the state before it for undo. Errors: those of the
 * command; the state stays. */
MUST_CHECK enum status live_control_obey(struct live_session *session,
                                         const struct live_command *command);

/* Executes commands received by OSC and from pages, and advances requests. */
void live_control_advance(struct stream_session *stream, bool keys_ended);

/* Watches the files of the masks for changes. */
MUST_CHECK enum status live_control_watch(struct live_session *session);

/* Call it after the masks changed: their files are watched instead. */
void live_control_watch_again(struct live_session *session);

/* Drops the requests to read a mask, also the one that is being executed. */
void live_control_end_loads(struct live_session *session);

/* Updates the help line: keys for controls are listed if there are controls. */
void live_control_show_keys(struct live_session *session);

/* Chooses a mask, from 1; 0 is dry. Errors (usage): no such mask. */
MUST_CHECK enum status live_control_choose(struct live_session *session, size_t number);

/* ---- live_preset.c ---- */

/* Loads a preset from any source, with the settings of the options. Errors: those of the source. */
MUST_CHECK enum status live_preset_load_source(const struct live_options *options,
                                               const struct preset_source *source,
                                               struct preset **preset);

/* Makes a request for a preset's chain. What the preset does not set is taken from `like`. */
struct live_chain_request preset_chain_request(const struct preset *preset,
                                               const struct live_chain_request *like);

/* Sets `presets.first` to the options' source; if it is a preset, loads it as `presets.preset`. */
MUST_CHECK enum status live_preset_begin(struct live_session *session);

/* Before the chain is made: makes a preset `presets.preset`, and takes over its gain and dry. */
void live_preset_use(struct live_session *session, struct preset *preset);

/* After the start: stores the name of the preset as the last one used. */
void live_preset_begun(struct live_session *session);

/* Requests a change to a preset; the second function, to the next or previous preset. `command`
 * (NULL: a key) is answered if the change fails later. Errors: no such preset. */
MUST_CHECK enum status live_preset_ask(struct live_session *session, const char *name,
                                       const struct live_command *command);
MUST_CHECK enum status live_preset_go(struct live_session *session, int direction,
                                      const struct live_command *command);

/* Requests a change for a device. It replaces a request that waits. */
void live_preset_ask_for_device(struct live_session *session, const struct preset_source *source);

/* Requests to make the present chain again from its files, unless another request waits. */
void live_preset_ask_present(struct live_session *session);

/* The source of the last requested preset, or of what is heard if no request is open. */
const struct preset_source *live_preset_last_asked(const struct live_session *session);

/* Saves what is heard as a preset. Errors: it exists (without `force`), the folder. */
MUST_CHECK enum status live_preset_save(struct live_session *session, const char *name, bool force);

/* Makes a preset of what is heard, for the caller to destroy. Errors: memory. */
MUST_CHECK enum status live_preset_present(const struct live_session *session,
                                           struct preset **preset);

/* Whether no change of presets is under way or waits. */
bool live_preset_is_idle(const struct live_session *session);

/* While it is idle: changes to `preset`, which it owns then, at the monotonic time `at` or later.
 * Errors: memory, threads; the chain's are displayed later. */
MUST_CHECK enum status live_preset_change(struct live_session *session, struct preset *preset,
                                          double at);

/* Advances the changes of presets. Call it often. */
void live_preset_advance(struct live_session *session);

/* Call it while no step runs: logs a change that began and did not end. */
void live_preset_finish(struct live_session *session);

/* Call it while no step runs, after live_preset_finish. Frees the prepared presets. */
void live_preset_close(struct live_session *session);

/* Call it while no step runs, before the stream starts again. Completes a change that has ended. A
 * change that has not ended is logged if it began, and will be made again in the new stream. */
void live_preset_start_again(struct live_session *session);

#endif
