#include "plugin/plugin_clap.h"

#include "base/realtime.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALLBACKS_MOST = 64 /* that follow one another */ };

static const uint32_t CLAP_TAIL_ENDLESS = INT32_MAX;

/* ---- the main thread ---- */

bool clap_instance_activate(struct clap_instance *instance)
{
    enum clap_role before = clap_enter(CLAP_MAIN_THREAD);
    struct clap_host_side *side = &instance->side;
    atomic_fetch_and(&side->asked, ~(unsigned)CLAP_ASKED_RESTART);
    bool is_active =
        instance->handle->activate(instance->handle, instance->rate, 1, instance->block);
    if (is_active && instance->latency)
        atomic_store(&instance->reported_latency, instance->latency->get(instance->handle));
    atomic_store(&side->is_active, is_active);
    clap_enter(before);
    if (!is_active && side->loads && !side->trouble[0])
        snprintf(side->trouble, sizeof side->trouble,
                 "cannot run %s: it cannot be activated at %u Hz", instance->plugin.info->id,
                 instance->rate);
    else if (!is_active)
        clap_host_complain(side, "it cannot be activated: its sound is silence");
    return is_active;
}

void clap_instance_deactivate(struct clap_instance *instance)
{
    enum clap_role before = clap_enter(CLAP_MAIN_THREAD);
    if (atomic_exchange(&instance->side.is_active, false))
        instance->handle->deactivate(instance->handle);
    clap_enter(before);
}

void clap_instance_attend(struct clap_instance *instance, unsigned asked)
{
    if (asked & CLAP_ASKED_CALLBACK) {
        enum clap_role before = clap_enter(CLAP_MAIN_THREAD);
        instance->handle->on_main_thread(instance->handle);
        clap_enter(before);
    }
    /* Live the step owns the values: it learns of them by events. */
    if (asked & CLAP_ASKED_VALUES && !instance->service)
        clap_values_read(instance, true);
}

/* While nothing processes: until the plugin has no more to do. */
static void attend_all(struct clap_instance *instance)
{
    for (size_t i = 0; i < CALLBACKS_MOST; i++) {
        unsigned asked = atomic_fetch_and(&instance->side.asked, CLAP_ASKED_RESTART);
        asked &= ~(unsigned)CLAP_ASKED_RESTART;
        if (!asked)
            break;
        clap_instance_attend(instance, asked);
    }
}

static void stop_processing(struct clap_instance *instance)
{
    enum clap_role before = clap_enter(CLAP_AUDIO_THREAD);
    if (instance->is_processing)
        instance->handle->stop_processing(instance->handle);
    instance->is_processing = false;
    clap_enter(before);
}

/* In files, after a block: what the plugin asked for within it. Whether it was restarted. */
static bool attend_between_blocks(struct clap_instance *instance)
{
    attend_all(instance);
    if (!(atomic_load(&instance->side.asked) & CLAP_ASKED_RESTART))
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
    if (instance->is_processing || !atomic_load(&instance->side.is_active))
        return instance->is_processing;
    instance->is_processing = instance->handle->start_processing(instance->handle);
    if (!instance->is_processing)
        clap_host_complain(&instance->side, "it refuses to process: its sound is silence");
    return instance->is_processing;
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
    if (instance->handle->process(instance->handle, &process) == CLAP_PROCESS_ERROR) {
        clap_host_complain(&instance->side, "it failed to process a block: silence is heard");
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
    bool is_admitted = !instance->service || clap_service_admits(instance->service);
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

/* A plugin that learns of its latency with its first block asks to be restarted, and forgets that
 * block: it gets it again. */
HALO_REALTIME void clap_instance_process(struct plugin *plugin, const float *const *in,
                                         float *const *out, size_t frames)
{
    struct clap_instance *instance = (struct clap_instance *)plugin;
    bool is_first = instance->time == 0;
    for (size_t i = 0; i < plugin->inputs; i++)
        instance->in.channels[i] = (float *)in[i]; /* the plugin only reads them */
    for (size_t i = 0; i < plugin->outputs; i++)
        instance->out.channels[i] = out[i];
    run_or_silence(instance, out, frames);
    if (!instance->service && attend_between_blocks(instance) && is_first)
        run_or_silence(instance, out, frames);
    plugin->complaint = atomic_exchange(&instance->side.complaint, NULL);
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

/* reset() is not trusted to forget all, as the like of it is not in other formats: a new instance
 * takes the state and the values of the old one. */
static void renew(struct clap_instance *instance)
{
    const struct clap_plugin *old = instance->handle;
    struct clap_bytes state = {0};
    bool has_state = instance->state && clap_state_take(instance, &state);
    clap_plugin_end(&instance->side, old);
    instance->handle = NULL;
    atomic_store(&instance->side.asked, 0);
    if (make_handle(instance) == STATUS_OK && has_state)
        clap_state_give(instance, &state);
    free(state.data);
    if (instance->handle) {
        attend_all(instance);
        clap_values_read(instance, false);
    }
}

/* The audio thread is whoever processes next: nothing does now. */
static void start_at_reset(struct clap_instance *instance)
{
    struct clap_host_side *side = &instance->side;
    enum clap_role before = clap_enter(CLAP_AUDIO_THREAD);
    bool starts = start_processing(instance);
    clap_enter(before);
    if (!starts && side->loads && !side->trouble[0])
        snprintf(side->trouble, sizeof side->trouble, "cannot run %s: it refuses to process",
                 instance->plugin.info->id);
    show_latency(instance);
}

void clap_instance_reset(struct plugin *plugin)
{
    struct clap_instance *instance = (struct clap_instance *)plugin;
    clap_service_pause(instance->service);
    stop_processing(instance);
    if (atomic_load(&instance->side.is_active))
        renew(instance);
    if (instance->handle) {
        clap_values_flush(instance);
        attend_all(instance);
        clap_instance_activate(instance);
        attend_all(instance);
        start_at_reset(instance);
    }
    instance->time = 0;
    instance->side.loads = false;
    plugin->trouble = instance->side.trouble[0] ? instance->side.trouble : NULL;
    clap_host_report(&instance->side);
    clap_service_resume(instance->service);
}

/* ---- making one ---- */

/* Audio ports of the plugin as described: their channels lie one after the other. */
static enum status make_bus(struct clap_instance *instance, bool is_input, struct clap_bus *bus,
                            size_t channels)
{
    const struct clap_plugin_audio_ports *ports =
        CLAP_EXTENSION(instance->handle, CLAP_EXT_AUDIO_PORTS, clap_plugin_audio_ports);
    uint32_t count = ports ? ports->count(instance->handle, is_input) : 0;
    size_t found = 0;
    bus->count = count < CLAP_PORTS_MOST ? count : 0;
    bus->buffers = calloc(bus->count + 1, sizeof *bus->buffers);
    bus->channels = calloc(channels + 1, sizeof *bus->channels);
    if (!bus->buffers || !bus->channels)
        return fail_memory("a plugin");
    for (uint32_t i = 0; i < bus->count && found <= channels; i++) {
        struct clap_audio_port_info port = {0};
        ports->get(instance->handle, i, is_input, &port);
        bus->buffers[i] = (struct clap_audio_buffer){.data32 = bus->channels + found,
                                                     .channel_count = port.channel_count};
        found += port.channel_count;
    }
    return found == channels ? STATUS_OK
                             : fail(CAUSE_OTHER, "cannot run %s: its audio ports have changed",
                                    instance->plugin.info->id);
}

/* The parameters are the ports behind the sound, but for the latency. */
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
    /* A preset and a state have values of their own; a new plugin gets its defaults. */
    clap_values_read(instance, settings->preset || settings->state);
    return settings->live ? clap_service_create(instance, &instance->service) : STATUS_OK;
}

enum status clap_instance_create(const struct plugin_info *info,
                                 const struct plugin_settings *settings, struct plugin **plugin)
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

enum status clap_instance_save(struct plugin *plugin, const char *folder)
{
    struct clap_instance *instance = (struct clap_instance *)plugin;
    if (!instance->state || !instance->handle)
        return STATUS_OK;
    clap_service_pause(instance->service);
    enum status status = clap_state_save(instance, folder);
    clap_service_resume(instance->service);
    return status;
}

uint64_t clap_instance_tail(struct plugin *plugin)
{
    struct clap_instance *instance = (struct clap_instance *)plugin;
    if (!instance->tail || !instance->handle)
        return PLUGIN_TAIL_UNKNOWN;
    enum clap_role before = clap_enter(CLAP_MAIN_THREAD);
    uint32_t frames = instance->tail->get(instance->handle);
    clap_enter(before);
    return frames < CLAP_TAIL_ENDLESS ? frames : PLUGIN_TAIL_UNKNOWN;
}

void clap_instance_destroy(struct plugin *plugin)
{
    struct clap_instance *instance = (struct clap_instance *)plugin;
    clap_service_destroy(instance->service);
    stop_processing(instance);
    clap_plugin_end(&instance->side, instance->handle);
    clap_host_free(&instance->side);
    clap_library_close(&instance->library);
    clap_events_free(&instance->events);
    plugin_ports_free(plugin);
    free(instance->in.buffers);
    free(instance->in.channels);
    free(instance->out.buffers);
    free(instance->out.channels);
    free(instance->parameters);
    free(instance->preset);
    free(instance);
}
