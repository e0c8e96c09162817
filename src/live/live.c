#include "live/live.h"

#include "base/monotonic.h"
#include "base/realtime.h"
#include "base/ring.h"
#include "convolve/convolver.h"
#include "live/feedback_guard.h"
#include "signal/audio.h"
#include "signal/limiter.h"
#include "signal/ramp.h"
#include "sound/reblock.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* ---- what the kernel counts of a late step ---- */

HALO_REALTIME static void set_last(struct step_usage *usage, const struct thread_usage *now)
{
    usage->last = *now;
    usage->is_known = true;
    usage->blocks = 0;
    usage->steps = 0;
}

HALO_REALTIME static void look(struct step_usage *usage)
{
    const struct thread_usage now = thread_usage_now();
    int64_t beside = now.cpu_ns - usage->last.cpu_ns - usage->steps;
    if (usage->blocks > 0)
        usage->beside = beside > 0 ? beside / usage->blocks : 0;
    set_last(usage, &now);
}

HALO_REALTIME void step_usage_begin(struct step_usage *usage)
{
    if (!usage->is_known || usage->blocks >= STEP_USAGE_BLOCKS)
        look(usage);
    usage->processor = sched_getcpu();
}

HALO_REALTIME void step_usage_end(struct step_usage *usage, int64_t ns)
{
    usage->blocks++;
    usage->steps += ns;
}

HALO_REALTIME struct thread_usage step_usage_late(struct step_usage *usage, int64_t ns)
{
    const struct thread_usage now = thread_usage_now();
    struct thread_usage used = thread_usage_between(&usage->last, &now);
    used.cpu_ns -= usage->steps + usage->beside * usage->blocks;
    used.cpu_ns = used.cpu_ns < 0 ? 0 : used.cpu_ns > ns ? ns : used.cpu_ns;
    used.processor = now.processor != usage->processor;
    set_last(usage, &now);
    return used;
}

/* ---- the silent gap of a switch in a test ---- */

void switch_gap_ask(struct switch_gap *gap)
{
    atomic_store(&gap->asked, true);
}

bool switch_gap_is_under_way(const struct switch_gap *gap)
{
    return atomic_load(&gap->asked);
}

HALO_REALTIME static uint64_t silent_from(const struct switch_gap *gap)
{
    return (uint64_t)gap->delay + gap->fade;
}

HALO_REALTIME static void switch_gap_begin(struct switch_gap *gap, size_t block)
{
    uint64_t silent = silent_from(gap);
    if (!gap->runs && !atomic_load(&gap->asked))
        return;
    if (!gap->runs) {
        gap->runs = true;
        gap->at = 0;
        gap->rises = UINT64_MAX;
    }
    if (gap->at <= silent && silent - gap->at < block)
        convolver_begin_switch(gap->convolver, silent - gap->at);
}

/* Finds where the fade in begins. The convolver switches at once, between two blocks. So its output
 * is new from the end of this block on, at the latest. */
HALO_REALTIME static void find_rise(struct switch_gap *gap, size_t block)
{
    uint64_t silent = silent_from(gap), end = gap->at + block, due = silent + gap->pause;
    if (gap->rises != UINT64_MAX || end <= silent || !convolver_switched(gap->convolver, NULL))
        return;
    uint64_t new_from = end + gap->latency;
    gap->rises = new_from > due ? new_from : due;
    if (gap->rises == due)
        return;
    atomic_store(&gap->late_by, gap->rises - due);
    atomic_fetch_add(&gap->late, 1);
}

HALO_REALTIME static float gain_at(const struct switch_gap *gap, uint64_t frame)
{
    if (frame < gap->delay)
        return 1;
    if (frame < silent_from(gap))
        return 1 - (float)(frame - gap->delay) / (float)gap->fade;
    if (frame < gap->rises)
        return 0;
    return frame - gap->rises < gap->fade ? (float)(frame - gap->rises) / (float)gap->fade : 1;
}

HALO_REALTIME static void switch_gap_process(struct switch_gap *gap, size_t channels,
                                             float *const *out, size_t block)
{
    if (!gap->runs)
        return;
    find_rise(gap, block);
    for (size_t i = 0; i < block; i++) {
        float gain = gain_at(gap, gap->at + i);
        for (size_t c = 0; c < channels && gain != 1; c++)
            out[c][i] = gain == 0 ? 0 : gain * out[c][i];
    }
    gap->at += block;
    gap->runs = gap->rises == UINT64_MAX || gap->at < gap->rises + gap->fade;
    if (!gap->runs)
        atomic_store(&gap->asked, false);
}

enum {
    EVENTS = 256,    /* capacity of `events` and `applied` */
    TIMES = 1 << 14, /* capacity of `times`: seconds, even with the shortest blocks */
};

struct live {
    struct stream_slot slot;
    struct live_change change;
    bool changes;      /* `change` is in use */
    unsigned sends_to; /* number of the slot that events are sent to; used by the control thread */
    size_t inputs, outputs;
    uint32_t rate;
    size_t block;
    size_t device_outputs;
    struct recorder *recorder;     /* NULL: the output is not recorded */
    struct recorder *recorder_dry; /* NULL: the input is not recorded */
    struct feedback_guard *guard;  /* NULL: feedback is not looked for */
    struct switch_gap *gap;        /* NULL: the stream is not a listening test */

    struct meter *meter_in;
    struct meter *meter_out;
    struct limiter limiter;
    float ceiling; /* full ceiling of the limiter */
    float share;   /* the limiter has this part of it, less than 1 while the guard tries */
    struct ramp fade;
    struct block input; /* input of the block; NaN and infinity are replaced by 0 */
    bool muted;
    bool ending;

    struct ring *events;    /* events from the control thread to the step */
    struct ring *applied;   /* events from the step to the control thread */
    struct live_event next; /* the next event: read from `events`, not yet due */
    bool has_next;
    struct reblock reblock;         /* device only */
    struct ring *times;             /* device only: struct block_time */
    struct step_usage usage;        /* device only */
    _Atomic uint64_t dropped_times; /* device only */
    int64_t period;                 /* duration of a block of the chain, ns */
    unsigned held_up;               /* FILTER_... flags of this call */
    int64_t ended;                  /* when the last step ended, ns; 0: there was none */
    bool freewheels;
    bool lost; /* sound was lost before the next block, but the call did not complete a block */
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

HALO_REALTIME static void set_ceiling(struct live *live, float ceiling, float share)
{
    if (live->guard && ceiling != live->ceiling)
        feedback_guard_set_ceiling(live->guard, ceiling);
    live->ceiling = ceiling;
    live->share = share;
    live->limiter.ceiling = ceiling * share;
}

HALO_REALTIME static void apply_to_output(struct live *live, const struct live_event *event)
{
    size_t smooth = frames_of(live, LIVE_SMOOTH);
    bool is_back = event->what == LIVE_TRY && event->value == 1;
    if (event->what == LIVE_CEILING) {
        set_ceiling(live, (float)event->value, live->share);
        return;
    }
    if (event->what == LIVE_RISE)
        ramp_init(&live->fade, 0);
    else if (event->what == LIVE_END)
        live->ending = true;
    else
        live->muted =
            event->what == LIVE_FEEDBACK || (event->what == LIVE_MUTE && event->value != 0);
    if (event->what == LIVE_MUTE || event->what == LIVE_TRY)
        set_ceiling(live, live->ceiling, event->what == LIVE_TRY ? (float)event->value : 1);
    if (event->what == LIVE_MUTE && live->guard)
        feedback_guard_restart(live->guard);
    if (live->muted)
        ramp_set(&live->fade, 0, smooth);
    else
        ramp_set(&live->fade, 1, is_back ? smooth : frames_of(live, LIVE_FADE_IN));
    if (live->ending)
        ramp_set(&live->fade, 0, frames_of(live, LIVE_FADE_OUT));
}

/* Applies an event. False: its slot is gone. A coming slot takes none: its preset sets it up. */
HALO_REALTIME static bool apply(struct live *live, const struct live_event *event)
{
    if (!stream_slot_has(event))
        apply_to_output(live, event);
    else if (event->slot == live->slot.number)
        stream_slot_apply(&live->slot, event, frames_of(live, LIVE_SMOOTH));
    else
        return false;
    return true;
}

HALO_REALTIME static void apply_events(struct live *live)
{
    for (;;) {
        if (!live->has_next)
            live->has_next = ring_read(live->events, &live->next, 1) == 1;
        if (!live->has_next || live->next.frame > atomic_load(&live->frames))
            return;
        live->has_next = false;
        if (apply(live, &live->next))
            report(live, live->next, atomic_load(&live->frames));
    }
}

/* Copies the input, since a server may overwrite it in a late step: it is recorded as heard. */
HALO_REALTIME static void take_input(struct live *live, const float *const *in)
{
    for (size_t c = 0; c < live->inputs; c++) {
        float *own = live->input.data[c];
        memcpy(own, in[c], live->block * sizeof *own);
        if (audio_find_nonfinite(own, live->block) == live->block)
            continue;
        for (size_t i = 0; i < live->block; i++)
            own[i] = isfinite(own[i]) ? own[i] : 0;
    }
}

/* Processes a block of the slot, and of the slot that is to replace it. */
HALO_REALTIME static void run_slots(struct live *live, const float *const *in, float *const *out)
{
    uint64_t now = atomic_load(&live->frames);
    struct live_event noticed;
    if (live->changes)
        live_history_write(&live->change.history, in);
    stream_slot_process(&live->slot, in, out);
    while (stream_slot_noticed(&live->slot, &noticed))
        report(live, noticed, now);
    if (live->changes)
        live_change_process(&live->change, &live->slot, now, out);
}

/* ---- the output ---- */

/* Applies what the guard says, from the next block on. */
HALO_REALTIME static void guard_against_feedback(struct live *live, const float *const *out)
{
    static const struct live_event events[] = {
        [FEEDBACK_MUTE] = {.what = LIVE_FEEDBACK},
        [FEEDBACK_TRY] = {.what = LIVE_TRY, .value = (double)FEEDBACK_QUIET},
        [FEEDBACK_RESUME] = {.what = LIVE_TRY, .value = 1},
    };
    enum feedback_act act = feedback_guard_play(live->guard, out, live->block);
    if (act == FEEDBACK_NOTHING)
        return;
    struct live_event event = events[act];
    if (act == FEEDBACK_MUTE)
        event.value = feedback_guard_frequency(live->guard);
    apply_to_output(live, &event);
    report(live, event, atomic_load(&live->frames) + live->block);
}

HALO_REALTIME void live_process(struct live *live, const float *const *in, float *const *out)
{
    size_t outputs = live->outputs;
    const float *const *clean = (const float *const *)live->input.data;
    realtime_flush_denormals();
    apply_events(live);
    meter_process(live->meter_in, in, live->block);
    take_input(live, in);
    if (live->recorder_dry)
        recorder_write(live->recorder_dry, clean, live->block);
    if (live->gap)
        switch_gap_begin(live->gap, live->block);
    run_slots(live, clean, out);
    if (live->guard)
        feedback_guard_begin(live->guard, clean, (const float *const *)out, live->block);
    ramp_process(&live->fade, outputs, out, live->block);
    if (live->guard)
        feedback_guard_observe(live->guard, (const float *const *)out, live->block);
    limiter_process(&live->limiter, out, live->block);
    if (live->gap)
        switch_gap_process(live->gap, outputs, out, live->block);
    meter_process(live->meter_out, (const float *const *)out, live->block);
    if (live->recorder)
        recorder_write(live->recorder, (const float *const *)out, live->block);
    if (live->guard)
        guard_against_feedback(live, (const float *const *)out);
    atomic_store(&live->frames, atomic_load(&live->frames) + live->block);
    if (live->ending && live->fade.at == live->fade.frames)
        atomic_store(&live->faded_out, true);
}

/* ---- on a device ---- */

HALO_REALTIME static void run_block(void *context, const float *const *in, float *const *out)
{
    struct live *live = context;
    live->slot.chain->deadline =
        live->freewheels ? 0 : monotonic_ns() + (int64_t)(LIVE_WAITS * (double)live->period);
    live_process(live, in, out);
    live->held_up |= live->slot.chain->held_up;
}

/* Stores the times of a call, in which blocks of `frames` frames in all were run. */
HALO_REALTIME static void keep_time(struct live *live, struct block_time *time, uint64_t frames)
{
    time->idle = live->ended > 0 ? time->begin - live->ended : 0;
    time->lasts = (int64_t)(1e9 * (double)frames / (double)live->rate);
    live->ended = monotonic_ns();
    time->ns = live->ended - time->begin;
    if (time->ns > time->lasts) {
        time->used = step_usage_late(&live->usage, time->ns);
        time->held_up = live->held_up;
    } else {
        step_usage_end(&live->usage, time->ns);
    }
    if (ring_write(live->times, time, 1) == 0)
        atomic_fetch_add(&live->dropped_times, 1);
}

HALO_REALTIME void live_step(void *context, const float *const *in, float *const *out,
                             size_t frames, bool lost)
{
    struct live *live = context;
    size_t outputs = live->outputs;
    step_usage_begin(&live->usage);
    struct block_time time = {
        .frame = live_frames(live), .begin = monotonic_ns(), .lost = live->lost || lost};
    live->held_up = 0;
    reblock_process(&live->reblock, in, out, frames, run_block, live);
    uint64_t ran = live_frames(live) - time.frame;
    live->lost = ran == 0 && time.lost; /* otherwise the block's time has it */
    if (ran > 0)
        keep_time(live, &time, ran > frames ? ran : frames);
    for (size_t c = outputs; c < live->device_outputs; c++)
        if (outputs == 1)
            memcpy(out[c], out[0], frames * sizeof(float));
        else
            memset(out[c], 0, frames * sizeof(float));
}

/* ---- creation and the control thread ---- */

void live_destroy(struct live *live)
{
    if (!live)
        return;
    feedback_guard_destroy(live->guard);
    meter_destroy(live->meter_in);
    meter_destroy(live->meter_out);
    stream_slot_free(&live->slot);
    live_change_free(&live->change);
    block_free(&live->input);
    ring_destroy(live->events);
    ring_destroy(live->applied);
    ring_destroy(live->times);
    reblock_free(&live->reblock);
    free(live);
}

static enum status create_buffers(struct live *live, const struct live_settings *settings,
                                  struct filter *chain)
{
    const struct stream_slot_settings slot = {
        .chain = chain, .stages = settings->stages, .gain = settings->gain, .dry = settings->dry};
    TRY(stream_slot_init(&live->slot, &slot));
    live->changes = settings->history > 0;
    if (live->changes)
        TRY(live_change_init(&live->change, chain, settings->history, settings->begin));
    TRY(block_init(&live->input, chain->inputs, chain->block, "live sound"));
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
        return fail(CAUSE_UNSUPPORTED, "live sound has at most %d channels, not %zu to %zu",
                    LIVE_CHANNELS_MOST, chain->inputs, chain->outputs);
    struct live *live = calloc(1, sizeof *live);
    if (!live)
        return fail_memory("live sound");
    live->inputs = chain->inputs;
    live->outputs = chain->outputs;
    live->rate = settings->rate;
    live->frames = settings->begin;
    live->block = chain->block;
    live->period = (int64_t)(1e9 * (double)chain->block / (double)settings->rate);
    live->device_outputs = settings->device_outputs;
    live->freewheels = settings->freewheels;
    live->recorder = recorder;
    live->recorder_dry = recorder_dry;
    live->gap = settings->gap;
    live->muted = settings->muted;
    live->ceiling = (float)settings->ceiling;
    live->share = 1;
    limiter_init(&live->limiter, chain->outputs, settings->rate, live->ceiling);
    ramp_init(&live->fade, 0);
    if (!live->muted)
        ramp_set(&live->fade, 1, settings->at_once ? 0 : frames_of(live, LIVE_FADE_IN));
    enum status status = create_buffers(live, settings, chain);
    if (status == STATUS_OK && settings->guard)
        status = feedback_guard_create(chain->inputs, chain->outputs, live->rate, live->ceiling,
                                       &live->guard);
    if (status == STATUS_OK)
        *result = live;
    else
        live_destroy(live);
    return status;
}

struct live_change *live_change_of(struct live *live)
{
    return live->changes ? &live->change : NULL;
}

void live_send_to(struct live *live, unsigned slot)
{
    live->sends_to = slot;
}

bool live_send(struct live *live, const struct live_event *event)
{
    struct live_event sent = *event;
    sent.slot = live->sends_to;
    return ring_write(live->events, &sent, 1) == 1;
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
