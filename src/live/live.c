#include "live/live.h"

#include "base/monotonic.h"
#include "base/realtime.h"
#include "base/ring.h"
#include "convolve/history.h"
#include "live/feedback_detector.h"
#include "signal/audio.h"
#include "signal/limiter.h"
#include "signal/ramp.h"
#include "sound/reblock.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    EVENTS = 256,    /* queued */
    TIMES = 1 << 14, /* queued, seconds of the shortest blocks */
};

struct live {
    struct filter *chain;
    const struct stage_list *stages; /* or NULL */
    bool *left_out;                  /* by stage, as last reported */
    bool *absent;                    /* by stage, as last reported */
    uint32_t rate;
    size_t block;
    size_t device_outputs;
    struct recorder *recorder; /* these three may be NULL */
    struct recorder *recorder_dry;
    struct feedback_detector *detector;

    struct meter *meter_in;
    struct meter *meter_out;
    struct limiter limiter;
    struct ramp gain;
    struct ramp fade;
    struct ramp wet;        /* 1: the chain; 0: the dry input */
    struct history history; /* of the input, as long as the chain's latency */
    struct block clean;     /* the input without NaN and infinity */
    struct block dry;       /* of the outputs */
    bool muted;
    bool ending;

    struct ring *events;    /* to the step */
    struct ring *applied;   /* from the step */
    struct live_event next; /* read and not yet due */
    bool has_next;
    struct reblock reblock; /* this and the next two: only with a device */
    struct ring *times;     /* struct block_time */
    _Atomic uint64_t dropped_times;
    int64_t period; /* ns, of a block */
    int64_t ended;  /* the last step, ns; 0: none yet */
    bool lost;      /* before the current block */
    _Atomic uint64_t frames;
    _Atomic bool faded_out;
};

/* ---- the step, real-time: events ---- */

HALO_REALTIME static size_t frames_of(const struct live *live, double seconds)
{
    return (size_t)(seconds * (double)live->rate);
}

HALO_REALTIME static void report(struct live *live, struct live_event event, uint64_t frame)
{
    event.frame = frame;
    ring_write(live->applied, &event, 1);
}

HALO_REALTIME static bool apply_to_stage(struct live *live, const struct live_event *event)
{
    const struct stage_list *stages = live->stages;
    const struct stage_control control = {
        .kind = event->kind, .stage = event->stage, .port_index = event->port};
    if (event->what == LIVE_STAGE_CONTROL)
        stage_controls_set(stages, &control, (float)event->value);
    else if (event->what == LIVE_STAGE_ABSENT)
        stage_mix_make_absent(stages->stages[event->stage].mixed, event->value != 0);
    else if (event->what == LIVE_STAGE_FAILED)
        stage_mix_leave_out(stages->stages[event->stage].mixed);
    else
        return false;
    return true;
}

HALO_REALTIME static void apply(struct live *live, const struct live_event *event)
{
    size_t smooth = frames_of(live, LIVE_SMOOTH);
    if (event->what == LIVE_GAIN)
        ramp_set(&live->gain, (float)event->value, smooth);
    else if (event->what == LIVE_DRY)
        ramp_set(&live->wet, event->value != 0 ? 0 : 1, smooth);
    else if (event->what == LIVE_MUTE || event->what == LIVE_FEEDBACK)
        live->muted = event->what == LIVE_FEEDBACK || event->value != 0;
    else if (event->what == LIVE_RISE)
        ramp_init(&live->fade, 0);
    else
        live->ending = true;
    if (live->muted)
        ramp_set(&live->fade, 0, smooth);
    else
        ramp_set(&live->fade, 1, frames_of(live, LIVE_FADE_IN));
    if (live->ending)
        ramp_set(&live->fade, 0, frames_of(live, LIVE_FADE_OUT));
}

HALO_REALTIME static void apply_events(struct live *live)
{
    for (;;) {
        if (!live->has_next)
            live->has_next = ring_read(live->events, &live->next, 1) == 1;
        if (!live->has_next || live->next.frame > atomic_load(&live->frames))
            return;
        live->has_next = false;
        if (!apply_to_stage(live, &live->next))
            apply(live, &live->next);
        report(live, live->next, atomic_load(&live->frames));
    }
}

/* Only channels with NaN or infinity are copied. */
HALO_REALTIME static void clean_input(struct live *live, const float *const *in,
                                      const float **clean)
{
    for (size_t c = 0; c < live->chain->inputs; c++) {
        clean[c] = in[c];
        if (audio_find_nonfinite(in[c], live->block) == live->block)
            continue;
        for (size_t i = 0; i < live->block; i++)
            live->clean.data[c][i] = isfinite(in[c][i]) ? in[c][i] : 0;
        clean[c] = live->clean.data[c];
    }
}

/* Output o gets input o modulo the number of inputs. */
HALO_REALTIME static void mix_dry(struct live *live, const float *const *in, float *const *out)
{
    const struct filter *chain = live->chain;
    history_advance(&live->history, in);
    if (live->wet.at == live->wet.frames && live->wet.to == 1)
        return;
    for (size_t o = 0; o < chain->outputs; o++)
        memcpy(live->dry.data[o],
               history_now(&live->history, o % chain->inputs) - live->history.keep,
               live->block * sizeof(float));
    struct ramp dry = {.from = 1 - live->wet.from,
                       .to = 1 - live->wet.to,
                       .at = live->wet.at,
                       .frames = live->wet.frames};
    ramp_process(&live->wet, chain->outputs, out, live->block);
    ramp_process(&dry, chain->outputs, live->dry.data, live->block);
    for (size_t o = 0; o < chain->outputs; o++)
        for (size_t i = 0; i < live->block; i++)
            out[o][i] += live->dry.data[o][i];
}

HALO_REALTIME static void check_stage(struct live *live, size_t stage)
{
    const struct filter *mixed = live->stages->stages[stage].mixed;
    if (!mixed)
        return;
    uint64_t now = atomic_load(&live->frames);
    if (stage_mix_is_absent(mixed) != live->absent[stage]) {
        live->absent[stage] = !live->absent[stage];
        const struct live_event absent = {
            .what = LIVE_STAGE_ABSENT, .value = live->absent[stage], .stage = stage};
        report(live, absent, now);
    }
    if (stage_mix_is_left_out(mixed) && !live->left_out[stage]) {
        live->left_out[stage] = true;
        const struct live_event failed = {.what = LIVE_STAGE_FAILED, .stage = stage};
        report(live, failed, now);
    }
}

/* ---- the output ---- */

HALO_REALTIME static void detect_feedback(struct live *live, float *const *out)
{
    if (!live->detector ||
        !feedback_detector_process(live->detector, (const float *const *)out, live->block) ||
        live->muted)
        return;
    live->muted = true;
    ramp_set(&live->fade, 0, frames_of(live, LIVE_SMOOTH));
    const struct live_event feedback = {.what = LIVE_FEEDBACK,
                                        .value = feedback_detector_frequency(live->detector)};
    report(live, feedback, atomic_load(&live->frames) + live->block);
}

HALO_REALTIME void live_process(struct live *live, const float *const *in, float *const *out)
{
    size_t outputs = live->chain->outputs;
    const float *clean[LIVE_CHANNELS_MOST];
    realtime_flush_denormals();
    apply_events(live);
    meter_process(live->meter_in, in, live->block);
    clean_input(live, in, clean);
    if (live->recorder_dry)
        recorder_write(live->recorder_dry, clean, live->block);
    filter_process(live->chain, clean, out);
    for (size_t i = 0; live->stages && i < live->stages->count; i++)
        check_stage(live, i);
    mix_dry(live, clean, out);
    ramp_process(&live->gain, outputs, out, live->block);
    ramp_process(&live->fade, outputs, out, live->block);
    detect_feedback(live, out);
    limiter_process(&live->limiter, out, live->block);
    meter_process(live->meter_out, (const float *const *)out, live->block);
    if (live->recorder)
        recorder_write(live->recorder, (const float *const *)out, live->block);
    atomic_store(&live->frames, atomic_load(&live->frames) + live->block);
    if (live->ending && live->fade.at == live->fade.frames)
        atomic_store(&live->faded_out, true);
}

/* ---- on a device ---- */

HALO_REALTIME static void run_block(void *context, const float *const *in, float *const *out)
{
    struct live *live = context;
    const struct thread_usage before = thread_usage_now();
    struct block_time time = {
        .frame = live_frames(live), .begin = monotonic_ns(), .lost = live->lost};
    time.idle = live->ended > 0 ? time.begin - live->ended : 0;
    live_process(live, in, out);
    live->ended = monotonic_ns();
    time.ns = live->ended - time.begin;
    if (time.ns > live->period) {
        time.used = thread_usage_since(&before);
        time.held_up = live->chain->held_up;
    }
    live->lost = false;
    if (ring_write(live->times, &time, 1) == 0)
        atomic_fetch_add(&live->dropped_times, 1);
}

HALO_REALTIME void live_step(void *context, const float *const *in, float *const *out,
                             size_t frames, bool lost)
{
    struct live *live = context;
    size_t outputs = live->chain->outputs;
    live->lost = live->lost || lost;
    reblock_process(&live->reblock, in, out, frames, run_block, live);
    for (size_t c = outputs; c < live->device_outputs; c++)
        if (outputs == 1)
            memcpy(out[c], out[0], frames * sizeof(float));
        else
            memset(out[c], 0, frames * sizeof(float));
}

/* ---- set-up and the control thread ---- */

void live_destroy(struct live *live)
{
    if (!live)
        return;
    feedback_detector_destroy(live->detector);
    meter_destroy(live->meter_in);
    meter_destroy(live->meter_out);
    history_free(&live->history);
    block_free(&live->clean);
    block_free(&live->dry);
    ring_destroy(live->events);
    ring_destroy(live->applied);
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
    TRY(ring_create(sizeof(struct live_event), EVENTS, "live sound", &live->applied));
    TRY(meter_create(chain->inputs, live->rate, true, &live->meter_in));
    TRY(meter_create(chain->outputs, live->rate, false, &live->meter_out));
    if (live->device_outputs == 0)
        return STATUS_OK;
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
    live->period = (int64_t)(1e9 * (double)chain->block / (double)settings->rate);
    live->device_outputs = settings->device_outputs;
    live->recorder = recorder;
    live->recorder_dry = recorder_dry;
    live->muted = settings->muted;
    limiter_init(&live->limiter, chain->outputs, settings->rate, (float)settings->ceiling);
    ramp_init(&live->gain, (float)settings->gain);
    ramp_init(&live->wet, 1);
    ramp_init(&live->fade, 0);
    if (!live->muted)
        ramp_set(&live->fade, 1, settings->at_once ? 0 : frames_of(live, LIVE_FADE_IN));
    enum status status = create_buffers(live);
    if (status == STATUS_OK && settings->guard)
        status = feedback_detector_create(chain->outputs, live->rate, (float)settings->ceiling,
                                          &live->detector);
    if (status == STATUS_OK)
        *result = live;
    else
        live_destroy(live);
    return status;
}

bool live_send(struct live *live, const struct live_event *event)
{
    return ring_write(live->events, event, 1) == 1;
}

bool live_receive(struct live *live, struct live_event *event)
{
    return ring_read(live->applied, event, 1) == 1;
}

bool live_read_time(struct live *live, struct block_time *time)
{
    return ring_read(live->times, time, 1) == 1;
}

uint64_t live_dropped_times(const struct live *live)
{
    return atomic_load(&live->dropped_times);
}

HALO_REALTIME uint64_t live_frames(const struct live *live)
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
