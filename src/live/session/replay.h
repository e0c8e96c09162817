/* Replays the log of a recording (live_log.h). Threads: one. Not real-time. */
#ifndef HALO_REPLAY_H
#define HALO_REPLAY_H

#include "chain/chain_options.h"
#include "live/live.h"
#include "live/live_chain.h"
#include "sound/port.h"

enum logged_kind { LOGGED_EVENT, LOGGED_SWITCH, LOGGED_LOAD, LOGGED_CONTROL, LOGGED_PRESET };

struct logged {
    enum logged_kind kind;
    uint64_t frame;
    size_t number;           /* of the event in the file */
    struct live_event event; /* LOGGED_EVENT; LOGGED_CONTROL, kind and port since replay_run */
    size_t choice;           /* of masks, from 0 */
    struct choices_way way;  /* LOGGED_SWITCH, LOGGED_PRESET */
    uint64_t since;          /* LOGGED_PRESET: frame that the chain heard first */
    struct replay *preset;   /* LOGGED_PRESET: the set-up of the chain */
    char *text;              /* LOGGED_LOAD: the mask; LOGGED_CONTROL: the symbol */
};

struct replay {
    struct stream_format format; /* of the input */
    struct chain_options options;
    struct live_chain_request request;
    struct live_settings settings;
    char *others[LIVE_CHOICES_MOST];
    struct logged *events; /* by frame */
    size_t event_count;
    size_t event_room;
    bool fails; /* a stage failed and was left out */
    bool has_presets;
    const char *path;
};

/* With the backend and threads of `options`. Errors: reading; an invalid log (usage).
 * Free in any case. */
MUST_CHECK enum status replay_load(struct replay *replay, const char *path,
                                   const struct chain_options *options);
void replay_free(struct replay *replay);

/* Process the source with chain and live step, with the log's events at their frames; *heard counts
 * the frames, and *proof gets what request.proof asks for. Errors: those of source, sink and masks;
 * before the first frame, an event of what the chain lacks (usage). */
MUST_CHECK enum status replay_run(struct replay *replay, struct live_chain *chain,
                                  struct source *source, struct sink *sink, uint64_t *heard,
                                  struct proof_result *proof);

#endif
