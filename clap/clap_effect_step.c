/* Sound and events: all of it is real-time. */
#include "clap_effect.h"

#include "base/realtime.h"

HALO_REALTIME static bool fits(const struct clap_effect *clap, const struct clap_process *process)
{
    size_t channels = clap->kind->channels;
    if (process->audio_inputs_count < 1 || process->audio_outputs_count < 1)
        return false;
    const struct clap_audio_buffer *in = process->audio_inputs, *out = process->audio_outputs;
    return in->data32 && out->data32 && in->channel_count == channels &&
           out->channel_count == channels;
}

HALO_REALTIME static void run_piece(struct clap_effect *clap, const struct clap_process *process,
                                    uint32_t at, uint32_t end)
{
    const float *in[EFFECT_CHANNELS_MOST];
    float *out[EFFECT_CHANNELS_MOST];
    for (size_t c = 0; c < clap->kind->channels; c++) {
        in[c] = process->audio_inputs->data32[c] + at;
        out[c] = process->audio_outputs->data32[c] + at;
    }
    effect_begin(clap->effect);
    for (enum effect_control c = 0; c < EFFECT_CONTROLS; c++)
        effect_set(clap->effect, c, clap_effect_control(clap, c));
    effect_run(clap->effect, in, out, end - at);
}

/* Take over the events until frame `at`, the first of them `*next`. Returns the frame of the one
 * after, at most `most`. */
HALO_REALTIME static uint32_t take_events(struct clap_effect *clap,
                                          const struct clap_input_events *events, uint32_t *next,
                                          uint32_t at, uint32_t most)
{
    uint32_t count = events ? events->size(events) : 0;
    for (; *next < count; ++*next) {
        const struct clap_event_header *event = events->get(events, *next);
        if (event && event->time > at && event->time < most)
            return event->time;
        if (event && event->time > at)
            return most;
        clap_effect_param_event(clap, event);
    }
    return most;
}

HALO_REALTIME static void report_tail(struct clap_effect *clap)
{
    uint32_t tail = effect_tail(clap->effect);
    if (tail == clap->tail_reported)
        return;
    clap->tail_reported = tail;
    if (clap->tail)
        clap->tail->changed(clap->host);
}

/* In pieces from event to event. Those beyond the block's end are of a host in error: late rather
 * than lost. */
HALO_REALTIME int32_t clap_effect_process(const struct clap_plugin *plugin,
                                          const struct clap_process *process)
{
    struct clap_effect *clap = clap_effect_of(plugin);
    uint32_t frames = process->frames_count, next = 0, at = 0;
    if (!fits(clap, process))
        return CLAP_PROCESS_ERROR;
    do {
        uint32_t end = take_events(clap, process->in_events, &next, at, frames);
        run_piece(clap, process, at, end);
        at = end;
    } while (at < frames);
    (void)take_events(clap, process->in_events, &next, UINT32_MAX, UINT32_MAX);
    process->audio_outputs->constant_mask = 0;
    report_tail(clap);
    return effect_is_busy(clap->effect) ? CLAP_PROCESS_CONTINUE : CLAP_PROCESS_TAIL;
}
