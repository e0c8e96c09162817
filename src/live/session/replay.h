/* Replays the log of a recording (live_log.h). Threads: one. Not real-time. */
#ifndef HALO_REPLAY_H
#define HALO_REPLAY_H

#include "chain/chain_options.h"
#include "live/live.h"
#include "live/live_chain.h"
#include "sound/port.h"

enum logged_kind {
    LOGGED_EVENT,
    LOGGED_SWITCH,
    LOGGED_LOAD,
    LOGGED_BANDS, /* other bands at stage event.stage */
    LOGGED_CONTROL,
    LOGGED_PRESET
};

struct logged {
    enum logged_kind kind;
    uint64_t frame;          /* frame of the stream where it happened */
    size_t number;           /* number of the event in the file, from 1 */
    struct live_event event; /* LOGGED_EVENT, LOGGED_CONTROL; kind and port are set by replay_run */
    size_t choice;           /* index of the mask, from 0 */
    struct choices_way way;  /* LOGGED_SWITCH, LOGGED_BANDS, LOGGED_PRESET */
    uint64_t since;          /* LOGGED_PRESET: first frame that the chain processed */
    struct replay *preset;   /* LOGGED_PRESET: set-up of the chain */
    char *text; /* LOGGED_LOAD, LOGGED_BANDS: spec of the mask; LOGGED_CONTROL: symbol */
};

struct replay {
    struct stream_format format; /* format of the input */
    struct chain_options options;
    struct live_chain_request request;
    struct live_settings settings;
    char *others[LIVE_CHOICES_MOST]; /* specs of the second mask and so on */
    struct logged *events;           /* sorted by frame */
    size_t event_count;
    size_t event_room; /* capacity of `events` */
    bool fails;        /* a stage failed and was left out in the recording */
    bool has_presets;
    const char *path;
};

/* Loads a log. Backend and threads are those of `options`. Errors: reading; an invalid log (usage).
 * Call replay_free in any case. */
MUST_CHECK enum status replay_load(struct replay *replay, const char *path,
                                   const struct chain_options *options);
void replay_free(struct replay *replay);

/* Processes the source with the chain and the live step, and applies the log's events at their
 * frames. *heard: number of frames. *proof: result of request.proof. Errors: those of source, sink
 * and masks; before the first frame: an event of a stage or mask that the chain lacks (usage). */
MUST_CHECK enum status replay_run(struct replay *replay, struct live_chain *chain,
                                  struct source *source, struct sink *sink, uint64_t *heard,
                                  struct proof_result *proof);

#endif
