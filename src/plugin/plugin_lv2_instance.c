#include "plugin/plugin_lv2.h"

#include "base/realtime.h"

#include <dlfcn.h>
#include <lv2/core/lv2.h>
#include <stdlib.h>
#include <string.h>

/* Seconds of silence to run after the last work, since a plugin may fade in what it loaded, and the
 * limit for a plugin that never stops working. */
static const double SETTLE = 0.1, SETTLE_MOST = 5;

/* The library stays loaded: some plugins leave threads or handlers behind that need its code.
 * Loading it here also keeps lilv from printing an error. */
static enum status load_library(const struct lv2_instance *instance)
{
    const struct plugin_info *info = instance->plugin.info;
    char *path = lilv_node_get_path(lilv_plugin_get_library_uri(instance->bundle), NULL);
    if (!path)
        return fail(CAUSE_DAMAGED, "cannot run %s: its bundle names no library", info->id);
    bool loaded = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) != NULL;
    lilv_free(path);
    return loaded ? STATUS_OK : fail(CAUSE_DAMAGED, "cannot run %s: %s", info->id, dlerror());
}

static enum status make_instance(const struct lv2_instance *instance, LilvInstance **made)
{
    const struct plugin_info *info = instance->plugin.info;
    double rate = (double)instance->features.rate;
    *made = lilv_plugin_instantiate(instance->bundle, rate, instance->features.list);
    if (!*made)
        return fail(CAUSE_OTHER, "cannot run %s: instantiation failed at %.0f Hz", info->id, rate);
    const LV2_Options_Interface *options =
        lilv_instance_get_extension_data(*made, LV2_OPTIONS__interface);
    if (options && options->set) /* the status only names unknown options */
        options->set(lilv_instance_get_handle(*made), instance->features.options);
    return STATUS_OK;
}

static bool has_samples(const struct plugin_port *port)
{
    return port->type == PLUGIN_AUDIO || port->type == PLUGIN_CV;
}

static enum status make_buffers(struct lv2_instance *instance, uint32_t rate)
{
    const struct plugin_info *info = instance->plugin.info;
    size_t count = 0;
    for (size_t i = 0; i < info->port_count; i++)
        count += has_samples(&info->ports[i]);
    TRY(plugin_ports_init(&instance->plugin, rate));
    instance->connected = calloc(info->port_count + 1, sizeof *instance->connected);
    instance->buffers = calloc(count + 1, instance->block * sizeof *instance->buffers);
    return instance->connected && instance->buffers ? STATUS_OK : fail_memory("a plugin's ports");
}

/* Connect audio and CV to silence and scratch. */
static void connect_samples(struct lv2_instance *instance)
{
    const struct plugin_info *info = instance->plugin.info;
    float *buffer = instance->buffers;
    for (uint32_t i = 0; i < info->port_count; i++) {
        if (!has_samples(&info->ports[i]))
            continue;
        memset(buffer, 0, instance->block * sizeof *buffer);
        instance->connected[i] = buffer;
        lilv_instance_connect_port(instance->instance, i, buffer);
        buffer += instance->block;
    }
}

static void use_instance(struct lv2_instance *instance, LilvInstance *made)
{
    const struct plugin_info *info = instance->plugin.info;
    instance->instance = made;
    lv2_worker_serve(instance->worker, made);
    for (uint32_t i = 0; i < info->port_count; i++)
        if (info->ports[i].type == PLUGIN_CONTROL)
            lilv_instance_connect_port(made, i, &instance->plugin.controls[i]);
    connect_samples(instance);
    lv2_events_connect(instance->events, made);
}

static void set_designated(struct lv2_instance *instance, const char *designation, float value)
{
    const LilvPort *port = lilv_plugin_get_port_by_designation(
        instance->bundle, lv2_world_node(LV2_CORE__InputPort), lv2_world_node(designation));
    if (port)
        instance->plugin.controls[lilv_port_get_index(instance->bundle, port)] = value;
}

static enum status load_values(struct lv2_instance *instance,
                               const struct plugin_settings *settings)
{
    float free_wheeling = settings->live ? 0.0F : 1.0F;
    set_designated(instance, LV2_CORE__freeWheeling, free_wheeling);
    lv2_state_load_default(instance);
    if (settings->preset)
        TRY(lv2_state_load_preset(instance, settings->preset));
    if (settings->state)
        TRY(lv2_state_load(instance, settings->state));
    set_designated(instance, LV2_CORE__freeWheeling, free_wheeling);
    lv2_time_ports_find(&instance->time_ports, instance->bundle, instance->plugin.info, settings,
                        instance->plugin.controls);
    return STATUS_OK;
}

/* ---- a block: real-time, once it has been reset ---- */

HALO_REALTIME static void connect(struct lv2_instance *instance, uint32_t port, float *samples)
{
    if (instance->connected[port] == samples)
        return;
    instance->connected[port] = samples;
    lilv_instance_connect_port(instance->instance, port, samples);
}

/* A block with the ports as connected. Returns whether work was done. */
HALO_REALTIME static bool run(struct lv2_instance *instance, size_t frames)
{
    lv2_events_prepare(instance->events, instance->plugin.position, frames);
    lv2_time_ports_set(&instance->time_ports, instance->plugin.controls, instance->plugin.position);
    lv2_logbook_hold(instance->log, true);
    lilv_instance_run(instance->instance, (uint32_t)frames);
    bool worked = lv2_worker_respond(instance->worker);
    lv2_logbook_hold(instance->log, false);
    return worked;
}

HALO_REALTIME void lv2_instance_process(struct plugin *plugin, const float *const *in,
                                        float *const *out, size_t frames)
{
    struct lv2_instance *instance = (struct lv2_instance *)plugin;
    if (!instance->is_active)
        lv2_instance_reset(plugin);
    for (size_t i = 0; i < plugin->inputs; i++)
        connect(instance, plugin->in_ports[i], (float *)in[i]); /* LV2 has no const ports */
    for (size_t i = 0; i < plugin->outputs; i++)
        connect(instance, plugin->out_ports[i], out[i]);
    run(instance, frames);
    if (!instance->complained) {
        plugin->complaint = lv2_logbook_complaint(instance->log);
        instance->complained = plugin->complaint != NULL;
    }
}

/* ---- reset ---- */

/* Run a plugin that postpones loading on silence until that is done. */
static void settle(struct lv2_instance *instance)
{
    if (!lv2_worker_serves(instance->worker))
        return;
    double rate = (double)instance->features.rate;
    size_t quiet = 0, blocks = (size_t)(SETTLE * rate / instance->block) + 1;
    size_t most = (size_t)(SETTLE_MOST * rate / instance->block) + 1;
    instance->plugin.position = -(int64_t)instance->block; /* before the sound */
    for (size_t i = 0; i < most && quiet < blocks; i++)
        quiet = run(instance, instance->block) ? 0 : quiet + 1;
}

/* deactivate() and activate() should forget all sound, but of 436 plugins 156 then sounded
 * different from new ones, and some leak their buffers: so none is activated twice. A new instance
 * gets the values and the state of the old one. False: instantiation failed. */
static bool renew(struct lv2_instance *instance)
{
    LilvInstance *made, *old = instance->instance;
    if (make_instance(instance, &made) != STATUS_OK)
        return false;
    bool has_state = lilv_instance_get_extension_data(old, LV2_STATE__interface);
    LilvState *state = has_state ? lv2_state_snapshot(instance) : NULL;
    lilv_instance_deactivate(old);
    instance->is_active = false;
    lv2_worker_forget(instance->worker);
    use_instance(instance, made);
    lv2_events_repeat(instance->events, state != NULL);
    if (state)
        lv2_state_give(instance, state);
    lilv_instance_free(old);
    return true;
}

void lv2_instance_reset(struct plugin *plugin)
{
    struct lv2_instance *instance = (struct lv2_instance *)plugin;
    lv2_worker_pause(instance->worker);
    if (instance->is_active && !renew(instance))
        lilv_instance_deactivate(instance->instance);
    connect_samples(instance);
    lilv_instance_activate(instance->instance);
    instance->is_active = true;
    settle(instance);
    lv2_worker_resume(instance->worker);
    lv2_logbook_load(instance->log, false);
    plugin->trouble = lv2_logbook_trouble(instance->log);
    lv2_logbook_report(instance->log);
}

/* ---- making one ---- */

static enum status make_services(struct lv2_instance *instance,
                                 const struct plugin_settings *settings)
{
    const struct plugin_info *info = instance->plugin.info;
    lv2_paths_init(&instance->paths);
    TRY(lv2_logbook_create(info->name, &instance->log));
    TRY(lv2_worker_create(&instance->worker));
    TRY(lv2_events_create(instance->bundle, info, settings, &instance->events));
    lv2_features_init(&instance->features, info, settings, lv2_events_most(instance->events),
                      instance->worker, instance->log, &instance->paths);
    return lv2_features_suffice(&instance->features, info);
}

static enum status build(struct lv2_instance *instance, const struct plugin_settings *settings)
{
    LilvInstance *made;
    TRY(lv2_world_find(instance->plugin.info->id, &instance->bundle));
    TRY(make_services(instance, settings));
    TRY(make_buffers(instance, settings->rate));
    TRY(load_library(instance));
    TRY(make_instance(instance, &made));
    use_instance(instance, made);
    lv2_logbook_load(instance->log, settings->setting_count > 0 || settings->state);
    TRY(load_values(instance, settings));
    return settings->live ? lv2_worker_start(instance->worker) : STATUS_OK;
}

enum status lv2_instance_create(const struct plugin_info *info,
                                const struct plugin_settings *settings, struct plugin **plugin)
{
    struct lv2_instance *instance = calloc(1, sizeof *instance);
    if (!instance)
        return fail_memory("a plugin");
    instance->plugin = (struct plugin){.kind = &plugin_lv2, .info = info};
    instance->block = (uint32_t)settings->block;
    if (build(instance, settings) != STATUS_OK) {
        lv2_instance_destroy(&instance->plugin);
        return STATUS_FAILED;
    }
    *plugin = &instance->plugin;
    return STATUS_OK;
}

enum status lv2_instance_save(struct plugin *plugin, const char *folder)
{
    struct lv2_instance *instance = (struct lv2_instance *)plugin;
    lv2_worker_pause(instance->worker);
    enum status status = lv2_state_save(instance, folder);
    lv2_worker_resume(instance->worker);
    return status;
}

void lv2_instance_destroy(struct plugin *plugin)
{
    struct lv2_instance *instance = (struct lv2_instance *)plugin;
    lv2_worker_stop(instance->worker);
    if (instance->is_active)
        lilv_instance_deactivate(instance->instance);
    if (instance->instance)
        lilv_instance_free(instance->instance);
    lv2_worker_destroy(instance->worker);
    lv2_logbook_destroy(instance->log);
    lv2_events_destroy(instance->events);
    lv2_paths_free(&instance->paths);
    free(instance->connected);
    free(instance->buffers);
    plugin_ports_free(plugin);
    free(instance);
}
