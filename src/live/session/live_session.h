/* halo live while it runs: live_session.c opens, shows and closes the stream; live_control.c
 * handles keys, OSC and changed files; live_preset.c changes presets; live_device.c follows the
 * device. Threads: the control thread.
 */
#ifndef HALO_LIVE_SESSION_H
#define HALO_LIVE_SESSION_H

#include "base/file_watch.h"
#include "live/recorder.h"
#include "live/session/live_options.h"
#include "live/session/stream_session.h"

enum { LIVE_RECORDINGS = 2 }; /* of the output, of the input */

struct live_recording {
    const char *path;          /* or NULL */
    struct recorder *recorder; /* or NULL */
    bool ended;                /* by a failure */
};

/* The name that is being typed for a preset. */
struct live_preset_prompt {
    bool is_open;
    bool offers;   /* the name of what is heard, which a letter replaces */
    bool replaces; /* Enter replaces a preset of that name */
    char name[PRESET_NAME_MOST];
    char line[PRESET_NAME_MOST + 80]; /* as shown */
    const char *lines[1];
};

enum { PRESET_REASON = 1000 /* bytes, with its 0 */ };

/* A preset with its chain; `coming` is first, so that live_change_taken returns one. */
struct prepared_preset {
    struct live_coming coming; /* its slot is the old one once it was taken */
    struct preset *preset;
    struct live_chain chain;
    char reason[PRESET_REASON]; /* why it could not be prepared; "": it was */
};

void prepared_preset_free(struct prepared_preset *prepared);

struct live_presets {
    char name[PRESET_NAME_MOST];    /* of what is heard; "": of none */
    struct preset *preset;          /* that the chain is made of; NULL: of the command line */
    struct preset_source first;     /* what the command line asks for, with its mask */
    bool is_for_device;             /* a rule of --for-device chose what is heard */
    struct preset_loader *loader;   /* of the current request, or NULL */
    struct prepared_preset *coming; /* of the current request, or NULL */
    unsigned number;                /* of the last slot */
    struct live_preset_prompt prompt;
};

struct live_session {
    struct stream_session stream; /* first; see struct stream_command */
    const struct live_options *options;
    struct live_recording recordings[LIVE_RECORDINGS];
    char *log_path;           /* or NULL */
    struct file_watch *watch; /* or NULL */

    struct choice_loader *loader; /* of the mask that is being read; NULL: none */
    struct live_presets presets;
    bool begun;                /* the sound started */
    char away[300];            /* why the device cannot be opened, as last shown */
    uint64_t interruptions;    /* losses of the device */
    char played_to[128];       /* the device when live_for_device_update last looked */
    uint64_t widened;          /* times that the device's latency was made longer */
    uint64_t lost_before;      /* blocks, at `counted_at`, for that */
    double counted_at;         /* monotonic seconds */
    struct proof_result proof; /* of the chains that are over */
    enum status unproven;      /* of the sound before the rate changed */
};

/* ---- live_session.c ---- */

/* Runs until the user quits or the device is lost, then reports. Errors: those of device, chain and
 * recordings. */
MUST_CHECK enum status live_session_run(const struct live_options *options);

#define LIVE_UNPROVEN "what was heard and recorded cannot be trusted"

/* With what only halo live has. */
struct live_settings live_session_settings(const struct live_session *session);

/* For the device as it is now, and an input of `channels`. */
struct live_chain_request live_session_chain_request(const struct live_session *session,
                                                     size_t channels);

/* A chain whose last step was before frame `until`: its proof is added to `proof`. */
void live_session_prove(struct live_session *session, struct live_chain *chain, uint64_t until);

/* Close the recordings and their log; the step must not run. A failure is kept for the end. */
void live_session_end_recordings(struct live_session *session);

/* ---- live_device.c ---- */

/* Opens the device again, or follows its rate and period, where that is needed. Call it about four
 * times a second. Errors: it is lost, without --reconnect or for good. */
MUST_CHECK enum status live_device_check(struct stream_session *stream);

/* Begin with what the device that was opened has a rule for. Errors: those of its chain. */
MUST_CHECK enum status live_for_device_begin(struct live_session *session);

/* Check all rules against the chain that it begins with, and say what follows the device. Errors:
 * a chain that cannot be used, or makes another number of channels. */
MUST_CHECK enum status live_for_device_check(const struct live_session *session);

/* Change to what the device that is played to has a rule for, where the device has changed. */
void live_for_device_update(struct live_session *session);

/* ---- live_control.c ---- */

void live_control_key(struct stream_session *stream, int key);

/* Executes commands of OSC and advances requests. */
void live_control_advance(struct stream_session *stream, bool keys_ended);

/* Watch the files of the masks. */
MUST_CHECK enum status live_control_watch(struct live_session *session);

/* After the masks changed. */
void live_control_watch_again(struct live_session *session);

/* Forget the masks to read, and the one that is being read. */
void live_control_end_loads(struct live_session *session);

/* The line of keys, for the controls that there are. */
void live_control_show_keys(struct live_session *session);

/* From 1; 0 is dry. Errors (usage): no such mask. */
MUST_CHECK enum status live_control_choose(struct live_session *session, size_t number);

/* ---- live_preset.c ---- */

/* A preset of any source, with the settings of the options. Errors: those of the source. */
MUST_CHECK enum status live_preset_load_source(const struct live_options *options,
                                               const struct preset_source *source,
                                               struct preset **preset);

/* The request for a chain of the preset; else like another one. */
struct live_chain_request preset_chain_request(const struct preset *preset,
                                               const struct live_chain_request *like);

/* What the options ask for becomes `presets.first` and, if it is a preset, `presets.preset`. */
MUST_CHECK enum status live_preset_begin(struct live_session *session);

/* It becomes `presets.preset`, with its gain and dry; before the chain is made. */
void live_preset_use(struct live_session *session, struct preset *preset);

/* It runs: the name is remembered. */
void live_preset_begun(struct live_session *session);

/* Change to a preset, or to the next or previous one, when it is prepared; `command` (NULL: a key)
 * is answered if that fails. Errors: there is none. */
MUST_CHECK enum status live_preset_ask(struct live_session *session, const char *name,
                                       const struct osc_command *command);
MUST_CHECK enum status live_preset_go(struct live_session *session, int direction,
                                      const struct osc_command *command);

/* For a device; it takes the place of what waits. */
void live_preset_ask_for_device(struct live_session *session, const struct preset_source *source);

/* What is heard, with masks of any length, as their files are now; unless another one waits. */
void live_preset_ask_present(struct live_session *session);

/* The source of what is heard, or will be when all changes are done. */
const struct preset_source *live_preset_last_asked(const struct live_session *session);

/* Errors: it exists (without `force`), the folder. */
MUST_CHECK enum status live_preset_save(struct live_session *session, const char *name, bool force);

/* Advance changes; call it often. */
void live_preset_advance(struct live_session *session);

/* While no step runs: log a change that began, and did not end. */
void live_preset_finish(struct live_session *session);

/* When no step runs, after finish. */
void live_preset_close(struct live_session *session);

/* While no step runs: a change that is done is taken; one on its way is logged if it began, and
 * begins again with the stream that follows. */
void live_preset_start_again(struct live_session *session);

#endif
