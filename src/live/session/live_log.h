/* The log of a recording: every change and its frame. With the log, the recorded input gives the
 * recorded output again (halo render IN OUT --replay LOG).
 *
 * Lines of JSON, flushed one by one: the stream's set-up, then events. Threads: the control thread.
 */
#ifndef HALO_LIVE_LOG_H
#define HALO_LIVE_LOG_H

#include "chain/chain_options.h"
#include "live/live.h"
#include "live/live_chain.h"
#include "live/session/ledger.h"

struct live_log;

/* Errors: the file exists (without `force`), folder, permissions. */
MUST_CHECK enum status live_log_open(const char *path, bool force, const struct live_chain *chain,
                                     const struct live_settings *settings, struct live_log **log);

/* Gives the file its name, and replaces an old file; see recorder_keep. NULL is ignored. */
MUST_CHECK enum status live_log_keep(struct live_log *log);

/* The functions below write a line. A NULL log is ignored. Only the first write error is reported.
 * `symbol`: symbol of the control for a LIVE_STAGE_CONTROL event, else NULL. */
void live_log_event(struct live_log *log, const struct live_event *event, const char *symbol);
void live_log_switch(struct live_log *log, size_t choice, uint64_t at,
                     const struct choices_way *way);
void live_log_load(struct live_log *log, size_t choice, const char *text, uint64_t frame);
/* A change of a stage's bands (stage from 0). The switch to mask `text` began at the frame. */
void live_log_bands(struct live_log *log, size_t stage, const char *text, uint64_t frame,
                    const struct choices_way *way);

/* A change to another chain. Its input begins at chain->since, the crossfade at frame `at`. */
struct live_log_preset {
    const struct live_chain *chain;
    const struct live_settings *settings; /* the stream's, with this chain's gain and dry */
    uint64_t at;
    struct choices_way way;
};
void live_log_preset(struct live_log *log, const struct live_log_preset *preset);

void live_log_outage(struct live_log *log, const struct outage *outage); /* NULL is ignored */
void live_log_close(struct live_log *log);

/* Names in the log, in the order of enum live_control and enum switch_shape. NULL ends each. */
extern const char *const live_log_events[];
extern const char *const live_log_shapes[];

/* The name of an outage in the log. Outages do not change the sound. */
extern const char live_log_outage_name[];

/* The name of a change to another chain. */
extern const char live_log_preset_name[];

#endif
