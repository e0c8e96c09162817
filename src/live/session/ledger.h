/* The ledger of a stream: a list of the blocks that were late or lost, with time, duration and
 * cause.
 *
 * Late: the step took longer than the block lasts, or the device called later than its buffers
 * allow. Lost: the device lost sound before the block. The step records times and what the kernel
 * counted meanwhile (struct block_time); the ledger finds the cause.
 *
 * If a step used a processor for longer than its block lasts, it computed for too long. Otherwise
 * it was late because it did not get a processor. The control thread sleeps for at most 200 ms. If
 * it neither ran nor waited for a processor for 400 ms, and the device's thread did not run either,
 * the process was stopped.
 *
 * Units: ns. Times are of the monotonic clock, except outage.at. Threads: the control thread. */
#ifndef HALO_LEDGER_H
#define HALO_LEDGER_H

#include "live/live.h"

#include <jansson.h>

enum {
    LEDGER_MOST = 1000, /* outages kept; later ones are only counted */
    LEDGER_PAUSES = 8,  /* pauses kept; older ones are dropped */
};

enum outage_cause {
    OUTAGE_XRUN,        /* the device reported a loss; the cause is unknown */
    OUTAGE_CALLED_LATE, /* the device called the step late */
    OUTAGE_AWAY,        /* the device was lost, and has returned */
    OUTAGE_REOPENED,    /* the device was open, and was opened again with another rate or buffer */
    OUTAGE_TOO_LONG,
    OUTAGE_MASK_CHANGE,
    OUTAGE_WORKER,
    OUTAGE_GPU,
    OUTAGE_PAGE_FAULTS,
    OUTAGE_PREEMPTED,
    OUTAGE_MIGRATED,
    OUTAGE_STOPPED,
    OUTAGE_CAUSES
};

struct outage {
    struct block_time time;
    enum outage_cause cause;
    int64_t gap; /* duration without sound, at least; 0: unknown */
    int64_t at;  /* when the gap began, in ns since 1970 */
};

/* State of the control thread at a time. */
struct ledger_sight {
    int64_t now;
    int64_t cpu;    /* time that it has used a processor */
    int64_t waited; /* time that it has waited for a processor */
};

/* A time within which the process was stopped, for `stopped` ns in all. */
struct ledger_pause {
    int64_t from, to, stopped;
};

struct ledger {
    uint32_t rate;
    int64_t slack;  /* how late the device may call; INT64_MAX: the device does not keep time */
    bool switching; /* a mask is being changed */
    struct outage *outages;
    size_t kept; /* number of `outages` */
    uint64_t count[OUTAGE_CAUSES];
    uint64_t late, lost; /* late and lost blocks */
    int64_t since;       /* the device was away until then; earlier times do not count */
    int64_t ended;       /* end of the last step */
    struct ledger_sight last;
    struct ledger_pause pauses[LEDGER_PAUSES];
    size_t paused; /* number of pauses so far */
    int schedstat; /* descriptor of the control thread's schedstat file; -1: the kernel has none */
};

/* Errors: memory. */
MUST_CHECK enum status ledger_init(struct ledger *ledger, uint32_t rate);
void ledger_free(struct ledger *ledger);

/* Changes the rate that frames count in. Frames of earlier outages are converted. */
void ledger_set_rate(struct ledger *ledger, uint32_t rate);

/* Looks for pauses of the process. Call it at least every 200 ms while the device runs. */
void ledger_watch(struct ledger *ledger);
/* ledger_watch with a given state, for tests */
void ledger_see(struct ledger *ledger, const struct ledger_sight *sight);

/* Enters the block if it was late or lost. Returns the outage, valid until the next call. NULL: the
 * block was in time, or the outage was only counted. */
const struct outage *ledger_add(struct ledger *ledger, const struct block_time *time);

/* Enters that there was no device until now. `cause`: OUTAGE_AWAY or OUTAGE_REOPENED. `frame`: the
 * next frame. Returns the same as ledger_add. */
const struct outage *ledger_add_away(struct ledger *ledger, uint64_t frame,
                                     enum outage_cause cause);

uint64_t ledger_total(const struct ledger *ledger);

/* Returns a JSON object. NULL: memory. */
json_t *ledger_outage_json(const struct outage *outage, uint32_t rate);

/* Returns the cause of most outages, and in `text` what a user can do. OUTAGE_CAUSES: there were
 * none. `priority` is that of struct device_info. */
enum outage_cause ledger_verdict(const struct ledger *ledger, int priority, char *text,
                                 size_t size);

json_t *ledger_json(const struct ledger *ledger); /* an array of the outages */
json_t *ledger_verdict_json(const struct ledger *ledger, int priority);
void ledger_print(const struct ledger *ledger, int priority); /* the outages and the verdict */

#endif
