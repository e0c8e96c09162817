/* How much of its time a live step takes, and a ledger of the blocks that came late or were
 * lost.
 *
 * Late: the step took longer than its block lasts. Lost: the device said that sound was lost
 * before it. Loads are shares of a block's own length.
 * Threads: the control thread, which calls live_load_update at least every few seconds.
 */
#ifndef HALO_LIVE_LOAD_H
#define HALO_LIVE_LOAD_H

#include "live/live.h"

#include <jansson.h>

enum {
    LIVE_LOAD_RECENT = 1 << 13, /* blocks that the percentile is of */
    LIVE_LEDGER_MOST = 1000,    /* entries that are kept; all are counted */
};

struct ledger_entry {
    struct block_time time;
    const char *cause; /* as far as known */
};

struct live_load {
    double period; /* ns */
    uint32_t rate;
    float *recent; /* shares, in a ring */
    float *sorted;
    size_t count;     /* of all blocks so far */
    size_t sorted_at; /* what that was when the percentile was found */
    double now;       /* the highest since the update before */
    double p99;       /* of the recent ones */
    double worst;     /* of all */
    double sum;
    uint64_t late;
    uint64_t lost;
    struct ledger_entry *ledger;
    size_t entries;
    const char *busy; /* what the step is known to be about; NULL: nothing special */
};

/* Errors: memory. */
MUST_CHECK enum status live_load_init(struct live_load *load, size_t block, uint32_t rate);
void live_load_free(struct live_load *load);

void live_load_update(struct live_load *load, struct live *live);

/* The ledger as a JSON array, or as lines. */
json_t *live_load_ledger(const struct live_load *load);
void live_load_print(const struct live_load *load);

#endif
