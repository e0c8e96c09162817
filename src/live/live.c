#include "live/live_state.h"

#include <stdlib.h>

enum { EVENTS = 256 }; /* that may wait at a time */

void live_destroy(struct live *live)
{
    if (!live)
        return;
    feedback_detector_destroy(live->guard);
    meter_destroy(live->meter_in);
    meter_destroy(live->meter_out);
    history_free(&live->history);
    block_free(&live->clean);
    block_free(&live->dry);
    ring_destroy(live->events);
    ring_destroy(live->taken);
    free(live->left_out);
    free(live->absent);
    free(live);
}

static enum status fill(struct live *live, const struct live_settings *settings)
{
    const struct filter *chain = live->chain;
    size_t stages = settings->stages ? settings->stages->count : 0;
    live->left_out = calloc(stages + 1, sizeof *live->left_out);
    live->absent = calloc(stages + 1, sizeof *live->absent);
    enum status status = live->left_out && live->absent ? STATUS_OK : fail_memory("live sound");
    if (status == STATUS_OK)
        status = meter_create(chain->inputs, settings->rate, &live->meter_in);
    if (status == STATUS_OK)
        status = meter_create(chain->outputs, settings->rate, &live->meter_out);
    if (status == STATUS_OK)
        status = history_init(&live->history, chain->inputs, (size_t)chain->latency, chain->block);
    if (status == STATUS_OK)
        status = block_init(&live->clean, chain->inputs, chain->block, "live sound");
    if (status == STATUS_OK)
        status = block_init(&live->dry, chain->outputs, chain->block, "live sound");
    if (status == STATUS_OK)
        status = ring_create(sizeof(struct live_event), EVENTS, "live sound", &live->events);
    if (status == STATUS_OK)
        status = ring_create(sizeof(struct live_event), EVENTS, "live sound", &live->taken);
    if (status == STATUS_OK && settings->guard)
        status = feedback_detector_create(chain->outputs, settings->rate, (float)settings->ceiling,
                                   &live->guard);
    return status;
}

enum status live_create(const struct live_settings *settings, struct filter *chain,
                        struct recorder *recorder, struct recorder *recorder_dry,
                        struct live **result)
{
    if (chain->inputs > LIVE_CHANNELS_MOST || chain->outputs > LIVE_CHANNELS_MOST)
        return fail(STATUS_FAILED, "live sound has at most %d channels, not %zu to %zu",
                    LIVE_CHANNELS_MOST, chain->inputs, chain->outputs);
    struct live *live = calloc(1, sizeof *live);
    if (!live)
        return fail_memory("live sound");
    live->chain = chain;
    live->rate = settings->rate;
    live->block = chain->block;
    live->stages = settings->stages;
    live->recorder = recorder;
    live->recorder_dry = recorder_dry;
    live->muted = settings->muted;
    limiter_init(&live->limiter, chain->outputs, settings->rate, (float)settings->ceiling);
    ramp_init(&live->gain, (float)settings->gain);
    ramp_init(&live->wet, 1);
    ramp_init(&live->fade, 0);
    if (!live->muted)
        ramp_set(&live->fade, 1,
                 settings->at_once ? 0 : (size_t)(LIVE_FADE_IN * (double)settings->rate));
    enum status status = fill(live, settings);
    if (status != STATUS_OK) {
        live_destroy(live);
        return status;
    }
    *result = live;
    return STATUS_OK;
}

bool live_send(struct live *live, const struct live_event *event)
{
    return ring_write(live->events, event, 1) == 1;
}

bool live_took(struct live *live, struct live_event *event)
{
    return ring_read(live->taken, event, 1) == 1;
}

uint64_t live_frames(const struct live *live)
{
    return atomic_load(&live->frames);
}

bool live_has_faded_out(const struct live *live)
{
    return atomic_load(&live->faded_out);
}

double live_reduction(const struct live *live)
{
    return limiter_reduction(&live->limiter);
}

void live_read_meters(struct live *live, struct meter_reading *in, struct meter_reading *out)
{
    meter_read(live->meter_in, in);
    meter_read(live->meter_out, out);
}
