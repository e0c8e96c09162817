/* halo's own nodes in the graph of PipeWire: a filter between devices, or a virtual sink. */
#include "live/device/driver_pipewire.h"

#include "base/printable.h"
#include "base/realtime.h"

#include <ctype.h>
#include <math.h>
#include <spa/debug/types.h>
#include <spa/param/audio/format-utils.h>
#include <spa/param/audio/type-info.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SETTLES = 2 }; /* gaps are ignored for 1/SETTLES second after a device has changed */

static enum status cycle_init(struct device_stream *stream, struct pipewire_cycle *cycle)
{
    size_t outputs = stream->out.opened;
    cycle->stream = stream;
    for (uint32_t d = 0; d < 2; d++) /* values until the first latency arrives */
        cycle->latency[d] = SPA_LATENCY_INFO((enum spa_direction)d);
    cycle->scratch = calloc(outputs ? outputs : 1, DEVICE_FRAMES_MOST * sizeof *cycle->scratch);
    return cycle->scratch ? STATUS_OK : fail_memory("a node of PipeWire");
}

/* ---- real-time ---- */

/* Whether sound was lost before this cycle: a cycle did not reach this node, so the position of the
 * driver's clock has a gap. Positions of different drivers are not compared. */
HALO_REALTIME static bool has_gap(struct pipewire_cycle *cycle, const struct spa_io_clock *clock)
{
    bool gap = clock->id == cycle->clock_id && clock->position > cycle->expected;
    uint32_t duration = (uint32_t)clock->duration;
    cycle->clock_id = clock->id;
    cycle->expected = clock->position + clock->duration;
    if (atomic_exchange_explicit(&cycle->moves, false, memory_order_relaxed))
        cycle->unsettled = clock->rate.denom / SETTLES;
    bool settled = cycle->unsettled == 0;
    cycle->unsettled -= cycle->unsettled < duration ? cycle->unsettled : duration;
    return gap && settled;
}

/* Runs the step for a cycle. NULL entries of `in` and `out` (ports without buffer) are replaced. */
HALO_REALTIME static void cycle_run(struct pipewire_cycle *cycle, const struct spa_io_clock *clock,
                                    const float **in, float **out, uint32_t frames)
{
    struct device_stream *stream = cycle->stream;
    if (frames == 0 || frames > DEVICE_FRAMES_MOST)
        return;
    for (size_t c = 0; c < stream->in.opened; c++)
        in[c] = in[c] ? in[c] : stream->silence;
    for (size_t c = 0; c < stream->out.opened; c++)
        out[c] = out[c] ? out[c] : cycle->scratch + c * DEVICE_FRAMES_MOST;
    bool lost = has_gap(cycle, clock);
    atomic_store_explicit(&cycle->duration, frames, memory_order_relaxed);
    atomic_store_explicit(&cycle->rate, clock->rate.denom, memory_order_relaxed);
    if (atomic_load_explicit(&cycle->is_ready, memory_order_acquire))
        device_process(stream, in, out, frames, lost);
    else
        for (size_t c = 0; c < stream->out.opened; c++)
            memset(out[c], 0, frames * sizeof *out[c]);
}

/* ---- the graph ---- */

static void cycle_request(const struct pipewire_request *request, struct pw_properties *properties)
{
    pw_properties_set(properties, PW_KEY_NODE_ALWAYS_PROCESS, "true");
    pw_properties_set(properties, PW_KEY_NODE_WANT_DRIVER, "true");
    if (request->block)
        pw_properties_setf(properties, PW_KEY_NODE_LATENCY, "%zu/%u", request->block,
                           request->rate_of_block);
    if (request->rate)
        pw_properties_setf(properties, PW_KEY_NODE_RATE, "1/%u", request->rate);
}

/* The type of `rate` depends on the version of PipeWire. */
static struct spa_process_latency_info own_info(uint32_t frames)
{
    struct spa_process_latency_info own = {.ns = 0};
    own.rate = (__typeof__(own.rate))frames;
    return own;
}

/* Stores a latency that arrived from one side, and adds the step's own, for the other side. */
static void cycle_pass_latency(struct pipewire_cycle *cycle, struct spa_latency_info *info)
{
    const struct spa_process_latency_info own = own_info(cycle->own_latency);
    cycle->latency[info->direction] = *info;
    spa_process_latency_info_add(&own, info);
}

static const struct spa_pod *cycle_own_latency(const struct pipewire_cycle *cycle, uint8_t *buffer,
                                               uint32_t size)
{
    struct spa_pod_builder builder = SPA_POD_BUILDER_INIT(buffer, size);
    const struct spa_process_latency_info own = own_info(cycle->own_latency);
    return spa_process_latency_build(&builder, SPA_PARAM_ProcessLatency, &own);
}

uint64_t pipewire_cycle_latency(const struct pipewire_cycle *cycle, enum spa_direction direction)
{
    const struct spa_latency_info *info = &cycle->latency[direction];
    double rate = atomic_load(&cycle->rate), quantum = atomic_load(&cycle->duration);
    return (uint64_t)llround((double)info->max_quantum * quantum + (double)info->max_rate +
                             1e-9 * (double)info->max_ns * rate);
}

/* ---- a filter between devices ---- */

HALO_REALTIME static void process_filter(void *context, struct spa_io_position *position)
{
    struct pipewire_own_node *node = context;
    const struct device_stream *stream = node->cycle.stream;
    const float *in[DEVICE_CHANNELS_MOST];
    float *out[DEVICE_CHANNELS_MOST];
    uint32_t frames = (uint32_t)position->clock.duration;
    for (size_t c = 0; c < stream->in.opened; c++)
        in[c] = pw_filter_get_dsp_buffer(node->in[c], frames);
    for (size_t c = 0; c < stream->out.opened; c++)
        out[c] = pw_filter_get_dsp_buffer(node->out[c], frames);
    cycle_run(&node->cycle, &position->clock, in, out, frames);
}

/* Passes a latency from the ports of one side to the ports of the other. In PipeWire, direction
 * INPUT is towards the playing device; its latency arrives at output ports. */
static void pass_filter_latency(struct pipewire_own_node *node, enum spa_direction direction)
{
    bool to_output = direction == SPA_DIRECTION_INPUT;
    struct pipewire_filter_port **from = to_output ? node->out : node->in;
    struct pipewire_filter_port **to = to_output ? node->in : node->out;
    struct spa_latency_info info;
    spa_latency_info_combine_start(&info, direction);
    for (size_t c = 0; c < DEVICE_CHANNELS_MOST && from[c]; c++)
        spa_latency_info_combine(&info, &from[c]->latency);
    spa_latency_info_combine_finish(&info);
    cycle_pass_latency(&node->cycle, &info);
    for (size_t c = 0; c < DEVICE_CHANNELS_MOST && to[c]; c++) {
        uint8_t buffer[1024];
        struct spa_pod_builder builder = SPA_POD_BUILDER_INIT(buffer, sizeof buffer);
        const struct spa_pod *param = spa_latency_build(&builder, SPA_PARAM_Latency, &info);
        pw_filter_update_params(node->filter, to[c], &param, 1);
    }
}

static void filter_param_changed(void *context, void *port_data, uint32_t id,
                                 const struct spa_pod *param)
{
    struct pipewire_filter_port *port = port_data;
    struct spa_latency_info info;
    if (!port || id != SPA_PARAM_Latency || !param || spa_latency_parse(param, &info) < 0 ||
        info.direction == port->direction)
        return;
    port->latency = info;
    pass_filter_latency(context, info.direction);
}

static void update_filter_latency(struct pipewire_own_node *node)
{
    uint8_t buffer[256];
    const struct spa_pod *param = cycle_own_latency(&node->cycle, buffer, sizeof buffer);
    pw_filter_update_params(node->filter, NULL, &param, 1);
    pass_filter_latency(node, SPA_DIRECTION_INPUT);
    pass_filter_latency(node, SPA_DIRECTION_OUTPUT);
}

static void filter_state_changed(void *context, enum pw_filter_state old,
                                 enum pw_filter_state state, const char *error)
{
    struct pipewire_own_node *node = context;
    (void)old, (void)error;
    if (state == PW_FILTER_STATE_ERROR)
        node->cycle.failed = true;
}

static const struct pw_filter_events filter_events = {
    PW_VERSION_FILTER_EVENTS,
    .state_changed = filter_state_changed,
    .param_changed = filter_param_changed,
    .process = process_filter,
};

static struct pw_properties *node_properties(const struct pipewire_request *request)
{
    struct pw_properties *properties = pw_properties_new(
        PW_KEY_NODE_NAME, "halo", PW_KEY_NODE_DESCRIPTION, "halo", PW_KEY_MEDIA_TYPE, "Audio",
        PW_KEY_MEDIA_CATEGORY, "Duplex", PW_KEY_MEDIA_ROLE, "DSP", PW_KEY_APP_NAME, "halo", NULL);
    if (!properties)
        return NULL;
    cycle_request(request, properties);
    return properties;
}

static struct pipewire_filter_port *add_port(struct pipewire_own_node *node,
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
        pw_filter_add_port(node->filter, direction, PW_FILTER_PORT_FLAG_MAP_BUFFERS, sizeof *port,
                           properties, NULL, 0);
    if (port)
        *port = (struct pipewire_filter_port){
            .direction = direction,
            .latency = SPA_LATENCY_INFO(SPA_DIRECTION_REVERSE(direction)),
        };
    return port;
}

static bool add_ports(struct pipewire_own_node *node, const struct pipewire_request *request)
{
    const struct device_stream *stream = node->cycle.stream;
    for (size_t c = 0; c < stream->in.opened; c++)
        if (!(node->in[c] = add_port(node, SPA_DIRECTION_INPUT, request->channel(true, c))))
            return false;
    for (size_t c = 0; c < stream->out.opened; c++)
        if (!(node->out[c] = add_port(node, SPA_DIRECTION_OUTPUT, request->channel(false, c))))
            return false;
    return true;
}

static enum status open_filter(struct pw_core *core, const struct pipewire_request *request,
                               struct pipewire_own_node *node)
{
    uint8_t buffer[256];
    const struct spa_pod *param = cycle_own_latency(&node->cycle, buffer, sizeof buffer);
    node->filter = pw_filter_new(core, "halo", node_properties(request));
    if (!node->filter)
        return fail_memory("a node of PipeWire");
    pw_filter_add_listener(node->filter, &node->hook, &filter_events, node);
    if (!add_ports(node, request))
        return fail_memory("the ports of a node of PipeWire");
    int error = pw_filter_connect(
        node->filter, PW_FILTER_FLAG_RT_PROCESS | PW_FILTER_FLAG_CUSTOM_LATENCY, &param, 1);
    return error < 0 ? fail_errno(-error, "PipeWire refused a node") : STATUS_OK;
}

/* ---- a virtual sink ---- */

enum { ENDS_MS = 3000 };

/* Keeps letters of all scripts: as hyphens, two names in the same script could be equal. */
void pipewire_sink_name(const char *description, char name[static PIPEWIRE_NAME])
{
    static const char start[] = "halo.";
    char *to = name + sizeof start - 1;
    snprintf(name, PIPEWIRE_NAME, "%s", start);
    for (size_t length; *description; description += length) {
        bool is_plain = isalnum((unsigned char)*description) || *description == '.';
        size_t whole = printable_utf8(description);
        length = whole ? whole : 1;
        if (length >= PIPEWIRE_NAME - (size_t)(to - name))
            break;
        memcpy(to, is_plain || length > 1 ? description : "-", length);
        to += length;
    }
    *to = '\0';
}

struct wanted_name {
    const struct pipewire_registry *graph;
    char name[PIPEWIRE_NAME];
};

static bool is_free(void *context)
{
    const struct wanted_name *wanted = context;
    return !pipewire_registry_named(wanted->graph, wanted->name);
}

/* Waits for the end of a sink of that name, for example while a service restarts. */
static enum status check_name(struct pipewire_registry *graph, const char *description)
{
    struct wanted_name wanted = {.graph = graph};
    pipewire_sink_name(description, wanted.name);
    if (pipewire_registry_wait(graph, is_free, &wanted, ENDS_MS))
        return STATUS_OK;
    return fail(CAUSE_DEVICE,
                "there is a sink '%s' already, of another halo: end that one (if it is the "
                "service: halo service status), or give this one another name",
                description);
}

/* Takes the newest buffer, if PipeWire has filled several. */
HALO_REALTIME static struct pw_buffer *take_newest(struct pw_stream *stream)
{
    struct pw_buffer *newest = pw_stream_dequeue_buffer(stream), *next;
    while (newest && (next = pw_stream_dequeue_buffer(stream))) {
        pw_stream_queue_buffer(stream, newest);
        newest = next;
    }
    return newest;
}

/* Sets in[c] to channel c of the buffer, or NULL. Returns `frames`, or less if there is less. */
HALO_REALTIME static uint32_t find_input(const struct pw_buffer *buffer, size_t channels,
                                         uint32_t frames, const float **in)
{
    memset(in, 0, channels * sizeof *in);
    for (size_t c = 0; c < channels && buffer && c < buffer->buffer->n_datas; c++) {
        const struct spa_data *data = &buffer->buffer->datas[c];
        uint32_t offset = SPA_MIN(data->chunk->offset, data->maxsize);
        uint32_t size = SPA_MIN(data->chunk->size, data->maxsize - offset);
        frames = SPA_MIN(frames, size / (uint32_t)sizeof(float));
        in[c] = data->data ? SPA_PTROFF(data->data, offset, const float) : NULL;
    }
    return frames;
}

HALO_REALTIME static void find_output(const struct pw_buffer *buffer, size_t channels,
                                      uint32_t frames, float **out)
{
    uint32_t size = frames * (uint32_t)sizeof(float);
    memset(out, 0, channels * sizeof *out);
    for (size_t c = 0; buffer && c < buffer->buffer->n_datas; c++) {
        struct spa_data *data = &buffer->buffer->datas[c];
        bool has_room = c < channels && data->data && data->maxsize >= size;
        if (c < channels)
            out[c] = has_room ? data->data : NULL;
        *data->chunk = (struct spa_chunk){.size = has_room ? size : 0, .stride = sizeof(float)};
    }
}

/* Called for `capture`; triggers `playback`, so that PipeWire wakes this process only once. */
HALO_REALTIME static void process_sink(void *context)
{
    struct pipewire_own_node *node = context;
    const struct device_stream *stream = node->cycle.stream;
    const struct spa_io_position *position = atomic_load(&node->position);
    struct pw_buffer *played = take_newest(node->capture);
    struct pw_buffer *filtered = pw_stream_dequeue_buffer(node->playback);
    const float *in[DEVICE_CHANNELS_MOST];
    float *out[DEVICE_CHANNELS_MOST];
    if (position) {
        uint32_t frames =
            find_input(played, stream->in.opened, (uint32_t)position->clock.duration, in);
        find_output(filtered, stream->out.opened, frames, out);
        cycle_run(&node->cycle, &position->clock, in, out, frames);
    }
    if (played)
        pw_stream_queue_buffer(node->capture, played);
    if (filtered)
        pw_stream_queue_buffer(node->playback, filtered);
    pw_stream_trigger_process(node->playback);
}

static void io_changed(void *context, uint32_t id, void *area, uint32_t size)
{
    struct pipewire_own_node *node = context;
    if (id == SPA_IO_Position)
        atomic_store(&node->position, size >= sizeof(struct spa_io_position) ? area : NULL);
}

static void state_changed(void *context, enum pw_stream_state old, enum pw_stream_state state,
                          const char *error)
{
    struct pipewire_own_node *node = context;
    (void)old, (void)error;
    if (state == PW_STREAM_STATE_ERROR)
        node->cycle.failed = true;
}

/* A latency that arrives at one stream is passed on to the other. */
static void pass_latency(struct pipewire_own_node *node, struct spa_latency_info info)
{
    bool to_output = info.direction == SPA_DIRECTION_INPUT;
    uint8_t buffer[1024];
    struct spa_pod_builder builder = SPA_POD_BUILDER_INIT(buffer, sizeof buffer);
    cycle_pass_latency(&node->cycle, &info);
    const struct spa_pod *param = spa_latency_build(&builder, SPA_PARAM_Latency, &info);
    pw_stream_update_params(to_output ? node->capture : node->playback, &param, 1);
}

static void param_changed(void *context, uint32_t id, const struct spa_pod *param)
{
    struct spa_latency_info info;
    if (id == SPA_PARAM_Latency && param && spa_latency_parse(param, &info) >= 0)
        pass_latency(context, info);
}

static const struct pw_stream_events capture_events = {
    PW_VERSION_STREAM_EVENTS,       .state_changed = state_changed, .io_changed = io_changed,
    .param_changed = param_changed, .process = process_sink,
};

static const struct pw_stream_events playback_events = {
    PW_VERSION_STREAM_EVENTS,
    .state_changed = state_changed,
    .param_changed = param_changed,
};

static void update_sink_latency(struct pipewire_own_node *node)
{
    uint8_t buffer[256];
    const struct spa_pod *param = cycle_own_latency(&node->cycle, buffer, sizeof buffer);
    pw_stream_update_params(node->capture, &param, 1);
    pw_stream_update_params(node->playback, &param, 1);
    for (size_t i = 0; i < 2; i++)
        pass_latency(node, node->cycle.latency[i]);
}

/* Sets the positions of the channels, as in "FL,FR". They match the names of the ports. */
static void set_positions(const struct pipewire_request *request, bool is_input,
                          struct pw_properties *properties)
{
    char text[16 * DEVICE_CHANNELS_MOST] = "";
    size_t channels = is_input ? request->stream->in.opened : request->stream->out.opened;
    for (size_t c = 0, length = 0; c < channels && length < sizeof text; c++)
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%s", c > 0 ? "," : "",
                                   request->channel(is_input, c));
    pw_properties_set(properties, SPA_KEY_AUDIO_POSITION, text);
}

/* Puts both nodes in one group, so that one driver runs them in the same cycle. They are in one
 * link group, so that the sink is never linked to itself. */
static struct pw_properties *add_group(const char *description,
                                       const struct pipewire_request *request, bool is_input,
                                       struct pw_properties *properties)
{
    char name[PIPEWIRE_NAME];
    if (!properties)
        return NULL;
    set_positions(request, is_input, properties);
    pipewire_sink_name(description, name);
    pw_properties_set(properties, PW_KEY_NODE_GROUP, name);
    pw_properties_set(properties, PW_KEY_NODE_LINK_GROUP, name);
    pw_properties_set(properties, PW_KEY_APP_NAME, "halo");
    cycle_request(request, properties);
    return properties;
}

static struct pw_properties *capture_properties(const char *description,
                                                const struct pipewire_request *request)
{
    char name[PIPEWIRE_NAME];
    pipewire_sink_name(description, name);
    return add_group(description, request, true,
                     pw_properties_new(PW_KEY_NODE_NAME, name, PW_KEY_NODE_DESCRIPTION, description,
                                       PW_KEY_MEDIA_CLASS, "Audio/Sink", PW_KEY_NODE_VIRTUAL,
                                       "true", NULL));
}

/* halo makes the links. Desktops list this node as a program. No old volume may be restored. */
static struct pw_properties *playback_properties(const char *description,
                                                 const struct pipewire_request *request)
{
    return add_group(description, request, false,
                     pw_properties_new(PW_KEY_NODE_NAME, "halo", PW_KEY_NODE_DESCRIPTION, "halo",
                                       PW_KEY_MEDIA_TYPE, "Audio", PW_KEY_MEDIA_ROLE, "DSP",
                                       PW_KEY_MEDIA_CLASS, "Stream/Output/Audio/Internal",
                                       PW_KEY_NODE_AUTOCONNECT, "false", "state.restore-props",
                                       "false", "state.restore-target", "false", NULL));
}

static enum status open_stream(struct pw_stream *stream, enum spa_direction direction,
                               enum pw_stream_flags flags, struct spa_audio_info_raw *format)
{
    uint8_t buffer[1024];
    struct spa_pod_builder builder = SPA_POD_BUILDER_INIT(buffer, sizeof buffer);
    const struct spa_pod *param =
        spa_format_audio_raw_build(&builder, SPA_PARAM_EnumFormat, format);
    int error = pw_stream_connect(stream, direction, PW_ID_ANY,
                                  flags | PW_STREAM_FLAG_MAP_BUFFERS | PW_STREAM_FLAG_RT_PROCESS,
                                  &param, 1);
    return error < 0 ? fail_errno(-error, "PipeWire refused a sink") : STATUS_OK;
}

/* Number of a channel name: SPA_AUDIO_CHANNEL_FL and so on; for others, AUX number `channel`. */
static uint32_t channel_number(const char *name, size_t channel)
{
    for (const struct spa_type_info *type = spa_type_audio_channel; type->name; type++)
        if (strcmp(spa_debug_type_short_name(type->name), name) == 0)
            return type->type;
    return SPA_AUDIO_CHANNEL_AUX0 + (uint32_t)channel;
}

static enum status open_side(const struct pipewire_request *request, struct pw_stream *stream,
                             bool is_input)
{
    size_t channels = is_input ? request->stream->in.opened : request->stream->out.opened;
    struct spa_audio_info_raw format = {.format = SPA_AUDIO_FORMAT_F32P,
                                        .channels = (uint32_t)channels};
    for (size_t c = 0; c < channels; c++)
        format.position[c] = channel_number(request->channel(is_input, c), c);
    return open_stream(stream, is_input ? PW_DIRECTION_INPUT : PW_DIRECTION_OUTPUT,
                       is_input ? PW_STREAM_FLAG_NONE : PW_STREAM_FLAG_TRIGGER, &format);
}

static enum status open_sink(struct pw_core *core, const struct pipewire_request *request,
                             struct pipewire_own_node *node)
{
    node->capture =
        pw_stream_new(core, "halo sink", capture_properties(node->sink_description, request));
    node->playback =
        pw_stream_new(core, "halo", playback_properties(node->sink_description, request));
    if (!node->capture || !node->playback)
        return fail_memory("a sink of PipeWire");
    pw_stream_add_listener(node->capture, &node->capture_hook, &capture_events, node);
    pw_stream_add_listener(node->playback, &node->playback_hook, &playback_events, node);
    TRY(open_side(request, node->playback, false));
    return open_side(request, node->capture, true);
}

/* ---- filter or virtual sink ---- */

enum status pipewire_own_node_open(struct pipewire_registry *graph, const char *sink,
                                   const struct pipewire_request *request,
                                   struct pipewire_own_node *node)
{
    TRY(cycle_init(request->stream, &node->cycle));
    node->sink_description = sink;
    if (!sink)
        return open_filter(graph->core, request, node);
    TRY(check_name(graph, sink));
    return open_sink(graph->core, request, node);
}

/* Ends `capture` before `playback`, since it triggers `playback`. */
void pipewire_own_node_close(struct pipewire_own_node *node)
{
    if (node->filter)
        pw_filter_destroy(node->filter);
    if (node->capture)
        pw_stream_destroy(node->capture);
    if (node->playback)
        pw_stream_destroy(node->playback);
    free(node->cycle.scratch);
    *node = (struct pipewire_own_node){0};
}

uint32_t pipewire_own_node_id(const struct pipewire_own_node *node, bool is_input)
{
    struct pw_stream *stream = is_input ? node->capture : node->playback;
    if (node->filter)
        return pw_filter_get_node_id(node->filter);
    return stream ? pw_stream_get_node_id(stream) : SPA_ID_INVALID;
}

void pipewire_own_node_set_latency(struct pipewire_own_node *node, uint64_t frames)
{
    if (node->cycle.own_latency == frames || frames > INT32_MAX)
        return;
    node->cycle.own_latency = (uint32_t)frames;
    if (node->sink_description)
        update_sink_latency(node);
    else
        update_filter_latency(node);
}
