#include "live/driver_pipewire_sink.h"

#include "base/printable.h"
#include "base/realtime.h"
#include "live/driver_pipewire_channels.h"

#include <ctype.h>
#include <spa/param/audio/format-utils.h>
#include <stdio.h>
#include <string.h>

enum { ENDS_MS = 3000 };

/* Letters of all scripts stay, whole: two names in the same script would be one of hyphens. */
void pipewire_sink_name(const char *description, char *name, size_t size)
{
    static const char start[] = "halo.";
    char *to = name + sizeof start - 1;
    snprintf(name, size, "%s", start);
    for (size_t length; *description; description += length) {
        bool is_plain = isalnum((unsigned char)*description) || *description == '.';
        size_t whole = printable_utf8(description);
        length = whole ? whole : 1;
        if (length >= size - (size_t)(to - name))
            break;
        memcpy(to, is_plain || length > 1 ? description : "-", length);
        to += length;
    }
    *to = '\0';
}

struct wanted_name {
    const struct pipewire_registry *graph;
    char name[PIPEWIRE_SINK_NAME];
};

static bool is_free(void *context)
{
    const struct wanted_name *wanted = context;
    return !pipewire_registry_named(wanted->graph, wanted->name);
}

enum status pipewire_sink_check(struct pipewire_registry *graph, const char *description)
{
    struct wanted_name wanted = {.graph = graph};
    pipewire_sink_name(description, wanted.name, sizeof wanted.name);
    if (pipewire_registry_wait(graph, is_free, &wanted, ENDS_MS))
        return STATUS_OK;
    return fail(CAUSE_DEVICE,
                "there is a sink '%s' already, of another halo: end that one (if it is the "
                "service: halo service status), or give this one another name",
                description);
}

/* ---- real-time ---- */

/* The newest, should PipeWire have filled several. */
HALO_REALTIME static struct pw_buffer *take_newest(struct pw_stream *stream)
{
    struct pw_buffer *newest = pw_stream_dequeue_buffer(stream), *next;
    while (newest && (next = pw_stream_dequeue_buffer(stream))) {
        pw_stream_queue_buffer(stream, newest);
        newest = next;
    }
    return newest;
}

/* The frames of the cycle, of which a buffer may have fewer; NULL in `in` without a buffer. */
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

/* Both nodes in one go: the playing one is triggered, and PipeWire wakes this process once. */
HALO_REALTIME static void process_sink(void *context)
{
    struct pipewire_sink *sink = context;
    const struct device_stream *stream = sink->cycle->stream;
    const struct spa_io_position *position = atomic_load(&sink->position);
    struct pw_buffer *played = take_newest(sink->capture);
    struct pw_buffer *filtered = pw_stream_dequeue_buffer(sink->playback);
    const float *in[DEVICE_CHANNELS_MOST];
    float *out[DEVICE_CHANNELS_MOST];
    if (position) {
        uint32_t frames =
            find_input(played, stream->in.opened, (uint32_t)position->clock.duration, in);
        find_output(filtered, stream->out.opened, frames, out);
        pipewire_cycle_run(sink->cycle, &position->clock, in, out, frames);
    }
    if (played)
        pw_stream_queue_buffer(sink->capture, played);
    if (filtered)
        pw_stream_queue_buffer(sink->playback, filtered);
    pw_stream_trigger_process(sink->playback);
}

/* ---- events ---- */

static void io_changed(void *context, uint32_t id, void *area, uint32_t size)
{
    struct pipewire_sink *sink = context;
    if (id == SPA_IO_Position)
        atomic_store(&sink->position, size >= sizeof(struct spa_io_position) ? area : NULL);
}

static void state_changed(void *context, enum pw_stream_state old, enum pw_stream_state state,
                          const char *error)
{
    struct pipewire_sink *sink = context;
    (void)old, (void)error;
    if (state == PW_STREAM_STATE_ERROR)
        sink->cycle->failed = true;
}

/* What arrives at one stream leaves at the other. */
static void pass_latency(struct pipewire_sink *sink, struct spa_latency_info info)
{
    bool to_output = info.direction == SPA_DIRECTION_INPUT;
    uint8_t buffer[1024];
    struct spa_pod_builder builder = SPA_POD_BUILDER_INIT(buffer, sizeof buffer);
    pipewire_cycle_pass_latency(sink->cycle, &info);
    const struct spa_pod *param = spa_latency_build(&builder, SPA_PARAM_Latency, &info);
    pw_stream_update_params(to_output ? sink->capture : sink->playback, &param, 1);
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

void pipewire_sink_update_latency(struct pipewire_sink *sink)
{
    uint8_t buffer[256];
    const struct spa_pod *param = pipewire_cycle_own_latency(sink->cycle, buffer, sizeof buffer);
    pw_stream_update_params(sink->capture, &param, 1);
    pw_stream_update_params(sink->playback, &param, 1);
    for (size_t i = 0; i < 2; i++)
        pass_latency(sink, sink->cycle->latency[i]);
}

/* ---- the nodes ---- */

/* "FL,FR", as its ports say it as well. */
static void set_positions(const struct pipewire_request *request, bool is_input,
                          struct pw_properties *properties)
{
    char text[16 * DEVICE_CHANNELS_MOST] = "";
    size_t channels = is_input ? request->stream->in.opened : request->stream->out.opened;
    for (size_t c = 0, length = 0; c < channels && length < sizeof text; c++)
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%s", c > 0 ? "," : "",
                                   request->channel(request->context, is_input, c));
    pw_properties_set(properties, SPA_KEY_AUDIO_POSITION, text);
}

/* One group has one driver, so that both belong to the same cycle; one link group is never linked
 * with itself. */
static struct pw_properties *add_group(const char *description,
                                       const struct pipewire_request *request, bool is_input,
                                       struct pw_properties *properties)
{
    char name[PIPEWIRE_SINK_NAME];
    if (!properties)
        return NULL;
    set_positions(request, is_input, properties);
    pipewire_sink_name(description, name, sizeof name);
    pw_properties_set(properties, PW_KEY_NODE_GROUP, name);
    pw_properties_set(properties, PW_KEY_NODE_LINK_GROUP, name);
    pw_properties_set(properties, PW_KEY_APP_NAME, "halo");
    pipewire_cycle_request(request, properties);
    return properties;
}

static struct pw_properties *capture_properties(const char *description,
                                                const struct pipewire_request *request)
{
    char name[PIPEWIRE_SINK_NAME];
    pipewire_sink_name(description, name, sizeof name);
    return add_group(description, request, true,
                     pw_properties_new(PW_KEY_NODE_NAME, name, PW_KEY_NODE_DESCRIPTION, description,
                                       PW_KEY_MEDIA_CLASS, "Audio/Sink", PW_KEY_NODE_VIRTUAL,
                                       "true", NULL));
}

/* Halo links it. Desktops list it with the programs that play, where its volume must not be one
 * that was kept from another time. */
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

static enum status open_side(const struct pipewire_request *request, struct pw_stream *stream,
                             bool is_input)
{
    size_t channels = is_input ? request->stream->in.opened : request->stream->out.opened;
    struct spa_audio_info_raw format = {.format = SPA_AUDIO_FORMAT_F32P,
                                        .channels = (uint32_t)channels};
    for (size_t c = 0; c < channels; c++)
        format.position[c] =
            pipewire_channel_number(request->channel(request->context, is_input, c), c);
    return open_stream(stream, is_input ? PW_DIRECTION_INPUT : PW_DIRECTION_OUTPUT,
                       is_input ? PW_STREAM_FLAG_NONE : PW_STREAM_FLAG_TRIGGER, &format);
}

enum status pipewire_sink_open(struct pw_core *core, const char *description,
                               const struct pipewire_request *request, struct pipewire_cycle *cycle,
                               struct pipewire_sink *sink)
{
    sink->cycle = cycle;
    sink->capture = pw_stream_new(core, "halo sink", capture_properties(description, request));
    sink->playback = pw_stream_new(core, "halo", playback_properties(description, request));
    if (!sink->capture || !sink->playback)
        return fail_memory("a sink of PipeWire");
    pw_stream_add_listener(sink->capture, &sink->capture_hook, &capture_events, sink);
    pw_stream_add_listener(sink->playback, &sink->playback_hook, &playback_events, sink);
    TRY(open_side(request, sink->playback, false));
    return open_side(request, sink->capture, true);
}

/* First what triggers the other. */
void pipewire_sink_close(struct pipewire_sink *sink)
{
    if (sink->capture)
        pw_stream_destroy(sink->capture);
    if (sink->playback)
        pw_stream_destroy(sink->playback);
    *sink = (struct pipewire_sink){0};
}

static uint32_t id_of(struct pw_stream *stream)
{
    return stream ? pw_stream_get_node_id(stream) : SPA_ID_INVALID;
}

uint32_t pipewire_sink_id(const struct pipewire_sink *sink)
{
    return id_of(sink->capture);
}

uint32_t pipewire_sink_playing_id(const struct pipewire_sink *sink)
{
    return id_of(sink->playback);
}
