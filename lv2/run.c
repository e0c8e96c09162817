/* The sound: all of it is real-time. */
#include "instance.h"

#include "base/realtime.h"

#include <math.h>
#include <string.h>

/* The value of a port, clamped; unconnected or NaN: `initial`. */
HALO_REALTIME static float value(const struct instance *instance, enum port port, float initial,
                                 float least, float most)
{
    const float *given = instance->values[port];
    if (!given || isnan(*given))
        return initial;
    return *given < least ? least : *given > most ? most : *given;
}

HALO_REALTIME static void set_ramp(const struct instance *instance, struct ramp *ramp, float target)
{
    if (instance->fresh)
        ramp_init(ramp, target);
    else
        ramp_set(ramp, target, instance->smoothing);
}

HALO_REALTIME static void read_sound_controls(struct instance *instance)
{
    bool enabled = value(instance, PORT_ENABLED, 1, 0, 1) > 0.5f;
    bool filters = enabled && exchange_has_mask(instance);
    float mix = value(instance, PORT_MIX, 1, 0, 1);
    float gain = (float)audio_from_db((double)value(instance, PORT_GAIN, 0, -90, 24));
    set_ramp(instance, &instance->feed, enabled ? 1 : 0);
    set_ramp(instance, &instance->dry_gain, filters ? 1 - mix : 1);
    set_ramp(instance, &instance->wet_gain, filters ? mix * gain : 0);
    float ms = value(instance, PORT_PRE_DELAY, 0, 0, 1000 * PRE_DELAY_MOST);
    size_t frames = (size_t)lrint(1e-3 * (double)ms * instance->rate);
    pre_delay_set(&instance->pre_delay, frames, instance->fresh);
}

HALO_REALTIME static void read_mask_controls(struct instance *instance)
{
    struct mask_request *request = &instance->request;
    float trim = value(instance, PORT_TRIM, 0, 0, 1000);
    bool gpu = value(instance, PORT_PROCESSOR, BACKEND_AUTO, 0, BACKEND_GPU) > 0.5f;
    if (trim == request->trim && gpu == request->gpu)
        return;
    request->trim = trim;
    request->gpu = gpu;
    instance->requested = instance->requested || *request->file;
}

HALO_REALTIME static void blend(const struct instance *instance, size_t frames)
{
    for (size_t i = 0; i < frames; i++) {
        float share = (float)(instance->faded + i) / (float)instance->fade;
        for (size_t c = 0; c < instance->variant->channels; c++) {
            float old = instance->wet.data[c][i], new = instance->other.data[c][i];
            instance->wet.data[c][i] = share < 1 ? old + share * (new - old) : new;
        }
    }
}

HALO_REALTIME static void filter(struct instance *instance, float *const *now, size_t frames)
{
    const float *const *in = (const float *const *)now;
    bool audible = instance->wet_gain.to != 0 || ramp_gain(&instance->wet_gain) != 0;
    if (!instance->processor || !audible) {
        block_silence(&instance->wet, 0, frames);
    } else {
        processor_write(instance->processor, in, instance->held, frames, instance->wet.data);
        if (instance->fading) {
            processor_write(instance->coming, in, instance->held, frames, instance->other.data);
            blend(instance, frames);
        }
    }
    instance->faded += frames;
}

/* Feed the complete block to the masks and keep it as history of the next. */
HALO_REALTIME static void end_block(struct instance *instance)
{
    const float *block[CHANNELS_MOST];
    for (size_t c = 0; c < instance->variant->channels; c++)
        block[c] = instance->now.data[c] + PROCESSOR_BLOCK;
    input_history_write(&instance->history, block);
    exchange_block(instance);
    for (size_t c = 0; c < instance->variant->channels; c++)
        memcpy(instance->now.data[c], block[c], PROCESSOR_BLOCK * sizeof(float));
    instance->held = 0;
}

/* Reads all inputs before it writes an output, since they may share memory. */
HALO_REALTIME static void run_piece(struct instance *instance, size_t at, size_t frames)
{
    size_t channels = instance->variant->channels;
    float *now[CHANNELS_MOST];
    for (size_t c = 0; c < channels; c++) {
        now[c] = instance->now.data[c] + PROCESSOR_BLOCK + instance->held;
        memcpy(instance->dry.data[c], instance->in[c] + at, frames * sizeof(float));
        memcpy(now[c], instance->dry.data[c], frames * sizeof(float));
    }
    pre_delay_process(&instance->pre_delay, now, frames);
    ramp_process(&instance->feed, channels, now, frames);
    filter(instance, now, frames);
    ramp_process(&instance->wet_gain, channels, instance->wet.data, frames);
    ramp_process(&instance->dry_gain, channels, instance->dry.data, frames);
    for (size_t c = 0; c < channels; c++)
        for (size_t i = 0; i < frames; i++)
            instance->out[c][at + i] = instance->dry.data[c][i] + instance->wet.data[c][i];
    instance->held += frames;
    if (instance->held == PROCESSOR_BLOCK)
        end_block(instance);
}

HALO_REALTIME static bool is_connected(const struct instance *instance)
{
    for (size_t c = 0; c < instance->variant->channels; c++)
        if (!instance->in[c] || !instance->out[c])
            return false;
    return true;
}

HALO_REALTIME static void run_frames(struct instance *instance, size_t frames)
{
    if (frames == 0 || !is_connected(instance))
        return;
    read_sound_controls(instance);
    instance->fresh = false;
    for (size_t at = 0, count; at < frames; at += count) {
        size_t capacity = PROCESSOR_BLOCK - instance->held;
        count = frames - at < capacity ? frames - at : capacity;
        run_piece(instance, at, count);
    }
}

HALO_REALTIME void instance_run(LV2_Handle handle, uint32_t frames)
{
    struct instance *instance = handle;
    struct realtime_floats before = realtime_floats_begin();
    messages_read(instance);
    read_mask_controls(instance);
    exchange_begin(instance);
    run_frames(instance, frames);
    exchange_end(instance);
    messages_write(instance);
    if (instance->latency)
        *instance->latency = 0;
    realtime_floats_end(before);
}
