#include "live/device/device_bridge.h"

#include "base/realtime.h"
#include "live/device/device.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    RING_FRAMES = 4 * DEVICE_FRAMES_MOST,
    CALLS = 4096,    /* calls that the ring holds: several seconds of them */
    CHUNK = 256,     /* frames interleaved at a time */
    CALLS_LEAST = 4, /* calls after which a clock is used */
};
static const double MARGIN_PERIODS = 0.75, MARGIN_SECONDS = 1e-3; /* margin for late calls */
static const double SETTLE = 0.05; /* seconds in which the ratio moves to a new value */
/* seconds: a delay error e is corrected by e^2 / GENTLE per second, plus e / SLOW */
static const double GENTLE = 9e-4;
static const double SLOW = 30;          /* seconds; see GENTLE */
static const double CORRECTION = 0.005; /* relative change of the pitch, at most */
/* Seconds. With a delay error above this and a period, the output pauses until it is right. */
static const double JUMP = 0.04;
static const double RISE = 0.005;             /* seconds of the fade in after a gap */
static const int64_t LONGEST_NS = 4000000000; /* the longest call of this time is the period */

void bridge_free(struct bridge *bridge)
{
    ring_destroy(bridge->audio);
    ring_destroy(bridge->calls);
    variable_resampler_destroy(bridge->resampler);
    free(bridge->written_frames);
    free(bridge->read_frames);
    block_free(&bridge->sound);
    *bridge = (struct bridge){0};
}

enum status bridge_init(struct bridge *bridge, size_t channels, double rate_in, double rate_out)
{
    static const char what[] = "a device";
    *bridge = (struct bridge){.channels = channels, .input.rate = rate_in, .output.rate = rate_out};
    bridge->written_frames = audio_alloc(CHUNK * channels);
    bridge->read_frames = audio_alloc(CHUNK * channels);
    if (!bridge->written_frames || !bridge->read_frames)
        return fail_memory(what);
    TRY(ring_create(channels * sizeof(float), RING_FRAMES, what, &bridge->audio));
    TRY(ring_create(sizeof(struct bridge_call), CALLS, what, &bridge->calls));
    TRY(block_init(&bridge->sound, channels, DEVICE_FRAMES_MOST, what));
    return variable_resampler_create(channels, rate_in / rate_out, &bridge->resampler);
}

/* ---- the wanted delay, and what is displayed ---- */

/* The wanted additional delay, compared with one stream for both directions: in frames of the
 * input, from the end of an input period to the first frame of an output call. */
HALO_REALTIME static double target_beside(const struct bridge *bridge)
{
    const struct bridge_side *input = &bridge->input;
    return (double)bridge->output.period * input->rate / bridge->output.rate +
           (double)variable_resampler_reach(bridge->resampler) +
           MARGIN_PERIODS * (double)input->period + MARGIN_SECONDS * input->rate;
}

/* Input frames per output frame, by the two clocks alone. */
HALO_REALTIME static double clock_ratio(const struct bridge *bridge)
{
    return call_clock_slope(&bridge->output.clock) / call_clock_slope(&bridge->input.clock);
}

/* Stores the values for bridge_state. ratio_ppm does not include the correction of the delay. */
HALO_REALTIME static void show(struct bridge *bridge, double error)
{
    double nominal = bridge->input.rate / bridge->output.rate;
    atomic_store_explicit(&bridge->ratio_ppm, 1e6 * (clock_ratio(bridge) / nominal - 1),
                          memory_order_relaxed);
    double target = target_beside(bridge);
    atomic_store_explicit(&bridge->target, target / nominal, memory_order_relaxed);
    atomic_store_explicit(&bridge->delay, (target + error) / nominal, memory_order_relaxed);
}

/* ---- begin ---- */

static void start_side(struct bridge_side *side, size_t period)
{
    side->period = side->longest = side->longest_before = period;
    side->frames = 0;
    side->longest_from = 0;
    call_clock_init(&side->clock, side->rate, period);
}

void bridge_start(struct bridge *bridge, size_t period_in, size_t period_out)
{
    struct bridge_call call;
    start_side(&bridge->input, period_in);
    start_side(&bridge->output, period_out);
    while (ring_read(bridge->calls, &call, 1) == 1)
        continue;
    while (ring_read(bridge->audio, bridge->read_frames, CHUNK) > 0)
        continue;
    bridge->written = bridge->taken = 0;
    bridge->lost = bridge->plays = false;
    bridge->step = bridge->input.rate / bridge->output.rate;
    show(bridge, 0);
}

/* ---- the input ---- */

HALO_REALTIME void bridge_write(struct bridge *bridge, const float *const *in, size_t frames,
                                int64_t time, bool lost)
{
    bridge->lost = bridge->lost || lost || ring_writable(bridge->audio) < frames;
    if (ring_writable(bridge->audio) < frames)
        return;
    for (size_t at = 0, count; at < frames; at += count) {
        count = frames - at < CHUNK ? frames - at : CHUNK;
        for (size_t c = 0; c < bridge->channels; c++)
            for (size_t i = 0; i < count; i++)
                bridge->written_frames[i * bridge->channels + c] = in[c][at + i];
        ring_write(bridge->audio, bridge->written_frames, count);
    }
    bridge->written += frames;
    const struct bridge_call call = {bridge->written, time, frames, bridge->lost};
    if (ring_write(bridge->calls, &call, 1) == 1)
        bridge->lost = false;
}

/* ---- the output: clocks ---- */

/* The period is the longest call of the last LONGEST_NS to 2 * LONGEST_NS. */
HALO_REALTIME static void follow_period(struct bridge_side *side, size_t count, int64_t time)
{
    if (side->longest_from == 0)
        side->longest_from = time;
    side->longest = count > side->longest ? count : side->longest;
    side->period = side->longest > side->longest_before ? side->longest : side->longest_before;
    if (time - side->longest_from < LONGEST_NS)
        return;
    side->longest_before = side->longest;
    side->longest = count;
    side->longest_from = time;
}

HALO_REALTIME static void add_call(struct bridge_side *side, const struct bridge_call *call)
{
    if (call->lost)
        call_clock_restart(&side->clock);
    side->frames = call->frames;
    follow_period(side, call->count, call->time);
    call_clock_add(&side->clock, call->frames, call->time);
}

/* Returns true if the input lost sound. */
HALO_REALTIME static bool add_input_calls(struct bridge *bridge)
{
    struct bridge_call call;
    bool lost = false;
    while (ring_read(bridge->calls, &call, 1) == 1) {
        add_call(&bridge->input, &call);
        lost = lost || call.lost;
    }
    return lost;
}

/* ---- the output: the delay, in frames of the input ---- */

/* Position in the input, in frames, that the current call of the output should begin at. */
HALO_REALTIME static double wanted_position(const struct bridge *bridge)
{
    int64_t time = call_clock_time(&bridge->output.clock, bridge->output.frames);
    return call_clock_frames(&bridge->input.clock, time) - (double)bridge->input.period -
           target_beside(bridge);
}

/* Whether the ring has all frames to resample up to position `end`. */
HALO_REALTIME static bool has_input(const struct bridge *bridge, double end)
{
    return end + (double)variable_resampler_reach(bridge->resampler) <
           (double)(bridge->taken + ring_readable(bridge->audio));
}

/* ---- the output: sound ---- */

HALO_REALTIME static void skip_input(struct bridge *bridge, uint64_t to)
{
    while (bridge->taken < to) {
        uint64_t left = to - bridge->taken;
        bridge->taken +=
            ring_read(bridge->audio, bridge->read_frames, left < CHUNK ? (size_t)left : CHUNK);
    }
}

HALO_REALTIME static bool clocks_are_known(const struct bridge *bridge)
{
    return call_clock_calls(&bridge->input.clock) >= CALLS_LEAST &&
           call_clock_calls(&bridge->output.clock) >= CALLS_LEAST;
}

/* Starts to play when the wanted frame is in the ring. */
HALO_REALTIME static void try_start(struct bridge *bridge, size_t frames)
{
    if (!clocks_are_known(bridge))
        return;
    double position = wanted_position(bridge);
    double step = clock_ratio(bridge);
    if (position < (double)bridge->taken || !has_input(bridge, position + step * (double)frames))
        return;
    skip_input(bridge, (uint64_t)position);
    variable_resampler_reset(bridge->resampler, position - floor(position));
    bridge->step = step;
    bridge->plays = true;
    ramp_init(&bridge->rise, 0);
    ramp_set(&bridge->rise, 1, (size_t)(RISE * bridge->output.rate));
}

/* The value of `step` for the end of this call. `error`: frames by which the delay is too long. */
HALO_REALTIME static double next_step(const struct bridge *bridge, size_t frames, double error)
{
    double seconds = error / bridge->input.rate;
    double correction = fmin(CORRECTION, seconds * (fabs(seconds) / GENTLE + 1 / SLOW));
    correction = fmax(-CORRECTION, correction);
    double step = clock_ratio(bridge) * (1 + correction);
    double share = fmin(1, (double)frames / (SETTLE * bridge->output.rate));
    return bridge->step + share * (step - bridge->step);
}

HALO_REALTIME static void resample(struct bridge *bridge, size_t frames, double growth)
{
    for (size_t at = 0, count; at < frames; at += count) {
        count = frames - at < VARIABLE_RESAMPLER_FRAMES ? frames - at : VARIABLE_RESAMPLER_FRAMES;
        size_t wants = variable_resampler_wants(bridge->resampler, count, bridge->step, growth);
        for (size_t part; wants > 0; wants -= part) {
            part = ring_read(bridge->audio, bridge->read_frames, wants < CHUNK ? wants : CHUNK);
            variable_resampler_write(bridge->resampler, bridge->read_frames, part);
            bridge->taken += part;
        }
        variable_resampler_read(bridge->resampler, bridge->sound.data, at, count, bridge->step,
                                growth);
        bridge->step += (double)count * growth;
    }
    ramp_process(&bridge->rise, bridge->channels, bridge->sound.data, frames);
}

/* Returns false if there is not enough input or the delay is too far off. */
HALO_REALTIME static bool play(struct bridge *bridge, size_t frames)
{
    double position = (double)bridge->taken - variable_resampler_ahead(bridge->resampler);
    double error = wanted_position(bridge) - position, n = (double)frames;
    double step = next_step(bridge, frames, error);
    double most = JUMP * bridge->input.rate + (double)bridge->input.period;
    show(bridge, error);
    if (fabs(error) > most || !has_input(bridge, position + n * fmax(step, bridge->step)))
        return false;
    resample(bridge, frames, (step - bridge->step) / n);
    return true;
}

HALO_REALTIME bool bridge_read(struct bridge *bridge, const float **in, size_t frames, int64_t time,
                               bool lost)
{
    const struct bridge_call call = {bridge->output.frames + frames, time, frames, lost};
    bool played = bridge->plays;
    lost = add_input_calls(bridge) || lost;
    add_call(&bridge->output, &call);
    bridge->plays = bridge->plays && !lost;
    if (!played)
        try_start(bridge, frames);
    if (bridge->plays && !play(bridge, frames)) {
        call_clock_doubt(&bridge->input.clock);
        bridge->plays = false;
    }
    if (!bridge->plays)
        block_silence(&bridge->sound, 0, frames);
    for (size_t c = 0; c < bridge->channels; c++)
        in[c] = bridge->sound.data[c];
    return played && !bridge->plays;
}

/* ---- for display ---- */

struct bridge_state bridge_state(const struct bridge *bridge)
{
    return (struct bridge_state){
        .ratio_ppm = atomic_load_explicit(&bridge->ratio_ppm, memory_order_relaxed),
        .delay = atomic_load_explicit(&bridge->delay, memory_order_relaxed),
        .target = atomic_load_explicit(&bridge->target, memory_order_relaxed),
    };
}
