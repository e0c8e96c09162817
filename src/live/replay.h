/* A log of a recording (live_log.h), read again.
 *
 * Threads: one. Not real-time.
 */
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
    struct live_event event; /* LOGGED_EVENT; of LOGGED_CONTROL without kind and port */
    size_t choice;           /* of masks, from 0 */
    struct choices_way way;  /* LOGGED_SWITCH */
    char *text;              /* of LOGGED_LOAD the mask, of LOGGED_CONTROL the symbol */
};

struct replay {
    struct stream_format format; /* of the input */
    struct chain_options options;
    struct live_chain_request request;
    struct live_settings settings;
    char *texts[2 * LIVE_CHOICES_MOST]; /* of stages and choices */
    size_t text_count;
    const char *others[LIVE_CHOICES_MOST];
    struct logged *events; /* in the order of their frames */
    size_t event_count;
    bool fails; /* a stage did, and was left out */
    const char *path;
};

/* Backend and threads are those of `options`. Errors: no log, or one of another kind. Free in
 * any case. */
MUST_CHECK enum status replay_load(struct replay *replay, const char *path,
                                   const struct chain_options *options);
void replay_free(struct replay *replay);

/* The source's sound as it was heard: every block of it through chain and live step, with
 * the log's events where they were. Errors: the source's and sink's, and masks that are not
 * there any more. `heard` counts frames. */
MUST_CHECK enum status replay_run(struct replay *replay, struct live_chain *chain,
                                  struct source *source, struct sink *sink, uint64_t *heard);

#endif
