#include "plugin/plugin_ladspa_instance.h"

#include "plugin/plugin_ladspa_library.h"

#include <stdlib.h>
#include <string.h>

struct instance {
    struct plugin plugin;
    struct plugin_ladspa_library library;
    const LADSPA_Descriptor *descriptor;
    LADSPA_Handle handle;
    bool is_active;
    unsigned long block;
    uint32_t rate;
    unsigned long *in_ports; /* by input, the port's index */
    unsigned long *out_ports;
    const float **in_data; /* by input, where it reads; NULL: nowhere yet */
    float **out_data;
};

/* ---- the step ---- */

/* ladspa.h wants every port connected before the first run, and no more than that. */
static void connect_sound(struct instance *instance, const float *const *in, float *const *out)
{
    void (*connect)(LADSPA_Handle, unsigned long, LADSPA_Data *) =
        instance->descriptor->connect_port;
    for (size_t i = 0; i < instance->plugin.inputs; i++)
        if (instance->in_data[i] != in[i]) {
            connect(instance->handle, instance->in_ports[i], (LADSPA_Data *)in[i]);
            instance->in_data[i] = in[i];
        }
    for (size_t i = 0; i < instance->plugin.outputs; i++)
        if (instance->out_data[i] != out[i]) {
            connect(instance->handle, instance->out_ports[i], out[i]);
            instance->out_data[i] = out[i];
        }
}

static void activate(struct instance *instance)
{
    if (!instance->is_active && instance->descriptor->activate)
        instance->descriptor->activate(instance->handle);
    instance->is_active = true;
}

void plugin_ladspa_process(struct plugin *plugin, const float *const *in, float *const *out)
{
    struct instance *instance = (struct instance *)plugin;
    connect_sound(instance, in, out);
    activate(instance);
    instance->descriptor->run(instance->handle, instance->block);
}

/* ---- around it ---- */

static void deactivate(struct instance *instance)
{
    if (instance->is_active && instance->descriptor->deactivate)
        instance->descriptor->deactivate(instance->handle);
    instance->is_active = false;
}

static void connect_controls(struct instance *instance)
{
    const struct plugin_info *info = instance->plugin.info;
    for (size_t i = 0; i < info->port_count; i++)
        if (info->ports[i].type == PLUGIN_CONTROL)
            instance->descriptor->connect_port(instance->handle, i, &instance->plugin.controls[i]);
}

static void end(struct instance *instance)
{
    deactivate(instance);
    if (instance->handle && instance->descriptor->cleanup)
        instance->descriptor->cleanup(instance->handle);
}

/* A quarter of the plugins that there are remember sound over a deactivation (filters' states, the
 * phase of a modulation), so that only a new instance has forgotten all. */
void plugin_ladspa_reset(struct plugin *plugin)
{
    struct instance *instance = (struct instance *)plugin;
    const LADSPA_Descriptor *descriptor = instance->descriptor;
    LADSPA_Handle handle =
        instance->is_active ? descriptor->instantiate(descriptor, instance->rate) : NULL;
    if (handle) {
        end(instance);
        instance->handle = handle;
        connect_controls(instance);
        memset(instance->in_data, 0, plugin->inputs * sizeof *instance->in_data);
        memset(instance->out_data, 0, plugin->outputs * sizeof *instance->out_data);
    }
    deactivate(instance);
    activate(instance);
}

void plugin_ladspa_destroy(struct plugin *plugin)
{
    struct instance *instance = (struct instance *)plugin;
    if (!instance)
        return;
    end(instance);
    plugin_ladspa_library_close(&instance->library);
    free(instance->plugin.controls);
    free(instance->in_ports);
    free(instance->out_ports);
    free(instance->in_data);
    free(instance->out_data);
    free(instance);
}

static enum status make_arrays(struct instance *instance, size_t ports)
{
    instance->plugin.controls = calloc(ports + 1, sizeof *instance->plugin.controls);
    instance->in_ports = calloc(ports + 1, sizeof *instance->in_ports);
    instance->out_ports = calloc(ports + 1, sizeof *instance->out_ports);
    instance->in_data = calloc(ports + 1, sizeof *instance->in_data);
    instance->out_data = calloc(ports + 1, sizeof *instance->out_data);
    bool made = instance->plugin.controls && instance->in_ports && instance->out_ports &&
                instance->in_data && instance->out_data;
    return made ? STATUS_OK : fail_memory("a plugin");
}

/* The library may have become another one since it was described. */
static enum status find(struct instance *instance, const struct plugin_info *info)
{
    TRY(plugin_ladspa_library_open(info->file, &instance->library));
    TRY(plugin_ladspa_library_label(&instance->library, strrchr(info->id, ':') + 1,
                                    &instance->descriptor));
    if (instance->descriptor->PortCount != info->port_count)
        return fail(STATUS_FAILED, "cannot run %s: %s has changed", info->id, info->file);
    return STATUS_OK;
}

static void take_ports(struct instance *instance, const struct plugin_info *info)
{
    for (size_t i = 0; i < info->port_count; i++) {
        const struct plugin_port *port = &info->ports[i];
        float *control = &instance->plugin.controls[i];
        if (port->type == PLUGIN_AUDIO && port->is_input)
            instance->in_ports[instance->plugin.inputs++] = i;
        else if (port->type == PLUGIN_AUDIO)
            instance->out_ports[instance->plugin.outputs++] = i;
        else if (port->is_input)
            *control = plugin_port_range(port, instance->rate).initial;
    }
}

enum status plugin_ladspa_create(const struct plugin_info *info,
                                 const struct plugin_settings *settings, struct plugin **plugin)
{
    if (settings->preset)
        return fail(STATUS_USAGE, "%s has no preset '%s': LADSPA knows none", info->id,
                    settings->preset);
    if (settings->setting_count > 0)
        return fail(STATUS_USAGE, "%s has no parameter '%s': LADSPA has ports only", info->id,
                    settings->settings[0].uri);
    struct instance *instance = calloc(1, sizeof *instance);
    if (!instance)
        return fail_memory("a plugin");
    instance->plugin.kind = info->kind;
    instance->plugin.info = info;
    instance->block = settings->block;
    instance->rate = settings->rate;
    enum status status = make_arrays(instance, info->port_count);
    if (status == STATUS_OK)
        status = find(instance, info);
    if (status == STATUS_OK) {
        instance->handle = instance->descriptor->instantiate(instance->descriptor, instance->rate);
        if (!instance->handle)
            status = fail(STATUS_FAILED, "cannot run %s: it makes no instance for %u Hz", info->id,
                          settings->rate);
    }
    if (status != STATUS_OK) {
        plugin_ladspa_destroy(&instance->plugin);
        return status;
    }
    take_ports(instance, info);
    connect_controls(instance);
    *plugin = &instance->plugin;
    return STATUS_OK;
}
