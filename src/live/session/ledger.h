/* The ledger of a stream: each block that was late or lost, when, for how long, and why.
 *
 * Late: the step took longer than the block lasts, or the device's call came later than its buffers
 * explain. Lost: the device lost sound before the block. The step records times and what the kernel
 * counted meanwhile (struct block_time); the cause is found here.
 *
 * A step that was on a processor for longer than its block lasts would have been late in any case;
 * otherwise it is late because it was kept from one. The process was stopped where the control
 * thread, which sleeps for 200 ms at most, neither ran nor waited for a processor for 400 ms, and
 * the device's thread did not run either.
 *
 * Units: ns; begin and pauses of the monotonic clock. Threads: the control thread.
 */
#ifndef HALO_LEDGER_H
#define HALO_LEDGER_H

#include "live/live.h"

#include <jansson.h>

enum {
    LEDGER_MOST = 1000, /* outages kept; all are counted */
    LEDGER_PAUSES = 8,  /* the last ones are kept */
};

enum outage_cause {
    OUTAGE_XRUN,        /* reported by the device, and nothing else is known */
    OUTAGE_CALLED_LATE, /* by the device */
    OUTAGE_AWAY,        /* the device was lost, and is back */
    OUTAGE_REOPENED,    /* it was there, and was opened again to suit it */
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
    int64_t gap; /* without sound, at least; 0: unknown */
    int64_t at;  /* when the gap began, since 1970 */
};

/* What was seen of the control thread at a time. */
struct ledger_sight {
    int64_t now;
    int64_t cpu;    /* it has been on a processor */
    int64_t waited; /* it has waited for one */
};

/* The process was stopped within, for `stopped` in all. */
struct ledger_pause {
    int64_t from, to, stopped;
};

struct ledger {
    uint32_t rate;
    int64_t slack;  /* by which a call may be late; INT64_MAX: the device does not keep time */
    bool switching; /* a mask is being changed */
    struct outage *outages;
    size_t kept;
    uint64_t count[OUTAGE_CAUSES];
    uint64_t late, lost; /* blocks */
    int64_t since;       /* earlier times do not count, for the device was away */
    int64_t ended;       /* the last step */
    struct ledger_sight last;
    struct ledger_pause pauses[LEDGER_PAUSES];
    size_t paused; /* pauses so far */
    int schedstat; /* file of the control thread; -1: not in this kernel */
};

/* Errors: memory. */
MUST_CHECK enum status ledger_init(struct ledger *ledger, uint32_t rate);
void ledger_free(struct ledger *ledger);

/* From now on frames are of another rate; those of earlier outages are converted. */
void ledger_set_rate(struct ledger *ledger, uint32_t rate);

/* Call it at least every 200 ms while the device runs. */
void ledger_watch(struct ledger *ledger);
void ledger_see(struct ledger *ledger, const struct ledger_sight *sight); /* the same, for tests */

/* Enter the block if it was late or lost. Returns the outage, valid until the next call; NULL:
 * none, or only counted. */
const struct outage *ledger_add(struct ledger *ledger, const struct block_time *time);

/* Enter that there was no device until now, by OUTAGE_AWAY or OUTAGE_REOPENED; `frame` is the next
 * one. Returns as ledger_add. */
const struct outage *ledger_add_away(struct ledger *ledger, uint64_t frame,
                                     enum outage_cause cause);

uint64_t ledger_total(const struct ledger *ledger);

/* As a JSON object; NULL: memory. */
json_t *ledger_outage_json(const struct outage *outage, uint32_t rate);

/* The cause of most outages, and in `text` what to do. `priority` is that of struct device_info.
 * OUTAGE_CAUSES: there were none. */
enum outage_cause ledger_verdict(const struct ledger *ledger, int priority, char *text,
                                 size_t size);

json_t *ledger_json(const struct ledger *ledger); /* an array */
json_t *ledger_verdict_json(const struct ledger *ledger, int priority);
void ledger_print(const struct ledger *ledger, int priority); /* and the verdict */

#endif
