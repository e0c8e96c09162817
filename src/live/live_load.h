/* The load of a live step, and a ledger of blocks that were late or lost.
 *
 * Late: the step took longer than the block lasts. Lost: the device lost sound before the block.
 * Load: the time of the step divided by the block's duration.
 * Threads: the control thread, which calls live_load_update every few seconds or more often.
 */
#ifndef HALO_LIVE_LOAD_H
#define HALO_LIVE_LOAD_H

#include "live/live.h"

#include <jansson.h>

enum {
    LIVE_LOAD_RECENT = 1 << 13, /* blocks in the percentile */
    LIVE_LEDGER_MOST = 1000,    /* entries kept; all are counted */
};

struct ledger_entry {
    struct block_time time;
    const char *cause;
};

struct live_load {
    double period; /* ns */
    uint32_t rate;
    float *recent; /* loads, a ring */
    float *sorted;
    size_t count;     /* blocks so far */
    size_t sorted_at; /* `count` when p99 was computed */
    double now;       /* highest since the last update */
    double p99;       /* of recent blocks */
    double worst;     /* of all blocks */
    double sum;
    uint64_t late;
    uint64_t lost;
    struct ledger_entry *ledger;
    size_t entries;
    const char *busy; /* a known cause of load at present, or NULL */
};

/* Errors: memory. */
MUST_CHECK enum status live_load_init(struct live_load *load, size_t block, uint32_t rate);
void live_load_free(struct live_load *load);

void live_load_update(struct live_load *load, struct live *live);

/* The ledger as a JSON array, or as lines. */
json_t *live_load_ledger(const struct live_load *load);
void live_load_print(const struct live_load *load);

#endif
