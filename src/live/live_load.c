#include "live/live_load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINES_MOST = 20, /* printed of the ledger */
    STALE = 512,     /* new blocks until a full ring is sorted again */
};

enum status live_load_init(struct live_load *load, size_t block, uint32_t rate)
{
    *load = (struct live_load){.period = 1e9 * (double)block / (double)rate, .rate = rate};
    load->recent = calloc(LIVE_LOAD_RECENT, sizeof *load->recent);
    load->sorted = calloc(LIVE_LOAD_RECENT, sizeof *load->sorted);
    load->ledger = calloc(LIVE_LEDGER_MOST, sizeof *load->ledger);
    if (!load->recent || !load->sorted || !load->ledger)
        return fail_memory("a ledger of late blocks");
    return STATUS_OK;
}

void live_load_free(struct live_load *load)
{
    free(load->recent);
    free(load->sorted);
    free(load->ledger);
}

static void enter(struct live_load *load, const struct block_time *time, const char *cause)
{
    if (load->entries < LIVE_LEDGER_MOST)
        load->ledger[load->entries++] = (struct ledger_entry){*time, cause};
}

static void add_time(struct live_load *load, const struct block_time *time)
{
    double share = (double)time->ns / load->period;
    bool late = share > 1;
    load->recent[load->count++ % LIVE_LOAD_RECENT] = (float)share;
    load->sum += share;
    if (share > load->now)
        load->now = share;
    if (share > load->worst)
        load->worst = share;
    load->late += late;
    load->lost += time->lost;
    if (late)
        enter(load, time, load->busy ? load->busy : "the step took longer than its block");
    else if (time->lost)
        enter(load, time, "sound was lost: the device or the system was late");
}

static int by_value(const void *a, const void *b)
{
    float left = *(const float *)a, right = *(const float *)b;
    return (left > right) - (left < right);
}

void live_load_update(struct live_load *load, struct live *live)
{
    struct block_time time;
    load->now = 0;
    while (live_read_time(live, &time))
        add_time(load, &time);
    size_t recent = load->count < LIVE_LOAD_RECENT ? load->count : LIVE_LOAD_RECENT;
    if (load->count == load->sorted_at ||
        (recent == LIVE_LOAD_RECENT && load->count - load->sorted_at < STALE))
        return;
    load->sorted_at = load->count;
    memcpy(load->sorted, load->recent, recent * sizeof *load->sorted);
    qsort(load->sorted, recent, sizeof *load->sorted, by_value);
    load->p99 = (double)load->sorted[(recent * 99 + 99) / 100 - 1];
}

json_t *live_load_ledger(const struct live_load *load)
{
    json_t *array = json_array();
    for (size_t i = 0; i < load->entries; i++) {
        const struct ledger_entry *entry = &load->ledger[i];
        json_array_append_new(array, json_pack("{s:I, s:f, s:f, s:b, s:s}", "frame",
                                               (json_int_t)entry->time.frame, "seconds",
                                               (double)entry->time.frame / (double)load->rate,
                                               "took_ms", 1e-6 * (double)entry->time.ns, "lost",
                                               entry->time.lost, "cause", entry->cause));
    }
    return array;
}

void live_load_print(const struct live_load *load)
{
    for (size_t i = 0; i < load->entries && i < LINES_MOST; i++) {
        const struct ledger_entry *entry = &load->ledger[i];
        warning("  at %.3f s: %s; the step took %.2f of %.2f ms%s",
                (double)entry->time.frame / (double)load->rate, entry->cause,
                1e-6 * (double)entry->time.ns, 1e-6 * load->period,
                entry->time.lost && (double)entry->time.ns > load->period
                    ? ", and sound was lost before it"
                    : "");
    }
    uint64_t all = load->late + load->lost;
    if (all > LINES_MOST)
        warning("  and %llu more", (unsigned long long)(all - LINES_MOST));
}
