/* Values of parameters, to a CLAP plugin and from it. */
#include "plugin/plugin_clap.h"

#include "base/realtime.h"

#include <math.h>
#include <stdlib.h>

/* ---- to the plugin ---- */

HALO_REALTIME static uint32_t event_count(const struct clap_input_events *list)
{
    return (uint32_t)((const struct clap_events *)list->ctx)->count;
}

HALO_REALTIME static const struct clap_event_header *event_at(const struct clap_input_events *list,
                                                              uint32_t index)
{
    const struct clap_events *events = list->ctx;
    return index < events->count ? &events->values[index].header : NULL;
}

/* At the first frame of the block. Without room the value is sent with the next one. */
HALO_REALTIME static void add_event(struct clap_events *events, struct clap_parameter *parameter,
                                    float value)
{
    if (events->count == events->size)
        return;
    double exact = (double)value; /* floats round beyond the bounds */
    exact = fmax(parameter->minimum, fmin(parameter->maximum, exact));
    events->values[events->count++] = (struct clap_event_param_value){
        .header = {.size = sizeof(struct clap_event_param_value),
                   .space_id = CLAP_CORE_EVENT_SPACE_ID,
                   .type = CLAP_EVENT_PARAM_VALUE},
        .param_id = parameter->id,
        .cookie = parameter->cookie,
        .note_id = -1,
        .port_index = -1,
        .channel = -1,
        .key = -1,
        .value = exact,
    };
    parameter->sent = value;
}

HALO_REALTIME void clap_events_collect(struct clap_instance *instance)
{
    for (size_t i = 0; i < instance->parameter_count; i++) {
        struct clap_parameter *parameter = &instance->parameters[i];
        float value = instance->plugin.controls[parameter->port];
        bool is_input = instance->plugin.info->ports[parameter->port].is_input;
        if (is_input && value != parameter->sent)
            add_event(&instance->events, parameter, value);
    }
}

HALO_REALTIME void clap_events_next(struct clap_instance *instance, bool delivered)
{
    if (delivered)
        instance->events.count = 0;
}

/* ---- the beat ---- */

/* CLAP counts quarter notes, a tempo of halo beats of its unit. */
HALO_REALTIME const struct clap_event_transport *clap_transport_at(struct clap_instance *instance)
{
    static const double one = (double)(INT64_C(1) << 31);
    const struct plugin_tempo *tempo = &instance->tempo;
    int64_t frame = instance->plugin.position;
    if (tempo->bpm == 0)
        return NULL;
    double seconds = frame > 0 ? (double)frame / instance->rate : 0;
    double quarter = 4.0 / tempo->unit, bar = floor(seconds * tempo->bpm / 60 / tempo->bar);
    instance->transport = (struct clap_event_transport){
        .header = {.size = sizeof instance->transport,
                   .space_id = CLAP_CORE_EVENT_SPACE_ID,
                   .type = CLAP_EVENT_TRANSPORT},
        .flags = CLAP_TRANSPORT_HAS_TEMPO | CLAP_TRANSPORT_HAS_BEATS_TIMELINE |
                 CLAP_TRANSPORT_HAS_SECONDS_TIMELINE | CLAP_TRANSPORT_HAS_TIME_SIGNATURE |
                 (frame >= 0 ? CLAP_TRANSPORT_IS_PLAYING : 0),
        .song_pos_beats = llrint(seconds * tempo->bpm / 60 * quarter * one),
        .song_pos_seconds = llrint(seconds * one),
        .tempo = tempo->bpm * quarter,
        .bar_start = llrint(bar * tempo->bar * quarter * one),
        .bar_number = (int32_t)bar,
        .tsig_num = (uint16_t)tempo->bar,
        .tsig_denom = (uint16_t)tempo->unit,
    };
    return &instance->transport;
}

/* ---- from the plugin ---- */

HALO_REALTIME static bool take_event(const struct clap_output_events *list,
                                     const struct clap_event_header *event)
{
    struct clap_instance *instance = list->ctx;
    if (event->space_id != CLAP_CORE_EVENT_SPACE_ID || event->type != CLAP_EVENT_PARAM_VALUE ||
        event->size < sizeof(struct clap_event_param_value))
        return true;
    const struct clap_event_param_value *value = (const struct clap_event_param_value *)event;
    for (size_t i = 0; i < instance->parameter_count; i++)
        if (instance->parameters[i].id == value->param_id && isfinite((float)value->value)) {
            instance->parameters[i].sent = (float)value->value;
            instance->plugin.controls[instance->parameters[i].port] = (float)value->value;
            break;
        }
    return true;
}

void clap_values_read(struct clap_instance *instance, bool adopted)
{
    if (!instance->params)
        return;
    enum clap_role before = clap_enter(CLAP_MAIN_THREAD);
    for (size_t i = 0; i < instance->parameter_count; i++) {
        struct clap_parameter *parameter = &instance->parameters[i];
        double value;
        bool is_known = instance->params->get_value(instance->handle, parameter->id, &value) &&
                        isfinite((float)value);
        parameter->sent = is_known ? (float)value : NAN;
        if (is_known && (adopted || !instance->plugin.info->ports[parameter->port].is_input))
            instance->plugin.controls[parameter->port] = parameter->sent;
    }
    clap_enter(before);
}

void clap_values_flush(struct clap_instance *instance)
{
    clap_events_collect(instance);
    if (!instance->params || instance->events.count == 0)
        return;
    enum clap_role before = clap_enter(CLAP_MAIN_THREAD);
    instance->params->flush(instance->handle, &instance->events.in, &instance->events.out);
    clap_enter(before);
    clap_events_next(instance, true);
}

enum status clap_events_init(struct clap_events *events, struct clap_instance *instance)
{
    events->size = instance->parameter_count;
    events->values = calloc(events->size + 1, sizeof *events->values);
    events->in = (struct clap_input_events){.ctx = events, .size = event_count, .get = event_at};
    events->out = (struct clap_output_events){.ctx = instance, .try_push = take_event};
    return events->values ? STATUS_OK : fail_memory("a plugin");
}

void clap_events_free(struct clap_events *events)
{
    free(events->values);
}
