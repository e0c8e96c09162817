#include "plugin/plugin_lv2_instance.h"

#include "plugin/plugin.h"
#include "plugin/plugin_lv2_state.h"
#include "plugin/plugin_lv2_world.h"

#include <dlfcn.h>
#include <lv2/core/lv2.h>
#include <lv2/state/state.h>
#include <stdlib.h>
#include <string.h>

/* Seconds of silence to run after the last work, since a plugin may fade in what it loaded; and the
 * limit for one that never stops working. */
static const double SETTLE = 0.1, SETTLE_MOST = 5;

/* The library stays loaded: some plugins leave threads or handlers behind that need its code.
 * Loading it here also keeps lilv from printing an error. */
static enum status load_library(const struct lv2_instance *instance)
{
    const struct plugin_info *info = instance->plugin.info;
    char *path = lilv_node_get_path(lilv_plugin_get_library_uri(instance->bundle), NULL);
    if (!path)
        return fail(STATUS_FAILED, "cannot run %s: its bundle names no library", info->id);
    bool loaded = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) != NULL;
    lilv_free(path);
    return loaded ? STATUS_OK : fail(STATUS_FAILED, "cannot run %s: %s", info->id, dlerror());
}

static enum status make_instance(const struct lv2_instance *instance, LilvInstance **made)
{
    const struct plugin_info *info = instance->plugin.info;
    double rate = (double)instance->features.rate;
    *made = lilv_plugin_instantiate(instance->bundle, rate, instance->features.list);
    if (!*made)
        return fail(STATUS_FAILED, "cannot run %s: instantiation failed at %.0f Hz", info->id,
                    rate);
    const LV2_Options_Interface *options =
        lilv_instance_get_extension_data(*made, LV2_OPTIONS__interface);
    if (options && options->set) /* what it knows of them: others it says it does not */
        options->set(lilv_instance_get_handle(*made), instance->features.options);
    return STATUS_OK;
}

static bool has_samples(const struct plugin_port *port)
{
    return port->type == PLUGIN_AUDIO || port->type == PLUGIN_CV;
}

static enum status make_buffers(struct lv2_instance *instance)
{
    const struct plugin_info *info = instance->plugin.info;
    size_t count = 0, ports = info->port_count + 1;
    for (size_t i = 0; i < info->port_count; i++)
        count += has_samples(&info->ports[i]);
    instance->plugin.controls = calloc(ports, sizeof *instance->plugin.controls);
    instance->in_ports = calloc(ports, sizeof *instance->in_ports);
    instance->out_ports = calloc(ports, sizeof *instance->out_ports);
    instance->connected = calloc(ports, sizeof *instance->connected);
    instance->buffers = calloc(count + 1, instance->block * sizeof *instance->buffers);
    return instance->plugin.controls && instance->in_ports && instance->out_ports &&
                   instance->connected && instance->buffers
               ? STATUS_OK
               : fail_memory("a plugin's ports");
}

/* Ports of sound read silence and write to nobody. */
static void connect_samples(struct lv2_instance *instance)
{
    const struct plugin_info *info = instance->plugin.info;
    float *buffer = instance->buffers;
    for (uint32_t i = 0; i < info->port_count; i++) {
        if (!has_samples(&info->ports[i]))
            continue;
        memset(buffer, 0, instance->block * sizeof *buffer); /* whatever was written into it */
        instance->connected[i] = buffer;
        lilv_instance_connect_port(instance->instance, i, buffer);
        buffer += instance->block;
    }
}

static void list_ports(struct lv2_instance *instance)
{
    struct plugin *plugin = &instance->plugin;
    for (uint32_t i = 0; i < plugin->info->port_count; i++) {
        const struct plugin_port *port = &plugin->info->ports[i];
        if (port->type == PLUGIN_AUDIO && port->is_input)
            instance->in_ports[plugin->inputs++] = i;
        if (port->type == PLUGIN_AUDIO && !port->is_input)
            instance->out_ports[plugin->outputs++] = i;
    }
}

/* Go on with `made` from now on. */
static void take_instance(struct lv2_instance *instance, LilvInstance *made)
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

static void set_controls(struct lv2_instance *instance, const struct plugin_settings *settings)
{
    const struct plugin_info *info = instance->plugin.info;
    for (size_t i = 0; i < info->port_count; i++) {
        const struct plugin_port *port = &info->ports[i];
        if (port->type == PLUGIN_CONTROL && port->is_input)
            instance->plugin.controls[i] = plugin_port_range(port, settings->rate).initial;
    }
    set_designated(instance, LV2_CORE__freeWheeling, settings->live ? 0.0F : 1.0F);
}

static enum status load_values(struct lv2_instance *instance,
                               const struct plugin_settings *settings)
{
    set_controls(instance, settings);
    lv2_state_load_default(instance);
    if (settings->preset)
        TRY(lv2_state_load_preset(instance, settings->preset));
    if (settings->state)
        TRY(lv2_state_load(instance, settings->state));
    set_designated(instance, LV2_CORE__freeWheeling, settings->live ? 0.0F : 1.0F);
    return STATUS_OK;
}

/* ---- a block: real-time, once it has been reset ---- */

static void connect(struct lv2_instance *instance, uint32_t port, float *samples)
{
    if (instance->connected[port] == samples)
        return;
    instance->connected[port] = samples;
    lilv_instance_connect_port(instance->instance, port, samples);
}

/* One block with the ports as they are connected. Returns whether work was done. */
static bool run(struct lv2_instance *instance)
{
    lv2_events_prepare(instance->events);
    lv2_logbook_hold(instance->log, true);
    lilv_instance_run(instance->instance, instance->block);
    bool worked = lv2_worker_respond(instance->worker);
    lv2_logbook_hold(instance->log, false);
    return worked;
}

void lv2_instance_process(struct plugin *plugin, const float *const *in, float *const *out)
{
    struct lv2_instance *instance = (struct lv2_instance *)plugin;
    if (!instance->is_active)
        lv2_instance_reset(plugin);
    for (size_t i = 0; i < plugin->inputs; i++)
        connect(instance, instance->in_ports[i], (float *)in[i]); /* LV2 has no const ports */
    for (size_t i = 0; i < plugin->outputs; i++)
        connect(instance, instance->out_ports[i], out[i]);
    run(instance);
    if (!instance->complained) {
        plugin->complaint = lv2_logbook_complaint(instance->log);
        instance->complained = plugin->complaint != NULL;
    }
}

/* ---- reset ---- */

/* A plugin that postpones loading is run on silence until it is done, so that everything is there
 * when the sound begins. */
static void settle(struct lv2_instance *instance)
{
    if (!lv2_worker_serves(instance->worker))
        return;
    double rate = (double)instance->features.rate;
    size_t quiet = 0, blocks = (size_t)(SETTLE * rate / instance->block) + 1;
    size_t most = (size_t)(SETTLE_MOST * rate / instance->block) + 1;
    for (size_t i = 0; i < most && quiet < blocks; i++)
        quiet = run(instance) ? 0 : quiet + 1;
}

static void activate(struct lv2_instance *instance)
{
    connect_samples(instance);
    lilv_instance_activate(instance->instance);
    instance->is_active = true;
    settle(instance);
}

static bool has_state(const struct lv2_instance *instance)
{
    return lilv_instance_get_extension_data(instance->instance, LV2_STATE__interface) != NULL;
}

/* By the letter deactivate() and activate() forget all sound. Of 436 plugins 156 then answered
 * otherwise than new ones do, and some allocate their buffers again without freeing the old ones:
 * so none is activated twice. The instance is replaced by a new one, which gets the values and the
 * state of the old one. False: no new one can be made. */
static bool renew(struct lv2_instance *instance)
{
    LilvInstance *made, *old = instance->instance;
    if (make_instance(instance, &made) != STATUS_OK)
        return false;
    LilvState *state = has_state(instance) ? lv2_state_snapshot(instance) : NULL;
    lilv_instance_deactivate(old);
    instance->is_active = false;
    lv2_worker_forget(instance->worker);
    take_instance(instance, made);
    if (state)
        lv2_state_give(instance, state);
    else
        lv2_events_repeat(instance->events);
    lilv_instance_free(old);
    return true;
}

void lv2_instance_reset(struct plugin *plugin)
{
    struct lv2_instance *instance = (struct lv2_instance *)plugin;
    lv2_worker_pause(instance->worker);
    if (instance->is_active && !renew(instance))
        lilv_instance_deactivate(instance->instance);
    activate(instance);
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
    if (lv2_logbook_create(info->name, &instance->log) != STATUS_OK ||
        lv2_worker_create(&instance->worker) != STATUS_OK ||
        lv2_events_create(instance->bundle, info, settings, &instance->events) != STATUS_OK)
        return STATUS_FAILED;
    lv2_features_init(&instance->features, settings, lv2_events_most(instance->events),
                      instance->worker, instance->log, &instance->paths);
    return lv2_features_suffice(&instance->features, info);
}

static enum status build(struct lv2_instance *instance, const struct plugin_settings *settings)
{
    LilvInstance *made;
    if (lv2_world_find(instance->plugin.info->id, &instance->bundle) != STATUS_OK ||
        make_services(instance, settings) != STATUS_OK || make_buffers(instance) != STATUS_OK ||
        load_library(instance) != STATUS_OK || make_instance(instance, &made) != STATUS_OK)
        return STATUS_FAILED;
    list_ports(instance);
    take_instance(instance, made);
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
    lilv_instance_free(instance->instance);
    lv2_worker_destroy(instance->worker);
    lv2_logbook_destroy(instance->log);
    lv2_events_destroy(instance->events);
    lv2_paths_free(&instance->paths);
    free(instance->connected);
    free(instance->buffers);
    free(instance->out_ports);
    free(instance->in_ports);
    free(instance->plugin.controls);
    free(instance);
}
