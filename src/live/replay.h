/* Replays the log of a recording (live_log.h). Threads: one. Not real-time. */
#ifndef HALO_REPLAY_H
#define HALO_REPLAY_H

#include "chain/chain_options.h"
#include "live/live.h"
#include "live/live_chain.h"
#include "sound/port.h"

enum logged_kind { LOGGED_EVENT, LOGGED_SWITCH, LOGGED_LOAD, LOGGED_CONTROL };

struct logged {
    enum logged_kind kind;
    uint64_t frame;
    struct live_event event; /* LOGGED_EVENT; LOGGED_CONTROL, without kind and port */
    size_t choice;           /* of masks, from 0 */
    struct choices_way way;  /* LOGGED_SWITCH */
    char *text;              /* LOGGED_LOAD: the mask; LOGGED_CONTROL: the symbol */
};

struct replay {
    struct stream_format format; /* of the input */
    struct chain_options options;
    struct live_chain_request request;
    struct live_settings settings;
    char *texts[2 * LIVE_CHOICES_MOST]; /* of stages and choices */
    size_t text_count;
    const char *others[LIVE_CHOICES_MOST];
    struct logged *events; /* by frame */
    size_t event_count;
    bool fails; /* a stage failed and was left out */
    const char *path;
};

/* With the backend and threads of `options`. Errors: reading, an invalid log. Free in any case. */
MUST_CHECK enum status replay_load(struct replay *replay, const char *path,
                                   const struct chain_options *options);
void replay_free(struct replay *replay);

/* Process the source with chain and live step, with the log's events at their frames; *heard counts
 * the frames. Errors: those of source, sink and masks. */
MUST_CHECK enum status replay_run(struct replay *replay, struct live_chain *chain,
                                  struct source *source, struct sink *sink, uint64_t *heard);

#endif
