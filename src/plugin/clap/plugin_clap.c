#include "plugin/clap/plugin_clap.h"

#include "base/realtime.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- events: to the plugin ---- */

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

/* Add a value at frame 0 of the block. If there is no room, the next block sends the value. */
HALO_REALTIME static void add_event(struct clap_events *events, struct clap_parameter *parameter,
                                    float value)
{
    if (events->count == events->size)
        return;
    double exact = (double)value; /* rounding to float may exceed the bounds */
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

/* Add events at frame 0 for values that were set and not sent yet. */
HALO_REALTIME static void clap_events_collect(struct clap_instance *instance)
{
    for (size_t i = 0; i < instance->parameter_count; i++) {
        struct clap_parameter *parameter = &instance->parameters[i];
        float value = instance->plugin.controls[parameter->port];
        bool is_input = instance->plugin.info->ports[parameter->port].is_input;
        if (is_input && value != parameter->sent)
            add_event(&instance->events, parameter, value);
    }
}

/* Call after a block. Events that the plugin did not get are sent with the next block. */
HALO_REALTIME static void clap_events_next(struct clap_instance *instance, bool delivered)
{
    if (delivered)
        instance->events.count = 0;
}

/* The transport for a block. CLAP counts quarter notes, halo counts beats of the tempo's unit. */
HALO_REALTIME static const struct clap_event_transport *
clap_transport_at(struct clap_instance *instance)
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

/* Read the values that the plugin has. If `adopted`, the controls get these values. */
static void clap_values_read(struct clap_instance *instance, bool adopted)
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

/* Send changed values without a block, on the main thread while the plugin is not active. */
static void clap_values_flush(struct clap_instance *instance)
{
    clap_events_collect(instance);
    if (!instance->params || instance->events.count == 0)
        return;
    enum clap_role before = clap_enter(CLAP_MAIN_THREAD);
    instance->params->flush(instance->handle, &instance->events.in, &instance->events.out);
    clap_enter(before);
    clap_events_next(instance, true);
}

static enum status clap_events_init(struct clap_events *events, struct clap_instance *instance)
{
    events->size = instance->parameter_count;
    events->values = calloc(events->size + 1, sizeof *events->values);
    events->in = (struct clap_input_events){.ctx = events, .size = event_count, .get = event_at};
    events->out = (struct clap_output_events){.ctx = instance, .try_push = take_event};
    return events->values ? STATUS_OK : fail_memory("a plugin");
}

/* ---- state: a file with a line (id of the plugin, bytes), then the plugin's bytes ---- */

enum { HEAD_MOST = PLUGIN_TEXT_MOST + 64 };

static const char STATE_FILE[] = "state.clap";

static int64_t write_bytes(const struct clap_ostream *stream, const void *from, uint64_t size)
{
    return plugin_bytes_write(stream->ctx, from, size);
}

static int64_t read_bytes(const struct clap_istream *stream, void *to, uint64_t size)
{
    return plugin_bytes_read(stream->ctx, to, size);
}

/* Save the state into empty bytes, which the caller frees. False: the plugin failed. */
static bool clap_state_take(struct clap_instance *instance, struct plugin_bytes *bytes)
{
    const struct clap_ostream stream = {.ctx = bytes, .write = write_bytes};
    enum clap_role before = clap_enter(CLAP_MAIN_THREAD);
    bool saved = instance->state->save(instance->handle, &stream);
    clap_enter(before);
    bytes->at = 0;
    return saved;
}

static bool clap_state_give(struct clap_instance *instance, struct plugin_bytes *bytes)
{
    const struct clap_istream stream = {.ctx = bytes, .read = read_bytes};
    enum clap_role before = clap_enter(CLAP_MAIN_THREAD);
    bool loaded = instance->state->load(instance->handle, &stream);
    clap_enter(before);
    return loaded;
}

static enum status clap_state_save(struct clap_instance *instance, const char *folder)
{
    const char *name = instance->plugin.info->id;
    struct plugin_bytes state = {0}, file = {0};
    char head[HEAD_MOST];
    bool taken = clap_state_take(instance, &state);
    snprintf(head, sizeof head, "CLAP state of %s: %zu bytes\n", instance->id, state.size);
    bool written = plugin_bytes_write(&file, head, strlen(head)) >= 0 &&
                   plugin_bytes_write(&file, state.data, state.size) >= 0;
    enum status status =
        !taken     ? fail(CAUSE_OTHER, "cannot save the state of %s: the plugin failed", name)
        : !written ? fail_memory("a plugin's state")
                   : plugin_bytes_save(&file, name, folder, STATE_FILE);
    free(state.data);
    free(file.data);
    return status;
}

/* ---- loading ---- */

/* Parse the first line of a state file. False: it is not valid. */
static bool read_head(FILE *file, char *id, size_t *size)
{
    static const char before[] = "CLAP state of ";
    char line[HEAD_MOST];
    if (!fgets(line, sizeof line, file) || strncmp(line, before, sizeof before - 1) != 0)
        return false;
    char *end = strrchr(line, ':');
    if (!end || sscanf(end, ": %zu bytes", size) != 1 || *size > PLUGIN_STATE_MOST)
        return false;
    *end = '\0';
    memcpy(id, line + sizeof before - 1, strlen(line + sizeof before - 1) + 1);
    return true;
}

static struct flaw read_state(FILE *file, const char *id, struct plugin_bytes *bytes)
{
    char owner[HEAD_MOST];
    size_t size;
    if (!read_head(file, owner, &size))
        return (struct flaw){CAUSE_DAMAGED, "it is not the state of a CLAP plugin"};
    if (strcmp(owner, id) != 0)
        return (struct flaw){CAUSE_UNSUPPORTED, "it is the state of another plugin"};
    *bytes = (struct plugin_bytes){.data = malloc(size + 1)};
    if (!bytes->data)
        return flaw_of_errno(ENOMEM);
    bytes->size = fread(bytes->data, 1, size, file);
    bool is_whole = bytes->size == size && fgetc(file) == EOF;
    return (struct flaw){CAUSE_DAMAGED, is_whole ? NULL : "it is damaged"};
}

static enum status clap_state_load(struct clap_instance *instance, const char *folder)
{
    struct plugin_bytes bytes = {0};
    char *path;
    if (!instance->state)
        return fail(CAUSE_UNSUPPORTED, "cannot load %s: %s keeps no state", folder,
                    instance->plugin.info->id);
    if (asprintf(&path, "%s/%s", folder, STATE_FILE) < 0)
        return fail_memory("a plugin's state");
    FILE *file = fopen(path, "r");
    struct flaw flaw = file ? read_state(file, instance->id, &bytes) : flaw_of_errno(errno);
    if (!flaw.text && !clap_state_give(instance, &bytes))
        flaw = (struct flaw){CAUSE_OTHER, instance->side.common.trouble[0]
                                              ? instance->side.common.trouble
                                              : "the plugin refuses it"};
    enum status status =
        flaw.text ? fail(flaw.cause, "cannot load %s: %s", path, flaw.text) : STATUS_OK;
    if (file)
        fclose(file);
    free(bytes.data);
    free(path);
    return status;
}

enum { CALLBACKS_MOST = 64 /* most callbacks that cause one another */ };

static const uint32_t CLAP_TAIL_ENDLESS = INT32_MAX;

/* ---- the main thread ---- */

/* Activate and deactivate the plugin. On the main thread, while no block is processed. */
static bool clap_instance_activate(struct clap_instance *instance)
{
    enum clap_role before = clap_enter(CLAP_MAIN_THREAD);
    struct clap_host_side *side = &instance->side;
    atomic_fetch_and(&side->common.asked, ~(unsigned)PLUGIN_ASKED_RESTART);
    bool is_active =
        instance->handle->activate(instance->handle, instance->rate, 1, instance->block);
    if (is_active && instance->latency)
        atomic_store(&instance->reported_latency, instance->latency->get(instance->handle));
    clap_enter(before);
    return plugin_side_activated(&side->common, is_active, instance->plugin.info->id,
                                 instance->rate);
}

static void clap_instance_deactivate(struct clap_instance *instance)
{
    enum clap_role before = clap_enter(CLAP_MAIN_THREAD);
    if (atomic_exchange(&instance->side.common.is_active, false))
        instance->handle->deactivate(instance->handle);
    clap_enter(before);
}

/* Carry out the requests in `asked`, except a restart. On the main thread. */
static void clap_instance_attend(struct clap_instance *instance, unsigned asked)
{
    if (asked & CLAP_ASKED_CALLBACK) {
        enum clap_role before = clap_enter(CLAP_MAIN_THREAD);
        instance->handle->on_main_thread(instance->handle);
        clap_enter(before);
    }
    /* When live, the step owns the values and gets changes by events. */
    if (asked & CLAP_ASKED_VALUES && !instance->service)
        clap_values_read(instance, true);
}

/* Carry out requests until the plugin has none. No block is processed meanwhile. */
static void attend_all(struct clap_instance *instance)
{
    for (size_t i = 0; i < CALLBACKS_MOST; i++) {
        unsigned asked = plugin_side_take(&instance->side.common);
        if (!asked)
            break;
        clap_instance_attend(instance, asked);
    }
}

HALO_REALTIME static void stop_processing(struct clap_instance *instance)
{
    enum clap_role before = clap_enter(CLAP_AUDIO_THREAD);
    if (instance->side.common.is_processing)
        instance->handle->stop_processing(instance->handle);
    instance->side.common.is_processing = false;
    clap_enter(before);
}

/* In files, after a block: carry out the plugin's requests. Returns whether it was restarted. */
static bool attend_between_blocks(struct clap_instance *instance)
{
    attend_all(instance);
    if (!(atomic_load(&instance->side.common.asked) & PLUGIN_ASKED_RESTART))
        return false;
    stop_processing(instance);
    clap_instance_deactivate(instance);
    clap_instance_activate(instance);
    attend_all(instance);
    return true;
}

/* ---- a block: real-time ---- */

HALO_REALTIME static bool start_processing(struct clap_instance *instance)
{
    if (instance->side.common.is_processing || !atomic_load(&instance->side.common.is_active))
        return instance->side.common.is_processing;
    instance->side.common.is_processing = instance->handle->start_processing(instance->handle);
    if (!instance->side.common.is_processing)
        plugin_side_complain(&instance->side.common, "it refuses to process: its sound is silence");
    return instance->side.common.is_processing;
}

HALO_REALTIME static void silence(const struct clap_instance *instance, float *const *out,
                                  size_t frames)
{
    for (size_t i = 0; i < instance->plugin.outputs; i++)
        memset(out[i], 0, frames * sizeof(float));
}

HALO_REALTIME static void run_block(struct clap_instance *instance, float *const *out,
                                    size_t frames)
{
    for (uint32_t i = 0; i < instance->out.count; i++)
        instance->out.buffers[i].constant_mask = 0;
    clap_events_collect(instance);
    const struct clap_process process = {.steady_time = instance->time,
                                         .frames_count = (uint32_t)frames,
                                         .transport = clap_transport_at(instance),
                                         .audio_inputs = instance->in.buffers,
                                         .audio_outputs = instance->out.buffers,
                                         .audio_inputs_count = instance->in.count,
                                         .audio_outputs_count = instance->out.count,
                                         .in_events = &instance->events.in,
                                         .out_events = &instance->events.out};
    int32_t result = instance->handle->process(instance->handle, &process);
    plugin_channels_get(&instance->out.channels, out, frames);
    if (result == CLAP_PROCESS_ERROR) {
        plugin_side_complain(&instance->side.common,
                             "it failed to process a block: silence is heard");
        silence(instance, out, frames);
    }
    instance->time += (int64_t)frames;
}

HALO_REALTIME static void show_latency(struct clap_instance *instance)
{
    if (instance->latency_port < instance->plugin.info->port_count)
        instance->plugin.controls[instance->latency_port] =
            (float)atomic_load(&instance->reported_latency);
}

HALO_REALTIME static void run_or_silence(struct clap_instance *instance, float *const *out,
                                         size_t frames)
{
    bool is_admitted = !instance->service || plugin_service_admits(instance->service);
    show_latency(instance);
    enum clap_role before = clap_enter(CLAP_AUDIO_THREAD);
    bool runs = is_admitted && start_processing(instance);
    if (runs)
        run_block(instance, out, frames);
    else
        silence(instance, out, frames);
    clap_events_next(instance, runs);
    clap_enter(before);
}

/* A plugin may ask for a restart in its first block, for a new latency: it gets the block again. */
HALO_REALTIME static void clap_instance_process(struct plugin *plugin, const float *const *in,
                                                float *const *out, size_t frames)
{
    struct clap_instance *instance = (struct clap_instance *)plugin;
    bool is_first = instance->time == 0;
    plugin_channels_read(&instance->in.channels, in, frames);
    plugin_channels_write(&instance->out.channels, out);
    run_or_silence(instance, out, frames);
    if (!instance->service && attend_between_blocks(instance) && is_first)
        run_or_silence(instance, out, frames);
    plugin->complaint = atomic_exchange(&instance->side.common.complaint, NULL);
}

/* ---- reset ---- */

static void find_extensions(struct clap_instance *instance)
{
    const struct clap_plugin *handle = instance->handle;
    instance->params = CLAP_EXTENSION(handle, CLAP_EXT_PARAMS, clap_plugin_params);
    instance->latency = CLAP_EXTENSION(handle, CLAP_EXT_LATENCY, clap_plugin_latency);
    instance->tail = CLAP_EXTENSION(handle, CLAP_EXT_TAIL, clap_plugin_tail);
    instance->state = CLAP_EXTENSION(handle, CLAP_EXT_STATE, clap_plugin_state);
    const struct clap_plugin_render *render =
        CLAP_EXTENSION(handle, CLAP_EXT_RENDER, clap_plugin_render);
    if (render)
        render->set(handle, instance->live ? CLAP_RENDER_REALTIME : CLAP_RENDER_OFFLINE);
}

static enum status find_parameters(struct clap_instance *instance)
{
    const struct plugin_info *info = instance->plugin.info;
    bool is_same = true;
    uint32_t count = instance->params ? instance->params->count(instance->handle) : 0;
    for (size_t i = 0; i < instance->parameter_count && i < count; i++) {
        struct clap_param_info about = {0};
        struct clap_parameter *parameter = &instance->parameters[i];
        is_same &= instance->params->get_info(instance->handle, (uint32_t)i, &about);
        parameter->id = about.id;
        parameter->cookie = about.cookie;
        parameter->minimum = about.min_value;
        parameter->maximum = about.max_value;
        parameter->sent = NAN;
    }
    return is_same && count == instance->parameter_count
               ? STATUS_OK
               : fail(CAUSE_OTHER, "cannot run %s: its parameters have changed", info->id);
}

static enum status make_handle(struct clap_instance *instance)
{
    TRY(clap_plugin_make(&instance->library, &instance->side, instance->id, &instance->handle));
    enum clap_role before = clap_enter(CLAP_MAIN_THREAD);
    find_extensions(instance);
    enum status status = find_parameters(instance);
    if (status == STATUS_OK && instance->preset)
        status = clap_preset_load(instance->handle, &instance->side, instance->preset);
    clap_enter(before);
    return status;
}

/* A plugin's reset() may leave sound: a new instance takes over the old one's state and values. */
static void renew(struct clap_instance *instance)
{
    const struct clap_plugin *old = instance->handle;
    struct plugin_bytes state = {0};
    bool has_state = instance->state && clap_state_take(instance, &state);
    clap_plugin_end(&instance->side, old);
    instance->handle = NULL;
    atomic_store(&instance->side.common.asked, 0);
    if (make_handle(instance) == STATUS_OK && has_state)
        clap_state_give(instance, &state);
    free(state.data);
    if (instance->handle) {
        attend_all(instance);
        clap_values_read(instance, false);
    }
}

/* Start processing. Any thread may be the audio thread now, since no block is processed. */
static void start_at_reset(struct clap_instance *instance)
{
    struct clap_host_side *side = &instance->side;
    enum clap_role before = clap_enter(CLAP_AUDIO_THREAD);
    bool starts = start_processing(instance);
    clap_enter(before);
    if (!starts && side->common.loads && !side->common.trouble[0])
        snprintf(side->common.trouble, sizeof side->common.trouble,
                 "cannot run %s: it refuses to process", instance->plugin.info->id);
    show_latency(instance);
}

static void clap_instance_reset(struct plugin *plugin)
{
    struct clap_instance *instance = (struct clap_instance *)plugin;
    plugin_service_pause(instance->service);
    stop_processing(instance);
    if (atomic_load(&instance->side.common.is_active))
        renew(instance);
    if (instance->handle) {
        clap_values_flush(instance);
        attend_all(instance);
        clap_instance_activate(instance);
        attend_all(instance);
        start_at_reset(instance);
    }
    instance->time = 0;
    instance->side.common.loads = false;
    plugin->trouble = instance->side.common.trouble[0] ? instance->side.common.trouble : NULL;
    clap_host_report(&instance->side);
    plugin_service_resume(instance->service);
}

/* ---- the main thread of a live plugin ---- */

static void serve_requests(void *instance, unsigned asked)
{
    clap_instance_attend(instance, asked);
    clap_host_report(&((struct clap_instance *)instance)->side);
}

static void serve_restart(void *instance)
{
    clap_instance_deactivate(instance);
    clap_instance_activate(instance);
}

HALO_REALTIME static void stop_for_restart(void *instance)
{
    stop_processing(instance);
}

static const struct plugin_service_calls service_calls = {
    .attend = serve_requests, .restart = serve_restart, .stop = stop_for_restart};

/* ---- making one ---- */

/* Whether all ports take 64 bits, and one prefers them. */
static bool is_double(const struct clap_instance *instance,
                      const struct clap_plugin_audio_ports *ports)
{
    bool is_able = true, prefers = false;
    for (size_t direction = 0; ports && direction < 2; direction++)
        for (uint32_t i = 0; i < ports->count(instance->handle, direction); i++) {
            struct clap_audio_port_info port = {0};
            ports->get(instance->handle, i, direction, &port);
            is_able &= (port.flags & CLAP_AUDIO_PORT_SUPPORTS_64BITS) != 0;
            prefers |= (port.flags & CLAP_AUDIO_PORT_PREFERS_64BITS) != 0;
        }
    return is_able && prefers;
}

/* Make the audio ports of one direction. Their channels are in one array, port after port. */
static enum status make_bus(struct clap_instance *instance, bool is_input, struct clap_bus *bus,
                            size_t channels)
{
    const struct clap_plugin_audio_ports *ports =
        CLAP_EXTENSION(instance->handle, CLAP_EXT_AUDIO_PORTS, clap_plugin_audio_ports);
    uint32_t count = ports ? ports->count(instance->handle, is_input) : 0;
    size_t found = 0;
    bus->count = count < CLAP_PORTS_MOST ? count : 0;
    bus->buffers = calloc(bus->count + 1, sizeof *bus->buffers);
    TRY(plugin_channels_init(&bus->channels, channels, instance->block));
    if (!bus->buffers)
        return fail_memory("a plugin");
    bus->channels.is_double = is_double(instance, ports);
    for (uint32_t i = 0; i < bus->count && found <= channels; i++) {
        struct clap_audio_port_info port = {0};
        void *buffers = bus->channels.buffers + found;
        ports->get(instance->handle, i, is_input, &port);
        bus->buffers[i] =
            (struct clap_audio_buffer){.data32 = bus->channels.is_double ? NULL : buffers,
                                       .data64 = bus->channels.is_double ? buffers : NULL,
                                       .channel_count = port.channel_count};
        found += port.channel_count;
    }
    return found == channels ? STATUS_OK
                             : fail(CAUSE_OTHER, "cannot run %s: its audio ports have changed",
                                    instance->plugin.info->id);
}

/* List the parameters: the ports after the audio ports, except the latency. */
static enum status list_parameters(struct clap_instance *instance)
{
    const struct plugin_info *info = instance->plugin.info;
    instance->parameters = calloc(info->port_count + 1, sizeof *instance->parameters);
    if (!instance->parameters)
        return fail_memory("a plugin");
    instance->latency_port = info->port_count;
    for (size_t i = 0; i < info->port_count; i++)
        if (info->ports[i].is_latency)
            instance->latency_port = i;
        else if (info->ports[i].type == PLUGIN_CONTROL)
            instance->parameters[instance->parameter_count++].port = i;
    return clap_events_init(&instance->events, instance);
}

static enum status build(struct clap_instance *instance, const struct plugin_settings *settings)
{
    struct plugin *plugin = &instance->plugin;
    const struct clap_plugin_descriptor *descriptor;
    TRY(clap_host_init(&instance->side, plugin->info->name));
    TRY(plugin_ports_init(plugin, settings->rate));
    TRY(list_parameters(instance));
    if (settings->preset && !(instance->preset = strdup(settings->preset)))
        return fail_memory("a plugin");
    TRY(clap_library_find(plugin->info->id, &instance->library, &descriptor));
    instance->id = descriptor->id;
    TRY(make_handle(instance));
    TRY(make_bus(instance, true, &instance->in, plugin->inputs));
    TRY(make_bus(instance, false, &instance->out, plugin->outputs));
    if (settings->state)
        TRY(clap_state_load(instance, settings->state));
    attend_all(instance);
    /* Controls take the values of a preset or state; else the plugin gets the initial values. */
    clap_values_read(instance, settings->preset || settings->state);
    return settings->live ? plugin_service_create(&service_calls, instance, &instance->side.common,
                                                  &instance->service)
                          : STATUS_OK;
}

static void clap_instance_destroy(struct plugin *plugin)
{
    struct clap_instance *instance = (struct clap_instance *)plugin;
    plugin_service_destroy(instance->service);
    stop_processing(instance);
    clap_plugin_end(&instance->side, instance->handle);
    clap_host_free(&instance->side);
    clap_library_close(&instance->library);
    free(instance->events.values);
    plugin_ports_free(plugin);
    free(instance->in.buffers);
    plugin_channels_free(&instance->in.channels);
    free(instance->out.buffers);
    plugin_channels_free(&instance->out.channels);
    free(instance->parameters);
    free(instance->preset);
    free(instance);
}

static enum status clap_instance_create(const struct plugin_info *info,
                                        const struct plugin_settings *settings,
                                        struct plugin **plugin)
{
    if (settings->setting_count > 0)
        return fail(CAUSE_USAGE, "%s has no param:%s: CLAP has controls only", info->id,
                    settings->settings[0].uri);
    struct clap_instance *instance = calloc(1, sizeof *instance);
    if (!instance)
        return fail_memory("a plugin");
    instance->plugin = (struct plugin){.kind = info->kind, .info = info};
    instance->rate = settings->rate;
    instance->block = (uint32_t)settings->block;
    instance->live = settings->live;
    instance->tempo = settings->tempo;
    enum clap_role before = clap_enter(CLAP_MAIN_THREAD);
    enum status status = build(instance, settings);
    clap_enter(before);
    if (status == STATUS_OK)
        *plugin = &instance->plugin;
    else
        clap_instance_destroy(&instance->plugin);
    return status;
}

static enum status clap_instance_save(struct plugin *plugin, const char *folder)
{
    struct clap_instance *instance = (struct clap_instance *)plugin;
    if (!instance->state || !instance->handle)
        return STATUS_OK;
    plugin_service_pause(instance->service);
    enum status status = clap_state_save(instance, folder);
    plugin_service_resume(instance->service);
    return status;
}

static uint64_t clap_instance_tail(struct plugin *plugin)
{
    struct clap_instance *instance = (struct clap_instance *)plugin;
    if (!instance->tail || !instance->handle)
        return PLUGIN_TAIL_UNKNOWN;
    enum clap_role before = clap_enter(CLAP_MAIN_THREAD);
    uint32_t frames = instance->tail->get(instance->handle);
    clap_enter(before);
    return frames < CLAP_TAIL_ENDLESS ? frames : PLUGIN_TAIL_UNKNOWN;
}

/* The holder is a library file. */
static enum status clap_open(const char *holder, const struct plugin_found *found)
{
    struct clap_library library;
    enum status status = clap_library_open(holder, &library);
    uint32_t count = status == STATUS_OK ? clap_library_count(&library) : 0;
    for (uint32_t i = 0; status == STATUS_OK && i < count; i++) {
        const struct clap_plugin_descriptor *descriptor = clap_library_at(&library, i);
        char *id = NULL;
        if (!descriptor)
            continue;
        status = clap_library_id(holder, descriptor->id, &id);
        if (status == STATUS_OK)
            found->take(found->context, id);
        free(id);
    }
    clap_library_close(&library);
    return status;
}

const struct plugin_kind plugin_clap = {
    .name = "clap",
    .argument = "ID",
    .path_variable = "CLAP_PATH",
    .describe = clap_describe,
    .list = clap_libraries,
    .open = clap_open,
    .create = clap_instance_create,
    .process = clap_instance_process,
    .reset = clap_instance_reset,
    .tail = clap_instance_tail,
    .save = clap_instance_save,
    .destroy = clap_instance_destroy,
};
