#include "live/live_load.h"

#include <stdlib.h>
#include <string.h>

enum { STALE = 16 /* new blocks until the percentile is found again: one for so many */ };

enum status live_load_init(struct live_load *load, uint32_t rate)
{
    *load = (struct live_load){0};
    TRY(ledger_init(&load->ledger, rate));
    load->recent = calloc(LIVE_LOAD_RECENT, sizeof *load->recent);
    load->ordered = calloc(LIVE_LOAD_RECENT, sizeof *load->ordered);
    return load->recent && load->ordered ? STATUS_OK : fail_memory("the load of a stream");
}

void live_load_free(struct live_load *load)
{
    free(load->recent);
    free(load->ordered);
    ledger_free(&load->ledger);
}

static void add_time(struct live_load *load, const struct block_time *time)
{
    double share = (double)time->ns / (double)time->lasts;
    load->recent[load->count++ % LIVE_LOAD_RECENT] = (float)share;
    load->sum += share;
    if (share > load->now)
        load->now = share;
    if (share > load->worst)
        load->worst = share;
}

static void exchange(float *a, float *b)
{
    float kept = *a;
    *a = *b;
    *b = kept;
}

/* The value that has `rank` others before it in order; sorts no more than is needed. */
static float select_value(float *values, size_t count, size_t rank)
{
    size_t from = 0, end = count;
    while (end - from > 1) {
        float pivot = values[from + (end - from) / 2];
        size_t below = from, equal = from;
        for (size_t i = from; i < end; i++) {
            if (values[i] > pivot)
                continue;
            bool is_below = values[i] < pivot;
            exchange(&values[i], &values[equal]);
            if (is_below)
                exchange(&values[equal], &values[below++]);
            equal++;
        }
        if (rank >= below && rank < equal)
            return pivot;
        end = rank < below ? below : end;
        from = rank < below ? from : equal;
    }
    return values[from];
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
    size_t fresh = load->count - load->found_at;
    if (fresh == 0 || fresh < recent / STALE)
        return;
    load->found_at = load->count;
    memcpy(load->ordered, load->recent, recent * sizeof *load->ordered);
    load->p99 = (double)select_value(load->ordered, recent, (recent * 99 + 99) / 100 - 1);
}
