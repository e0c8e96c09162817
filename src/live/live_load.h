/* The load of a live step: its time divided by the block's duration; and the ledger of blocks that
 * were late or lost.
 *
 * Threads: the control thread, which calls live_load_update at least every 200 ms.
 */
#ifndef HALO_LIVE_LOAD_H
#define HALO_LIVE_LOAD_H

#include "live/ledger.h"
#include "live/live_log.h"

enum { LIVE_LOAD_RECENT = 1 << 13 /* blocks in the percentile */ };

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

/* Errors: memory. */
MUST_CHECK enum status live_load_init(struct live_load *load, uint32_t rate);
void live_load_free(struct live_load *load);

/* Outages go to the log, unless it is NULL. */
void live_load_update(struct live_load *load, struct live *live, struct live_log *log);

#endif
