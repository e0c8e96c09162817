#include "plugin/lv2/plugin_lv2.h"

#include "base/realtime.h"
#include "base/short_list.h"
#include "base/text_lines.h"

#include <errno.h>
#include <limits.h>
#include <lv2/atom/atom.h>
#include <lv2/atom/util.h>
#include <lv2/core/attributes.h>
#include <lv2/core/lv2.h>
#include <lv2/event/event.h>
#include <lv2/patch/patch.h>
#include <lv2/resize-port/resize-port.h>
#include <lv2/time/time.h>
#include <lv2/uri-map/uri-map.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- the event extension, which atoms have replaced ---- */

/* halo sends events as atoms only, so buffers of the old event extension are empty at each run.
 * Events that a plugin writes are dropped, as with ports for atoms. */

LV2_DISABLE_DEPRECATION_WARNINGS

/* The types of events have 16 bits. */
static uint32_t map(LV2_URI_Map_Callback_Data data, const char *kind, const char *uri)
{
    (void)data;
    LV2_URID number = uri ? lv2_urid(uri) : 0;
    return kind && strcmp(kind, LV2_EVENT_URI) == 0 && number > UINT16_MAX ? 0 : number;
}

/* Counts references to an event that is an object in memory. There are no such events. */
static uint32_t count(LV2_Event_Callback_Data data, LV2_Event *event)
{
    (void)data, (void)event;
    return 0;
}

void *lv2_old_map(void)
{
    static LV2_URI_Map_Feature feature = {.uri_to_id = map};
    return &feature;
}

void *lv2_old_events(void)
{
    static LV2_Event_Feature feature = {.lv2_event_ref = count, .lv2_event_unref = count};
    return &feature;
}

/* Empty a buffer. Its header is written, too, since a plugin may have changed it. */
HALO_REALTIME static void lv2_old_buffer_clear(void *made)
{
    LV2_Event_Buffer *buffer = made;
    buffer->header_size = sizeof *buffer;
    buffer->stamp_type = LV2_EVENT_AUDIO_STAMP;
    buffer->event_count = 0;
    buffer->size = 0;
}

/* A buffer for a port, with `bytes` bytes for events, which the caller frees. NULL: memory. */
static void *lv2_old_buffer_create(uint32_t bytes)
{
    LV2_Event_Buffer *buffer = calloc(1, sizeof *buffer + bytes);
    if (!buffer)
        return NULL;
    buffer->data = (uint8_t *)(buffer + 1);
    buffer->capacity = bytes;
    lv2_old_buffer_clear(buffer);
    return buffer;
}

LV2_RESTORE_WARNINGS

/* ---- the position ---- */

/* The position in the sound, as time:Position events, and as values of designated controls.
 *
 * Each run begins with an event, so that plugins need not count frames and cannot drift. Before the
 * sound's first frame the transport stands still. If that frame is within a run, a second event at
 * the frame starts the transport. https://lv2plug.in/ns/ext/time */

struct lv2_clock {
    struct plugin_tempo tempo;
    double rate; /* Hz */
    LV2_Atom_Forge forge;
    LV2_URID position, frame, speed, bar, bar_beat, beat, beats_per_bar, beat_unit,
        beats_per_minute;
};

enum { POSITION_BYTES = 512 }; /* most bytes of an event */

static void lv2_clock_init(struct lv2_clock *clock, const struct plugin_settings *settings)
{
    *clock = (struct lv2_clock){
        .tempo = settings->tempo,
        .rate = settings->rate,
        .position = lv2_urid(LV2_TIME__Position),
        .frame = lv2_urid(LV2_TIME__frame),
        .speed = lv2_urid(LV2_TIME__speed),
        .bar = lv2_urid(LV2_TIME__bar),
        .bar_beat = lv2_urid(LV2_TIME__barBeat),
        .beat = lv2_urid(LV2_TIME__beat),
        .beats_per_bar = lv2_urid(LV2_TIME__beatsPerBar),
        .beat_unit = lv2_urid(LV2_TIME__beatUnit),
        .beats_per_minute = lv2_urid(LV2_TIME__beatsPerMinute),
    };
    lv2_atom_forge_init(&clock->forge, lv2_urid_map());
}

HALO_REALTIME static double beats_at(const struct plugin_tempo *tempo, double rate, int64_t frame)
{
    return (double)frame / rate * tempo->bpm / 60;
}

HALO_REALTIME static void forge_position(struct lv2_clock *clock, int64_t frame, bool rolls)
{
    LV2_Atom_Forge *forge = &clock->forge;
    LV2_Atom_Forge_Frame object;
    double beats = beats_at(&clock->tempo, clock->rate, frame);
    double bar = floor(beats / clock->tempo.bar);
    lv2_atom_forge_object(forge, &object, 0, clock->position);
    lv2_atom_forge_key(forge, clock->frame);
    lv2_atom_forge_long(forge, frame);
    lv2_atom_forge_key(forge, clock->speed);
    lv2_atom_forge_float(forge, rolls ? 1.0F : 0.0F);
    lv2_atom_forge_key(forge, clock->bar);
    lv2_atom_forge_long(forge, (int64_t)bar);
    lv2_atom_forge_key(forge, clock->bar_beat);
    lv2_atom_forge_float(forge, (float)(beats - bar * clock->tempo.bar));
    lv2_atom_forge_key(forge, clock->beat);
    lv2_atom_forge_double(forge, beats);
    lv2_atom_forge_key(forge, clock->beats_per_bar);
    lv2_atom_forge_float(forge, (float)clock->tempo.bar);
    lv2_atom_forge_key(forge, clock->beat_unit);
    lv2_atom_forge_int(forge, (int32_t)clock->tempo.unit);
    lv2_atom_forge_key(forge, clock->beats_per_minute);
    lv2_atom_forge_float(forge, (float)clock->tempo.bpm);
    lv2_atom_forge_pop(forge, &object);
}

HALO_REALTIME static void append(struct lv2_clock *clock, LV2_Atom_Sequence *sequence,
                                 uint32_t bytes, int64_t at, int64_t frame, bool rolls)
{
    uint32_t used = (uint32_t)sizeof(LV2_Atom) + lv2_atom_pad_size(sequence->atom.size);
    if (bytes < used || bytes - used < POSITION_BYTES)
        return;
    lv2_atom_forge_set_buffer(&clock->forge, (uint8_t *)sequence + used, bytes - used);
    lv2_atom_forge_frame_time(&clock->forge, at);
    forge_position(clock, frame, rolls);
    sequence->atom.size = used - (uint32_t)sizeof(LV2_Atom) + clock->forge.offset;
}

/* Append the events of a run that begins at `position` to a sequence in a buffer of `bytes` bytes.
 * Without a tempo there are none. */
HALO_REALTIME static void lv2_clock_write(struct lv2_clock *clock, LV2_Atom_Sequence *sequence,
                                          uint32_t bytes, int64_t position, size_t frames)
{
    bool rolls = position >= 0;
    if (clock->tempo.bpm == 0)
        return;
    append(clock, sequence, bytes, 0, rolls ? position : 0, rolls);
    if (!rolls && position + (int64_t)frames > 0)
        append(clock, sequence, bytes, -position, 0, true);
}

/* ---- controls ---- */

HALO_REALTIME static int64_t rolled(int64_t position)
{
    return position < 0 ? 0 : position;
}

HALO_REALTIME static double bpm_of(const struct lv2_time_ports *ports, int64_t position)
{
    (void)position;
    return ports->tempo.bpm;
}

HALO_REALTIME static double bar_length_of(const struct lv2_time_ports *ports, int64_t position)
{
    (void)position;
    return ports->tempo.bar;
}

HALO_REALTIME static double unit_of(const struct lv2_time_ports *ports, int64_t position)
{
    (void)position;
    return ports->tempo.unit;
}

HALO_REALTIME static double rate_of(const struct lv2_time_ports *ports, int64_t position)
{
    (void)position;
    return ports->rate;
}

HALO_REALTIME static double speed_at(const struct lv2_time_ports *ports, int64_t position)
{
    (void)ports;
    return position >= 0;
}

HALO_REALTIME static double frame_at(const struct lv2_time_ports *ports, int64_t position)
{
    (void)ports;
    return (double)rolled(position);
}

HALO_REALTIME static double beat_at(const struct lv2_time_ports *ports, int64_t position)
{
    return beats_at(&ports->tempo, ports->rate, rolled(position));
}

HALO_REALTIME static double bar_at(const struct lv2_time_ports *ports, int64_t position)
{
    return floor(beat_at(ports, position) / ports->tempo.bar);
}

HALO_REALTIME static double bar_beat_at(const struct lv2_time_ports *ports, int64_t position)
{
    return beat_at(ports, position) - bar_at(ports, position) * ports->tempo.bar;
}

static const struct {
    const char *designation;
    double (*quantity)(const struct lv2_time_ports *ports, int64_t position);
} quantities[LV2_TIME_PORTS] = {
    {LV2_TIME__beatsPerMinute, bpm_of}, {LV2_TIME__beatsPerBar, bar_length_of},
    {LV2_TIME__beatUnit, unit_of},      {LV2_TIME__framesPerSecond, rate_of},
    {LV2_TIME__speed, speed_at},        {LV2_TIME__frame, frame_at},
    {LV2_TIME__beat, beat_at},          {LV2_TIME__bar, bar_at},
    {LV2_TIME__barBeat, bar_beat_at},
};

void lv2_time_ports_find(struct lv2_time_ports *ports, const LilvPlugin *plugin,
                         const struct plugin_info *info, const struct plugin_settings *settings,
                         const float *controls)
{
    *ports = (struct lv2_time_ports){.tempo = settings->tempo, .rate = settings->rate};
    for (size_t i = 0; i < LV2_TIME_PORTS && settings->tempo.bpm > 0; i++) {
        const LilvPort *port = lilv_plugin_get_port_by_designation(
            plugin, lv2_world_node(LV2_CORE__InputPort), lv2_world_node(quantities[i].designation));
        uint32_t index = port ? lilv_port_get_index(plugin, port) : 0;
        if (port && plugin_port_is_control(&info->ports[index]))
            ports->ports[ports->count++] = (struct lv2_time_port){
                .quantity = quantities[i].quantity,
                .range = plugin_port_range(&info->ports[index], settings->rate),
                .port = index,
                .written = controls[index]};
    }
}

HALO_REALTIME void lv2_time_ports_set(struct lv2_time_ports *ports, float *controls,
                                      int64_t position)
{
    for (size_t i = 0; i < ports->count; i++) {
        struct lv2_time_port *port = &ports->ports[i];
        float value = (float)port->quantity(ports, position);
        if (controls[port->port] != port->written)
            continue;
        port->written = fmaxf(port->range.minimum, fminf(port->range.maximum, value));
        controls[port->port] = port->written;
    }
}

/* ---- events: settings as messages: patch:Set ---- */

enum { FRAME_BYTES = 256 }; /* most bytes of a message without its value */

static enum status find_parameter(const struct plugin_info *info, const char *uri,
                                  const struct plugin_parameter **parameter)
{
    struct short_list list = {0};
    for (size_t i = 0; i < info->parameter_count; i++) {
        *parameter = &info->parameters[i];
        if (strcmp((*parameter)->uri, uri) == 0)
            return STATUS_OK;
        short_list_add(&list, (*parameter)->uri);
    }
    return fail(CAUSE_MISSING, "%s has no parameter %s; it has %s", info->id, uri,
                short_list_text(&list, ""));
}

static enum status refuse_value(const struct plugin_setting *setting, const char *why)
{
    return fail(CAUSE_OTHER, "cannot set %s to '%s': %s", setting->uri, setting->value, why);
}

static enum status forge_whole(LV2_Atom_Forge *forge, const struct plugin_setting *setting,
                               bool is_long)
{
    char *end;
    errno = 0;
    long long value = strtoll(setting->value, &end, 10);
    if (errno || end == setting->value || *end ||
        (!is_long && (value < INT32_MIN || value > INT32_MAX)))
        return refuse_value(setting, "it is a whole number");
    if (is_long)
        lv2_atom_forge_long(forge, value);
    else
        lv2_atom_forge_int(forge, (int32_t)value);
    return STATUS_OK;
}

static enum status forge_bool(LV2_Atom_Forge *forge, const struct plugin_setting *setting)
{
    static const char *const text[][2] = {
        {"false", "true"}, {"off", "on"}, {"no", "yes"}, {"0", "1"}};
    for (size_t i = 0; i < sizeof text / sizeof *text; i++)
        for (int is = 0; is < 2; is++)
            if (strcasecmp(setting->value, text[i][is]) == 0) {
                lv2_atom_forge_bool(forge, is);
                return STATUS_OK;
            }
    return refuse_value(setting, "it is on or off");
}

static enum status forge_value(LV2_Atom_Forge *forge, const struct plugin_setting *setting,
                               enum plugin_parameter_type type)
{
    uint32_t length = (uint32_t)strlen(setting->value);
    char path[PATH_MAX];
    double number;
    switch (type) {
    case PLUGIN_FLOAT:
    case PLUGIN_DOUBLE:
        if (!text_number(setting->value, type == PLUGIN_FLOAT, &number))
            return refuse_value(setting, "it is a number");
        if (type == PLUGIN_FLOAT)
            lv2_atom_forge_float(forge, (float)number);
        else
            lv2_atom_forge_double(forge, number);
        return STATUS_OK;
    case PLUGIN_INT:
    case PLUGIN_LONG:
        return forge_whole(forge, setting, type == PLUGIN_LONG);
    case PLUGIN_BOOL:
        return forge_bool(forge, setting);
    case PLUGIN_PATH:
        if (!realpath(setting->value, path))
            return fail_errno(errno, "cannot set %s to '%s'", setting->uri, setting->value);
        lv2_atom_forge_path(forge, path, (uint32_t)strlen(path));
        return STATUS_OK;
    case PLUGIN_STRING:
        lv2_atom_forge_string(forge, setting->value, length);
        return STATUS_OK;
    case PLUGIN_URI:
        lv2_atom_forge_uri(forge, setting->value, length);
        return STATUS_OK;
    }
    return refuse_value(setting, "of unknown type");
}

static enum status forge_set(LV2_Atom_Forge *forge, const struct plugin_info *info,
                             const struct plugin_setting *setting)
{
    const struct plugin_parameter *parameter = NULL;
    TRY(find_parameter(info, setting->uri, &parameter));
    LV2_Atom_Forge_Frame object;
    lv2_atom_forge_frame_time(forge, (int64_t)setting->at);
    lv2_atom_forge_object(forge, &object, 0, lv2_urid(LV2_PATCH__Set));
    lv2_atom_forge_key(forge, lv2_urid(LV2_PATCH__property));
    lv2_atom_forge_urid(forge, lv2_urid(parameter->uri));
    lv2_atom_forge_key(forge, lv2_urid(LV2_PATCH__value));
    enum status status = forge_value(forge, setting, parameter->type);
    lv2_atom_forge_pop(forge, &object);
    return status;
}

/* Write the messages for before the first block, or the later messages at their frames of the
 * sound. `sequence`: aligned to 8 bytes. Errors: no such parameter, a value that does not fit its
 * type, a path that does not exist. */
static enum status forge_messages(const struct plugin_info *info,
                                  const struct plugin_settings *settings, bool later,
                                  uint8_t *sequence, uint32_t bytes)
{
    LV2_Atom_Forge forge;
    LV2_Atom_Forge_Frame all;
    lv2_atom_forge_init(&forge, lv2_urid_map());
    lv2_atom_forge_set_buffer(&forge, sequence, bytes);
    lv2_atom_forge_sequence_head(&forge, &all, 0);
    for (size_t i = 0; i < settings->setting_count; i++)
        if ((settings->settings[i].at > 0) == later)
            TRY(forge_set(&forge, info, &settings->settings[i]));
    lv2_atom_forge_pop(&forge, &all);
    return STATUS_OK;
}

/* ---- ports ---- */

enum { BYTES_LEAST = 1 << 15, BYTES_MOST = 1 << 30 };

struct event_port {
    uint32_t index;
    bool is_input;
    bool hears_time;
    uint32_t bytes;
    LV2_Atom_Sequence *sequence; /* buffer of a port for atoms, or NULL */
    void *old;                   /* buffer of a port for the event extension, or NULL */
}; /* both NULL: a port of unknown type that the plugin does not need */

struct lv2_events {
    LV2_URID sequence_type, chunk_type;
    size_t count;
    struct event_port *ports;
    struct event_port *control;  /* port that receives the messages; NULL: none */
    LV2_Atom_Sequence *messages; /* as large as the buffer of `control`; NULL: none */
    bool sends;                  /* the next run sends `messages` */
    LV2_Atom_Sequence *later;    /* messages at frames of the sound; NULL: none */
    const LV2_Atom_Event *next;  /* next event of `later` */
    struct lv2_clock clock;
};

/* Bytes for the buffer of a port: as many as it asks for, and a common minimum. */
static uint32_t bytes_of(const LilvPlugin *plugin, const LilvPort *port, size_t messages)
{
    LilvNode *least = lilv_port_get(plugin, port, lv2_world_node(LV2_RESIZE_PORT__minimumSize));
    int stated = least && lilv_node_is_int(least) ? lilv_node_as_int(least) : 0;
    lilv_node_free(least);
    size_t bytes = BYTES_LEAST + messages;
    if (stated > 0 && (size_t)stated > bytes)
        bytes = (size_t)stated;
    return bytes < BYTES_MOST ? (uint32_t)bytes : BYTES_MOST;
}

static enum status add_port(struct lv2_events *events, const LilvPlugin *plugin,
                            const LilvPort *port, size_t messages)
{
    struct event_port *made = &events->ports[events->count];
    *made = (struct event_port){
        .index = lilv_port_get_index(plugin, port),
        .is_input = lilv_port_is_a(plugin, port, lv2_world_node(LV2_CORE__InputPort)),
        .bytes = bytes_of(plugin, port, messages)};
    bool has_atoms = lilv_port_is_a(plugin, port, lv2_world_node(LV2_ATOM__AtomPort));
    made->hears_time = has_atoms && made->is_input &&
                       lilv_port_supports_event(plugin, port, lv2_world_node(LV2_TIME__Position));
    bool is_old = !has_atoms && lilv_port_is_a(plugin, port, lv2_world_node(LV2_EVENT__EventPort));
    if (has_atoms)
        made->sequence = calloc(1, made->bytes);
    if (is_old)
        made->old = lv2_old_buffer_create(made->bytes);
    if ((has_atoms && !made->sequence) || (is_old && !made->old))
        return fail_memory("a plugin's events");
    events->count++;
    return STATUS_OK;
}

/* The port for messages: the port designated lv2:control, else the first that supports messages. */
static struct event_port *find_control(struct lv2_events *events, const LilvPlugin *plugin)
{
    const LilvPort *control = lilv_plugin_get_port_by_designation(
        plugin, lv2_world_node(LV2_CORE__InputPort), lv2_world_node(LV2_CORE__control));
    struct event_port *first = NULL;
    for (size_t i = events->count; i-- > 0;) {
        struct event_port *port = &events->ports[i];
        const LilvPort *described = lilv_plugin_get_port_by_index(plugin, port->index);
        if (!port->sequence || !port->is_input)
            continue;
        if (control && lilv_port_get_index(plugin, control) == port->index)
            return port;
        if (lilv_port_supports_event(plugin, described, lv2_world_node(LV2_PATCH__Message)))
            first = port;
    }
    return first;
}

static enum status write_messages(struct lv2_events *events, const struct plugin_info *info,
                                  const struct plugin_settings *settings)
{
    if (settings->setting_count == 0)
        return STATUS_OK;
    if (!events->control)
        return fail(CAUSE_UNSUPPORTED, "cannot set %s of %s: it takes no messages",
                    settings->settings[0].uri, info->id);
    uint32_t bytes = events->control->bytes;
    events->messages = calloc(1, bytes);
    events->later = calloc(1, bytes);
    if (!events->messages || !events->later)
        return fail_memory("a plugin's events");
    TRY(forge_messages(info, settings, false, (uint8_t *)events->messages, bytes));
    TRY(forge_messages(info, settings, true, (uint8_t *)events->later, bytes));
    lv2_events_repeat(events, false);
    return STATUS_OK;
}

static enum status fill(struct lv2_events *events, const LilvPlugin *plugin,
                        const struct plugin_info *info, const struct plugin_settings *settings)
{
    events->sequence_type = lv2_urid(LV2_ATOM__Sequence);
    events->chunk_type = lv2_urid(LV2_ATOM__Chunk);
    lv2_clock_init(&events->clock, settings);
    events->ports = calloc(info->port_count + 1, sizeof *events->ports);
    if (!events->ports)
        return fail_memory("a plugin's events");
    size_t messages = 0; /* bytes that suffice for the messages of all settings */
    for (size_t i = 0; i < settings->setting_count; i++)
        messages += FRAME_BYTES + strlen(settings->settings[i].value) + PATH_MAX;
    for (uint32_t i = 0; i < info->port_count; i++) {
        if (info->ports[i].type != PLUGIN_ATOM)
            continue;
        const LilvPort *port = lilv_plugin_get_port_by_index(plugin, i);
        if (!port) /* the file that describes the port cannot be read any more */
            return fail(CAUSE_OTHER, "cannot read the description of %s; start halo again",
                        info->id);
        TRY(add_port(events, plugin, port, messages));
    }
    events->control = find_control(events, plugin);
    return write_messages(events, info, settings);
}

enum status lv2_events_create(const LilvPlugin *plugin, const struct plugin_info *info,
                              const struct plugin_settings *settings, struct lv2_events **result)
{
    struct lv2_events *events = calloc(1, sizeof *events);
    if (!events)
        return fail_memory("a plugin's events");
    if (fill(events, plugin, info, settings) != STATUS_OK) {
        lv2_events_destroy(events);
        return STATUS_FAILED;
    }
    *result = events;
    return STATUS_OK;
}

void lv2_events_destroy(struct lv2_events *events)
{
    if (!events)
        return;
    for (size_t i = 0; i < events->count; i++) {
        free(events->ports[i].sequence);
        free(events->ports[i].old);
    }
    free(events->ports);
    free(events->messages);
    free(events->later);
    free(events);
}

uint32_t lv2_events_most(const struct lv2_events *events)
{
    uint32_t most = BYTES_LEAST;
    for (size_t i = 0; i < events->count; i++)
        if (events->ports[i].bytes > most)
            most = events->ports[i].bytes;
    return most;
}

void lv2_events_connect(struct lv2_events *events, LilvInstance *instance)
{
    for (size_t i = 0; i < events->count; i++) {
        const struct event_port *port = &events->ports[i];
        lilv_instance_connect_port(instance, port->index,
                                   port->sequence ? (void *)port->sequence : port->old);
    }
}

void lv2_events_repeat(struct lv2_events *events, bool restored)
{
    bool has_later = events->later && events->later->atom.size > sizeof(LV2_Atom_Sequence_Body);
    events->sends = events->messages && (has_later || !restored);
    events->next = has_later ? lv2_atom_sequence_begin(&events->later->body) : NULL;
}

HALO_REALTIME static void send_later(struct lv2_events *events, int64_t position, size_t frames)
{
    LV2_Atom_Sequence *to = events->control->sequence;
    const LV2_Atom_Sequence *later = events->later;
    while (!lv2_atom_sequence_is_end(&later->body, later->atom.size, events->next) &&
           events->next->time.frames < position + (int64_t)frames) {
        LV2_Atom_Event event = *events->next;
        uint32_t bytes = (uint32_t)sizeof event + event.body.size, used = to->atom.size;
        event.time.frames = event.time.frames > position ? event.time.frames - position : 0;
        if (bytes > events->control->bytes - sizeof(LV2_Atom) - used)
            return; /* the next run sends the rest */
        uint8_t *at = (uint8_t *)to + sizeof(LV2_Atom) + used;
        memcpy(at, events->next, bytes);
        memcpy(at, &event, sizeof event);
        to->atom.size = used + lv2_atom_pad_size(bytes);
        events->next = lv2_atom_sequence_next(events->next);
    }
}

HALO_REALTIME void lv2_events_prepare(struct lv2_events *events, int64_t position, size_t frames)
{
    for (size_t i = 0; i < events->count; i++) {
        const struct event_port *port = &events->ports[i];
        LV2_Atom_Sequence *sequence = port->sequence;
        if (port->old)
            lv2_old_buffer_clear(port->old);
        if (!sequence)
            continue;
        sequence->atom.type = port->is_input ? events->sequence_type : events->chunk_type;
        sequence->atom.size = port->is_input ? (uint32_t)sizeof(LV2_Atom_Sequence_Body)
                                             : port->bytes - (uint32_t)sizeof(LV2_Atom);
        sequence->body = (LV2_Atom_Sequence_Body){0};
    }
    if (events->sends)
        memcpy(events->control->sequence, events->messages,
               sizeof(LV2_Atom) + events->messages->atom.size);
    events->sends = false;
    for (size_t i = 0; i < events->count; i++)
        if (events->ports[i].hears_time)
            lv2_clock_write(&events->clock, events->ports[i].sequence, events->ports[i].bytes,
                            position, frames);
    if (events->next)
        send_later(events, position, frames);
}
