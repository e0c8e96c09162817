/* The sound: all of it is real-time. */
#include "effect/effect_state.h"

#include "base/realtime.h"

#include <math.h>
#include <string.h>

HALO_REALTIME static void set_ramp(const struct effect *effect, struct ramp *ramp, float target)
{
    if (effect->fresh)
        ramp_init(ramp, target);
    else
        ramp_set(ramp, target, effect->smoothing);
}

HALO_REALTIME static size_t pre_delay_of(const struct effect *effect)
{
    return (size_t)lrint(1e-3 * (double)effect->values[EFFECT_PRE_DELAY] * effect->rate);
}

HALO_REALTIME static bool is_enabled(const struct effect *effect)
{
    return effect->values[EFFECT_ENABLED] > 0.5f;
}

HALO_REALTIME static void use_sound_controls(struct effect *effect)
{
    bool filters = is_enabled(effect) && exchange_has_mask(effect);
    float mix = effect->values[EFFECT_MIX];
    float gain = (float)audio_from_db((double)effect->values[EFFECT_GAIN]);
    set_ramp(effect, &effect->feed, is_enabled(effect) ? 1 : 0);
    set_ramp(effect, &effect->dry_gain, filters ? 1 - mix : 1);
    set_ramp(effect, &effect->wet_gain, filters ? mix * gain : 0);
    pre_delay_set(&effect->pre_delay, pre_delay_of(effect), effect->fresh);
}

HALO_REALTIME static void use_mask_controls(struct effect *effect)
{
    struct effect_mask *request = &effect->request;
    float trim = effect->values[EFFECT_TRIM];
    bool gpu = effect->values[EFFECT_PROCESSOR] > 0.5f;
    if (trim == request->trim && gpu == request->gpu)
        return;
    request->trim = trim;
    request->gpu = gpu;
    effect->requested = effect->requested || *request->file;
}

HALO_REALTIME static void blend(const struct effect *effect, size_t frames)
{
    for (size_t i = 0; i < frames; i++) {
        float share = (float)(effect->faded + i) / (float)effect->fade;
        for (size_t c = 0; c < effect->kind->channels; c++) {
            float old = effect->wet.data[c][i], new = effect->other.data[c][i];
            effect->wet.data[c][i] = share < 1 ? old + share * (new - old) : new;
        }
    }
}

HALO_REALTIME static bool is_wet(const struct effect *effect)
{
    return effect->wet_gain.to != 0 || ramp_gain(&effect->wet_gain) != 0;
}

HALO_REALTIME static void filter(struct effect *effect, float *const *now, size_t frames)
{
    const float *const *in = (const float *const *)now;
    if (!effect->processor || !is_wet(effect)) {
        block_silence(&effect->wet, 0, frames);
    } else {
        processor_write(effect->processor, in, effect->held, frames, effect->wet.data);
        if (effect->fading) {
            processor_write(effect->coming, in, effect->held, frames, effect->other.data);
            blend(effect, frames);
        }
    }
    effect->faded += frames;
}

/* Feed the complete block to the masks and keep it as history of the next. */
HALO_REALTIME static void end_block(struct effect *effect)
{
    const float *block[EFFECT_CHANNELS_MOST];
    for (size_t c = 0; c < effect->kind->channels; c++)
        block[c] = effect->now.data[c] + PROCESSOR_BLOCK;
    input_history_write(&effect->history, block);
    exchange_block(effect);
    for (size_t c = 0; c < effect->kind->channels; c++)
        memcpy(effect->now.data[c], block[c], PROCESSOR_BLOCK * sizeof(float));
    effect->held = 0;
}

/* Reads all inputs before it writes an output, since they may share memory. */
HALO_REALTIME static void run_piece(struct effect *effect, const float *const *in,
                                    float *const *out, size_t at, size_t frames)
{
    size_t channels = effect->kind->channels;
    float *now[EFFECT_CHANNELS_MOST];
    for (size_t c = 0; c < channels; c++) {
        now[c] = effect->now.data[c] + PROCESSOR_BLOCK + effect->held;
        memcpy(effect->dry.data[c], in[c] + at, frames * sizeof(float));
        memcpy(now[c], effect->dry.data[c], frames * sizeof(float));
    }
    pre_delay_process(&effect->pre_delay, now, frames);
    ramp_process(&effect->feed, channels, now, frames);
    filter(effect, now, frames);
    ramp_process(&effect->wet_gain, channels, effect->wet.data, frames);
    ramp_process(&effect->dry_gain, channels, effect->dry.data, frames);
    for (size_t c = 0; c < channels; c++)
        for (size_t i = 0; i < frames; i++)
            out[c][at + i] = effect->dry.data[c][i] + effect->wet.data[c][i];
    effect->held += frames;
    if (effect->held == PROCESSOR_BLOCK)
        end_block(effect);
}

HALO_REALTIME static void run_frames(struct effect *effect, const float *const *in,
                                     float *const *out, size_t frames)
{
    use_sound_controls(effect);
    effect->fresh = false;
    for (size_t at = 0, count; at < frames; at += count) {
        size_t capacity = PROCESSOR_BLOCK - effect->held;
        count = frames - at < capacity ? frames - at : capacity;
        run_piece(effect, in, out, at, count);
    }
}

/* Of the longest mask that sounds, after the longest pre-delay. */
HALO_REALTIME void effect_update_tail(struct effect *effect)
{
    size_t taps = effect->processor ? effect->processor->taps : 0;
    if (effect->coming && effect->coming->taps > taps)
        taps = effect->coming->taps;
    const struct pre_delay *delay = &effect->pre_delay;
    size_t frames = delay->delay > delay->next ? delay->delay : delay->next;
    if (pre_delay_of(effect) > frames)
        frames = pre_delay_of(effect);
    atomic_store(&effect->tail,
                 taps && (is_enabled(effect) || is_wet(effect)) ? taps - 1 + frames : 0);
}

HALO_REALTIME void effect_begin(struct effect *effect)
{
    exchange_accept(effect);
}

HALO_REALTIME void effect_run(struct effect *effect, const float *const *in, float *const *out,
                              size_t frames)
{
    struct realtime_floats before = realtime_floats_begin();
    use_mask_controls(effect);
    exchange_begin(effect);
    if (frames > 0)
        run_frames(effect, in, out, frames);
    exchange_end(effect);
    effect_update_tail(effect);
    realtime_floats_end(before);
}
