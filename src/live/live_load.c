#include "live/live_load.h"

#include <stdlib.h>
#include <string.h>

enum { STALE = 512 /* new blocks until a full ring is sorted again */ };

enum status live_load_init(struct live_load *load, size_t block, uint32_t rate)
{
    *load = (struct live_load){.period = 1e9 * (double)block / (double)rate};
    TRY(ledger_init(&load->ledger, block, rate));
    load->recent = calloc(LIVE_LOAD_RECENT, sizeof *load->recent);
    load->sorted = calloc(LIVE_LOAD_RECENT, sizeof *load->sorted);
    return load->recent && load->sorted ? STATUS_OK : fail_memory("the load of a stream");
}

void live_load_free(struct live_load *load)
{
    free(load->recent);
    free(load->sorted);
    ledger_free(&load->ledger);
}

static void add_time(struct live_load *load, const struct block_time *time)
{
    double share = (double)time->ns / load->period;
    load->recent[load->count++ % LIVE_LOAD_RECENT] = (float)share;
    load->sum += share;
    if (share > load->now)
        load->now = share;
    if (share > load->worst)
        load->worst = share;
}

static int by_value(const void *a, const void *b)
{
    float left = *(const float *)a, right = *(const float *)b;
    return (left > right) - (left < right);
}

void live_load_update(struct live_load *load, struct live *live, struct live_log *log)
{
    struct block_time time;
    load->now = 0;
    load->unseen = live_dropped_times(live);
    ledger_watch(&load->ledger);
    while (live_read_time(live, &time)) {
        add_time(load, &time);
        live_log_outage(log, ledger_add(&load->ledger, &time));
    }
    size_t recent = load->count < LIVE_LOAD_RECENT ? load->count : LIVE_LOAD_RECENT;
    if (load->count == load->sorted_at ||
        (recent == LIVE_LOAD_RECENT && load->count - load->sorted_at < STALE))
        return;
    load->sorted_at = load->count;
    memcpy(load->sorted, load->recent, recent * sizeof *load->sorted);
    qsort(load->sorted, recent, sizeof *load->sorted, by_value);
    load->p99 = (double)load->sorted[(recent * 99 + 99) / 100 - 1];
}
