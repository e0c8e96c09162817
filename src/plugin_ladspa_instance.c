#include "plugin_ladspa_instance.h"

#include "plugin_ladspa_library.h"

#include <stdlib.h>
#include <string.h>

struct instance {
    struct plugin plugin;
    struct plugin_ladspa_library library;
    const LADSPA_Descriptor *descriptor;
    LADSPA_Handle handle;
    bool is_active;
    unsigned long block;
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

void plugin_ladspa_reset(struct plugin *plugin)
{
    struct instance *instance = (struct instance *)plugin;
    deactivate(instance);
    activate(instance);
}

void plugin_ladspa_destroy(struct plugin *plugin)
{
    struct instance *instance = (struct instance *)plugin;
    if (!instance)
        return;
    if (instance->handle) {
        deactivate(instance);
        if (instance->descriptor->cleanup)
            instance->descriptor->cleanup(instance->handle);
    }
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
    enum status status = plugin_ladspa_library_open(info->file, &instance->library);
    if (status == STATUS_OK)
        status = plugin_ladspa_library_label(&instance->library, strrchr(info->id, ':') + 1,
                                             &instance->descriptor);
    if (status == STATUS_OK && instance->descriptor->PortCount != info->port_count)
        status = fail(STATUS_FAILED, "cannot run %s: %s has changed", info->id, info->file);
    return status;
}

static void connect_ports(struct instance *instance, const struct plugin_info *info, uint32_t rate)
{
    for (size_t i = 0; i < info->port_count; i++) {
        const struct plugin_port *port = &info->ports[i];
        float *control = &instance->plugin.controls[i];
        if (port->type == PLUGIN_AUDIO && port->is_input)
            instance->in_ports[instance->plugin.inputs++] = i;
        else if (port->type == PLUGIN_AUDIO)
            instance->out_ports[instance->plugin.outputs++] = i;
        else
            instance->descriptor->connect_port(instance->handle, i, control);
        if (port->type == PLUGIN_CONTROL && port->is_input)
            *control = plugin_port_range(port, rate).initial;
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
    enum status status = make_arrays(instance, info->port_count);
    if (status == STATUS_OK)
        status = find(instance, info);
    if (status == STATUS_OK) {
        instance->handle = instance->descriptor->instantiate(instance->descriptor, settings->rate);
        if (!instance->handle)
            status = fail(STATUS_FAILED, "cannot run %s: it makes no instance for %u Hz", info->id,
                          settings->rate);
    }
    if (status != STATUS_OK) {
        plugin_ladspa_destroy(&instance->plugin);
        return status;
    }
    connect_ports(instance, info, settings->rate);
    *plugin = &instance->plugin;
    return STATUS_OK;
}
