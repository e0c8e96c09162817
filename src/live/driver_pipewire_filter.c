#include "live/driver_pipewire_filter.h"

#include "base/realtime.h"

#include <string.h>

/* ---- real-time ---- */

HALO_REALTIME static void process_filter(void *context, struct spa_io_position *position)
{
    struct pipewire_filter *filter = context;
    const struct device_stream *stream = filter->cycle->stream;
    const float *in[DEVICE_CHANNELS_MOST];
    float *out[DEVICE_CHANNELS_MOST];
    uint32_t frames = (uint32_t)position->clock.duration;
    for (size_t c = 0; c < stream->in.opened; c++)
        in[c] = pw_filter_get_dsp_buffer(filter->in[c], frames);
    for (size_t c = 0; c < stream->out.opened; c++)
        out[c] = pw_filter_get_dsp_buffer(filter->out[c], frames);
    pipewire_cycle_run(filter->cycle, &position->clock, in, out, frames);
}

/* ---- latency ---- */

/* What arrives at one side leaves at the other; named as PipeWire does: latency of direction INPUT
 * is that towards the playing device, and arrives at output ports. */
static void pass_latency(struct pipewire_filter *filter, enum spa_direction direction)
{
    bool to_output = direction == SPA_DIRECTION_INPUT;
    struct pipewire_filter_port **from = to_output ? filter->out : filter->in;
    struct pipewire_filter_port **to = to_output ? filter->in : filter->out;
    struct spa_latency_info info;
    spa_latency_info_combine_start(&info, direction);
    for (size_t c = 0; c < DEVICE_CHANNELS_MOST && from[c]; c++)
        spa_latency_info_combine(&info, &from[c]->latency);
    spa_latency_info_combine_finish(&info);
    pipewire_cycle_pass_latency(filter->cycle, &info);
    for (size_t c = 0; c < DEVICE_CHANNELS_MOST && to[c]; c++) {
        uint8_t buffer[1024];
        struct spa_pod_builder builder = SPA_POD_BUILDER_INIT(buffer, sizeof buffer);
        const struct spa_pod *param = spa_latency_build(&builder, SPA_PARAM_Latency, &info);
        pw_filter_update_params(filter->filter, to[c], &param, 1);
    }
}

static void param_changed(void *context, void *port_data, uint32_t id, const struct spa_pod *param)
{
    struct pipewire_filter_port *port = port_data;
    struct spa_latency_info info;
    if (!port || id != SPA_PARAM_Latency || !param || spa_latency_parse(param, &info) < 0 ||
        info.direction == port->direction)
        return;
    port->latency = info;
    pass_latency(context, info.direction);
}

void pipewire_filter_update_latency(struct pipewire_filter *filter)
{
    uint8_t buffer[256];
    const struct spa_pod *param = pipewire_cycle_own_latency(filter->cycle, buffer, sizeof buffer);
    pw_filter_update_params(filter->filter, NULL, &param, 1);
    pass_latency(filter, SPA_DIRECTION_INPUT);
    pass_latency(filter, SPA_DIRECTION_OUTPUT);
}

/* ---- the node ---- */

static void state_changed(void *context, enum pw_filter_state old, enum pw_filter_state state,
                          const char *error)
{
    struct pipewire_filter *filter = context;
    (void)old, (void)error;
    if (state == PW_FILTER_STATE_ERROR)
        filter->cycle->failed = true;
}

static const struct pw_filter_events events = {
    PW_VERSION_FILTER_EVENTS,
    .state_changed = state_changed,
    .param_changed = param_changed,
    .process = process_filter,
};

static struct pw_properties *node_properties(const struct pipewire_request *request)
{
    struct pw_properties *properties = pw_properties_new(
        PW_KEY_NODE_NAME, "halo", PW_KEY_NODE_DESCRIPTION, "halo", PW_KEY_MEDIA_TYPE, "Audio",
        PW_KEY_MEDIA_CATEGORY, "Duplex", PW_KEY_MEDIA_ROLE, "DSP", PW_KEY_APP_NAME, "halo", NULL);
    if (!properties)
        return NULL;
    pipewire_cycle_request(request, properties);
    return properties;
}

static struct pipewire_filter_port *add_port(struct pipewire_filter *filter,
                                             enum spa_direction direction, const char *channel)
{
    bool is_input = direction == SPA_DIRECTION_INPUT;
    struct pw_properties *properties = pw_properties_new(
        PW_KEY_FORMAT_DSP, "32 bit float mono audio", PW_KEY_AUDIO_CHANNEL, channel, NULL);
    if (!properties)
        return NULL;
    pw_properties_setf(properties, PW_KEY_PORT_NAME, "%s_%s", is_input ? "input" : "output",
                       channel);
    struct pipewire_filter_port *port =
        pw_filter_add_port(filter->filter, direction, PW_FILTER_PORT_FLAG_MAP_BUFFERS, sizeof *port,
                           properties, NULL, 0);
    if (port)
        *port = (struct pipewire_filter_port){
            .direction = direction,
            .latency = SPA_LATENCY_INFO(SPA_DIRECTION_REVERSE(direction)),
        };
    return port;
}

static bool add_ports(struct pipewire_filter *filter, const struct pipewire_request *request)
{
    const struct device_stream *stream = filter->cycle->stream;
    for (size_t c = 0; c < stream->in.opened; c++)
        if (!(filter->in[c] = add_port(filter, SPA_DIRECTION_INPUT,
                                       request->channel(request->context, true, c))))
            return false;
    for (size_t c = 0; c < stream->out.opened; c++)
        if (!(filter->out[c] = add_port(filter, SPA_DIRECTION_OUTPUT,
                                        request->channel(request->context, false, c))))
            return false;
    return true;
}

enum status pipewire_filter_open(struct pw_core *core, const struct pipewire_request *request,
                                 struct pipewire_cycle *cycle, struct pipewire_filter *filter)
{
    uint8_t buffer[256];
    const struct spa_pod *param = pipewire_cycle_own_latency(cycle, buffer, sizeof buffer);
    filter->cycle = cycle;
    filter->filter = pw_filter_new(core, "halo", node_properties(request));
    if (!filter->filter)
        return fail_memory("a node of PipeWire");
    pw_filter_add_listener(filter->filter, &filter->hook, &events, filter);
    if (!add_ports(filter, request))
        return fail_memory("the ports of a node of PipeWire");
    int error = pw_filter_connect(
        filter->filter, PW_FILTER_FLAG_RT_PROCESS | PW_FILTER_FLAG_CUSTOM_LATENCY, &param, 1);
    return error < 0 ? fail_errno(-error, "PipeWire refused a node") : STATUS_OK;
}

void pipewire_filter_close(struct pipewire_filter *filter)
{
    if (filter->filter)
        pw_filter_destroy(filter->filter);
    *filter = (struct pipewire_filter){0};
}

uint32_t pipewire_filter_id(const struct pipewire_filter *filter)
{
    return filter->filter ? pw_filter_get_node_id(filter->filter) : SPA_ID_INVALID;
}
