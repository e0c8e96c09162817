#include "live/live_state.h"

#include <stdlib.h>

enum {
    EVENTS = 256,    /* that may wait at a time */
    TIMES = 1 << 14, /* of blocks: seconds of the shortest ones */
};

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
    ring_destroy(live->times);
    reblock_free(&live->reblock);
    free(live->left_out);
    free(live->absent);
    free(live);
}

static enum status create_buffers(struct live *live)
{
    const struct filter *chain = live->chain;
    size_t stages = live->stages ? live->stages->count : 0;
    live->left_out = calloc(stages + 1, sizeof *live->left_out);
    live->absent = calloc(stages + 1, sizeof *live->absent);
    if (!live->left_out || !live->absent)
        return fail_memory("live sound");
    TRY(history_init(&live->history, chain->inputs, (size_t)chain->latency, chain->block));
    TRY(block_init(&live->clean, chain->inputs, chain->block, "live sound"));
    TRY(block_init(&live->dry, chain->outputs, chain->block, "live sound"));
    TRY(ring_create(sizeof(struct live_event), EVENTS, "live sound", &live->events));
    return ring_create(sizeof(struct live_event), EVENTS, "live sound", &live->taken);
}

static enum status create_adapter(struct live *live)
{
    const struct filter *chain = live->chain;
    TRY(reblock_init(&live->reblock, chain->inputs, chain->outputs, chain->block));
    return ring_create(sizeof(struct block_time), TIMES, "a stream", &live->times);
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
    live->device_outputs = settings->device_outputs;
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
    enum status status;
    if ((status = create_buffers(live)) ||
        (status = meter_create(chain->inputs, live->rate, &live->meter_in)) ||
        (status = meter_create(chain->outputs, live->rate, &live->meter_out)))
        goto fail;
    if (settings->guard &&
        (status = feedback_detector_create(chain->outputs, live->rate, (float)settings->ceiling,
                                           &live->guard)))
        goto fail;
    if (live->device_outputs && (status = create_adapter(live)))
        goto fail;
    *result = live;
    return STATUS_OK;
fail:
    live_destroy(live);
    return status;
}

bool live_send(struct live *live, const struct live_event *event)
{
    return ring_write(live->events, event, 1) == 1;
}

bool live_receive(struct live *live, struct live_event *event)
{
    return ring_read(live->taken, event, 1) == 1;
}

bool live_read_time(struct live *live, struct block_time *time)
{
    return ring_read(live->times, time, 1) == 1;
}

uint64_t live_frames(const struct live *live)
{
    return atomic_load(&live->frames);
}

bool live_has_faded_out(const struct live *live)
{
    return atomic_load(&live->faded_out);
}

size_t live_adapter_latency(const struct live *live)
{
    return live->reblock.adapts ? live->reblock.block : 0;
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
