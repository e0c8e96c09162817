/* Live sound at work: everything here runs in the real-time step. */
#include "live/live_state.h"

#include "base/monotonic.h"
#include "base/realtime.h"

#include <math.h>
#include <string.h>

static size_t frames_of(const struct live *live, double seconds)
{
    return (size_t)(seconds * (double)live->rate);
}

/* ---- events ---- */

static void report(struct live *live, struct live_event event, uint64_t frame)
{
    event.frame = frame;
    ring_write(live->taken, &event, 1);
}

/* False: it is none of a stage. */
static bool take_for_stage(struct live *live, const struct live_event *event)
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

static void take(struct live *live, const struct live_event *event)
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

static void take_events(struct live *live)
{
    for (;;) {
        if (!live->has_next)
            live->has_next = ring_read(live->events, &live->next, 1) == 1;
        if (!live->has_next || live->next.frame > atomic_load(&live->frames))
            return;
        live->has_next = false;
        if (!take_for_stage(live, &live->next))
            take(live, &live->next);
        report(live, live->next, atomic_load(&live->frames));
    }
}

/* ---- the input ---- */

/* Channels with a sample that is no number are copied, without it. */
static void clean_input(struct live *live, const float *const *in, const float **clean)
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

/* ---- the dry signal ---- */

/* Each output gets the input of its number; where there are fewer, they go round. */
static void mix_dry(struct live *live, const float *const *in, float *const *out)
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

/* ---- stages that are late or fail ---- */

static void look_at_stage(struct live *live, size_t stage, const struct filter *mixed)
{
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

static void look_at_stages(struct live *live)
{
    size_t count = live->stages ? live->stages->count : 0;
    for (size_t i = 0; i < count; i++)
        if (live->stages->stages[i].mixed)
            look_at_stage(live, i, live->stages->stages[i].mixed);
}

/* ---- the output ---- */

static void guard(struct live *live, float *const *out)
{
    if (!live->guard ||
        !feedback_detector_process(live->guard, (const float *const *)out, live->block) ||
        live->muted)
        return;
    live->muted = true;
    ramp_set(&live->fade, 0, frames_of(live, LIVE_SMOOTH));
    const struct live_event feedback = {.what = LIVE_FEEDBACK,
                                        .value = feedback_detector_frequency(live->guard)};
    report(live, feedback, atomic_load(&live->frames) + live->block);
}

void live_process(struct live *live, const float *const *in, float *const *out)
{
    size_t outputs = live->chain->outputs;
    const float *clean[LIVE_CHANNELS_MOST];
    realtime_flush_denormals();
    take_events(live);
    meter_process(live->meter_in, in, live->block);
    clean_input(live, in, clean);
    if (live->recorder_dry)
        recorder_write(live->recorder_dry, clean, live->block);
    filter_process(live->chain, clean, out);
    look_at_stages(live);
    mix_dry(live, clean, out);
    ramp_process(&live->gain, outputs, out, live->block);
    ramp_process(&live->fade, outputs, out, live->block);
    guard(live, out);
    limiter_process(&live->limiter, out, live->block);
    meter_process(live->meter_out, (const float *const *)out, live->block);
    if (live->recorder)
        recorder_write(live->recorder, (const float *const *)out, live->block);
    atomic_store(&live->frames, atomic_load(&live->frames) + live->block);
    if (live->ending && live->fade.at == live->fade.frames)
        atomic_store(&live->faded_out, true);
}

/* ---- on a device ---- */

static void run_block(void *context, const float *const *in, float *const *out)
{
    struct live *live = context;
    struct block_time time = {.frame = live_frames(live), .lost = live->lost};
    int64_t begin = monotonic_ns();
    live_process(live, in, out);
    time.ns = monotonic_ns() - begin;
    live->lost = false;
    ring_write(live->times, &time, 1);
}

void live_step(void *context, const float *const *in, float *const *out, size_t frames, bool lost)
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
