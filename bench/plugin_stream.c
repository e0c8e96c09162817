/* The time of a live step with a plugin, in halo's process and isolated in its own.
 *
 *   HALO_PROGRAM=build/halo build/bench/plugin_stream KIND ID SECONDS BLOCK...
 *
 * Blocks of stereo noise at 48000 Hz and their real pace, on a thread with real-time priority where
 * that is granted, as a sound server would run it. Needs an idle machine. */
#include "base/monotonic.h"
#include "base/noise.h"
#include "base/realtime.h"
#include "live/live.h"
#include "live/live_chain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RATE = 48000, CHANNELS = 2, WARM_UP = RATE };

struct measured {
    struct chain_options options;
    struct live_chain chain;
    struct live *live;
    struct block in, out;
    size_t block, count;
    int64_t *times;
    bool realtime;
};

static enum status prepare(struct measured *run, const char *kind, const char *id)
{
    const struct live_chain_request request = {.options = &run->options,
                                               .stage = SIZE_MAX,
                                               .format = {.rate = RATE, .channels = CHANNELS},
                                               .block = run->block,
                                               .priority = REALTIME_PRIORITY,
                                               .live = true};
    TRY(stage_list_add(&run->options.stages, stage_ops_named(kind), id, NULL));
    TRY(live_chain_init(&run->chain, &request));
    const struct live_settings settings = {.rate = RATE,
                                           .ceiling = 1,
                                           .gain = 1,
                                           .stages = &run->chain.stages,
                                           .device_outputs = CHANNELS};
    TRY(live_create(&settings, run->chain.filter, NULL, NULL, &run->live));
    TRY(block_init(&run->in, CHANNELS, run->block, "a stream"));
    TRY(block_init(&run->out, run->chain.filter->outputs, run->block, "a stream"));
    uint64_t random = 1;
    for (size_t c = 0; c < CHANNELS; c++)
        for (size_t i = 0; i < run->block; i++)
            run->in.data[c][i] = 0.1F * (float)noise_next(&random);
    run->times = calloc(run->count, sizeof *run->times);
    return run->times ? STATUS_OK : fail_memory("a stream");
}

static void play(struct measured *run)
{
    struct block_time time;
    struct realtime_before before;
    size_t skipped = WARM_UP / run->block;
    realtime_lock_memory();
    run->realtime = realtime_raise(REALTIME_PRIORITY, &before);
    int64_t origin = monotonic_ns();
    for (size_t n = 0; n < skipped + run->count; n++) {
        monotonic_sleep_until(origin + (int64_t)(n * run->block) * 1000000000 / RATE);
        live_step(run->live, (const float *const *)run->in.data, run->out.data, run->block, false);
        while (live_read_time(run->live, &time))
            if (n >= skipped)
                run->times[n - skipped] = time.ns;
    }
    if (run->realtime)
        realtime_restore(&before);
}

static int by_value(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

static double quantile(const struct measured *run, double share)
{
    return 1e-3 * (double)run->times[(size_t)(share * (double)(run->count - 1))];
}

static void print(struct measured *run, const char *where)
{
    const struct stage *stage = &run->chain.stages.stages[0];
    double period = 1e9 * (double)run->block / RATE;
    size_t late = 0;
    for (size_t i = 0; i < run->count; i++)
        late += (double)run->times[i] > period;
    qsort(run->times, run->count, sizeof *run->times, by_value);
    printf("| %zu | %s | %zu | %.0f | %.0f | %.0f | %.0f | %zu | %llu | %s |\n", run->block, where,
           run->count, quantile(run, 0.5), quantile(run, 0.99), quantile(run, 0.999),
           quantile(run, 1), late, (unsigned long long)plugin_filter_info(stage->filter).missed,
           run->realtime ? "yes" : "no");
    fflush(stdout);
}

static enum status measure(const char *kind, const char *id, double seconds, size_t block,
                           bool isolated)
{
    struct measured run = {.options = CHAIN_OPTIONS_DEFAULTS,
                           .block = block,
                           .count = (size_t)(seconds * RATE / (double)block) + 1};
    run.options.settings.isolate = isolated ? ISOLATE_ON : ISOLATE_OFF;
    enum status status = prepare(&run, kind, id);
    if (status == STATUS_OK) {
        play(&run);
        print(&run, isolated ? "isolated" : "in process");
    }
    live_destroy(run.live);
    live_chain_free(&run.chain);
    chain_options_free(&run.options);
    block_free(&run.in);
    block_free(&run.out);
    free(run.times);
    return status;
}

int main(int argc, char **argv)
{
    if (argc < 5)
        return STATUS_USAGE;
    puts("| block | plugin | blocks | p50 us | p99 us | p99.9 us | most us | steps late | blocks "
         "missed | real-time |\n|---:|---|---:|---:|---:|---:|---:|---:|---:|---|");
    for (int i = 4; i < argc; i++)
        for (int isolated = 0; isolated < 2; isolated++) {
            enum status status =
                measure(argv[1], argv[2], atof(argv[3]), (size_t)atoi(argv[i]), isolated);
            if (status != STATUS_OK)
                return status;
        }
    return STATUS_OK;
}
