#include "plugin/plugin.h"

#include "base/realtime.h"
#include "plugin/plugin_ladspa_library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- descriptions ---- */

static const char *flaw_of(const LADSPA_Descriptor *descriptor)
{
    if (descriptor->PortCount > PLUGIN_PORTS_MOST)
        return "it has too many ports";
    if (!descriptor->instantiate || !descriptor->connect_port || !descriptor->run)
        return "it lacks a function that ladspa.h demands";
    if (descriptor->PortCount > 0 && !descriptor->PortDescriptors)
        return "it does not describe its ports";
    for (unsigned long i = 0; i < descriptor->PortCount; i++) {
        LADSPA_PortDescriptor port = descriptor->PortDescriptors[i];
        if (!LADSPA_IS_PORT_INPUT(port) == !LADSPA_IS_PORT_OUTPUT(port))
            return "it has a port that is neither input nor output";
        if (!LADSPA_IS_PORT_AUDIO(port) == !LADSPA_IS_PORT_CONTROL(port))
            return "it has a port that is neither sound nor a control";
    }
    return NULL;
}

static enum status fill(const LADSPA_Descriptor *descriptor, struct plugin_info *info)
{
    const char *flaw = flaw_of(descriptor), *name = descriptor->Name, *maker = descriptor->Maker;
    info->name = strdup(name && name[0] ? name : descriptor->Label);
    info->maker = maker && maker[0] ? strdup(maker) : NULL;
    info->refusal = flaw ? strdup(flaw) : NULL;
    if (!info->name || (flaw && !info->refusal))
        return fail_memory("a plugin");
    if (flaw)
        return STATUS_OK;
    info->ports = calloc(descriptor->PortCount + 1, sizeof *info->ports);
    if (!info->ports)
        return fail_memory("a plugin");
    info->port_count = descriptor->PortCount;
    return plugin_ladspa_ports(descriptor, info);
}

static enum status describe_in(const struct plugin_ladspa_library *library, const char *label,
                               struct plugin_info *info)
{
    const LADSPA_Descriptor *descriptor;
    TRY(plugin_ladspa_library_label(library, label, &descriptor));
    info->file = strdup(library->path);
    if (!info->file)
        return fail_memory("a plugin");
    TRY(plugin_ladspa_id_make(library->path, label, &info->id));
    return fill(descriptor, info);
}

/* Without a label the error lists those of the library. */
static enum status describe(const char *id, struct plugin_info **result)
{
    const char *label = "";
    char *path = NULL, *name = NULL;
    struct plugin_ladspa_library library = {0};
    struct plugin_info *info = calloc(1, sizeof *info);
    enum status status = info ? plugin_ladspa_id_split(id, &name, &label) : fail_memory("a plugin");
    if (status == STATUS_OK)
        status = plugin_ladspa_library_find(name, &path);
    if (status == STATUS_OK)
        status = plugin_ladspa_library_open(path, &library);
    if (status == STATUS_OK) {
        info->kind = &plugin_ladspa;
        status = describe_in(&library, label, info);
    }
    plugin_ladspa_library_close(&library);
    free(name);
    free(path);
    if (status == STATUS_OK)
        *result = info;
    else
        plugin_info_destroy(info);
    return status;
}

/* ---- listing ---- */

static enum status open(const char *holder, void (*found)(void *context, const char *id),
                        void *context)
{
    struct plugin_ladspa_library library;
    enum status status = plugin_ladspa_library_open(holder, &library);
    const LADSPA_Descriptor *descriptor;
    for (unsigned long i = 0;
         status == STATUS_OK && (descriptor = plugin_ladspa_library_at(&library, i)) != NULL; i++) {
        char *id = NULL;
        if (descriptor->Label)
            status = plugin_ladspa_id_make(holder, descriptor->Label, &id);
        if (id)
            found(context, id);
        free(id);
    }
    plugin_ladspa_library_close(&library);
    return status;
}

/* ---- an instance ---- */

struct ladspa_instance {
    struct plugin plugin;
    struct plugin_ladspa_library library;
    const LADSPA_Descriptor *descriptor;
    LADSPA_Handle handle;
    bool is_active;
    uint32_t rate;
    const float **in_data; /* by input: where it is connected; NULL: nowhere yet */
    float **out_data;
};

HALO_REALTIME static void connect_sound(struct ladspa_instance *instance, const float *const *in,
                                        float *const *out)
{
    void (*connect)(LADSPA_Handle, unsigned long, LADSPA_Data *) =
        instance->descriptor->connect_port;
    for (size_t i = 0; i < instance->plugin.inputs; i++)
        if (instance->in_data[i] != in[i]) {
            connect(instance->handle, instance->plugin.in_ports[i], (LADSPA_Data *)in[i]);
            instance->in_data[i] = in[i];
        }
    for (size_t i = 0; i < instance->plugin.outputs; i++)
        if (instance->out_data[i] != out[i]) {
            connect(instance->handle, instance->plugin.out_ports[i], out[i]);
            instance->out_data[i] = out[i];
        }
}

HALO_REALTIME static void activate(struct ladspa_instance *instance)
{
    if (!instance->is_active && instance->descriptor->activate)
        instance->descriptor->activate(instance->handle);
    instance->is_active = true;
}

/* Activated with the first block or reset, since some plugins size their buffers by the values of
 * their controls at that time. */
HALO_REALTIME static void instance_process(struct plugin *plugin, const float *const *in,
                                           float *const *out, size_t frames)
{
    struct ladspa_instance *instance = (struct ladspa_instance *)plugin;
    connect_sound(instance, in, out);
    activate(instance);
    instance->descriptor->run(instance->handle, frames);
}

static void deactivate(struct ladspa_instance *instance)
{
    if (instance->is_active && instance->descriptor->deactivate)
        instance->descriptor->deactivate(instance->handle);
    instance->is_active = false;
}

static void connect_controls(struct ladspa_instance *instance)
{
    const struct plugin_info *info = instance->plugin.info;
    for (size_t i = 0; i < info->port_count; i++)
        if (info->ports[i].type == PLUGIN_CONTROL)
            instance->descriptor->connect_port(instance->handle, i, &instance->plugin.controls[i]);
}

static void end(struct ladspa_instance *instance)
{
    deactivate(instance);
    if (instance->handle && instance->descriptor->cleanup)
        instance->descriptor->cleanup(instance->handle);
}

/* A quarter of all plugins keep some sound over a deactivation (states of filters, the phase of a
 * modulation): only a new instance has forgotten all. */
static void instance_reset(struct plugin *plugin)
{
    struct ladspa_instance *instance = (struct ladspa_instance *)plugin;
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

static void instance_destroy(struct plugin *plugin)
{
    struct ladspa_instance *instance = (struct ladspa_instance *)plugin;
    end(instance);
    plugin_ladspa_library_close(&instance->library);
    plugin_ports_free(plugin);
    free(instance->in_data);
    free(instance->out_data);
    free(instance);
}

static enum status build(struct ladspa_instance *instance)
{
    struct plugin *plugin = &instance->plugin;
    const struct plugin_info *info = plugin->info;
    TRY(plugin_ports_init(plugin, instance->rate));
    instance->in_data = calloc(plugin->inputs + 1, sizeof *instance->in_data);
    instance->out_data = calloc(plugin->outputs + 1, sizeof *instance->out_data);
    if (!instance->in_data || !instance->out_data)
        return fail_memory("a plugin");
    TRY(plugin_ladspa_library_open(info->file, &instance->library));
    TRY(plugin_ladspa_library_label(&instance->library, plugin_ladspa_id_label(info->id),
                                    &instance->descriptor));
    if (instance->descriptor->PortCount != info->port_count) /* since it was described */
        return fail(CAUSE_OTHER, "cannot run %s: %s has changed", info->id, info->file);
    instance->handle = instance->descriptor->instantiate(instance->descriptor, instance->rate);
    if (!instance->handle)
        return fail(CAUSE_OTHER, "cannot run %s: instantiation failed at %u Hz", info->id,
                    instance->rate);
    connect_controls(instance);
    return STATUS_OK;
}

static enum status instance_create(const struct plugin_info *info,
                                   const struct plugin_settings *settings, struct plugin **plugin)
{
    if (settings->preset)
        return fail(CAUSE_USAGE, "%s has no preset '%s': LADSPA has none", info->id,
                    settings->preset);
    if (settings->setting_count > 0)
        return fail(CAUSE_USAGE, "%s has no parameter '%s': LADSPA has ports only", info->id,
                    settings->settings[0].uri);
    struct ladspa_instance *instance = calloc(1, sizeof *instance);
    if (!instance)
        return fail_memory("a plugin");
    instance->plugin.kind = info->kind;
    instance->plugin.info = info;
    instance->rate = settings->rate;
    enum status status = build(instance);
    if (status == STATUS_OK)
        *plugin = &instance->plugin;
    else
        instance_destroy(&instance->plugin);
    return status;
}

const struct plugin_kind plugin_ladspa = {
    .name = "ladspa",
    .argument = "LIBRARY:LABEL",
    .path_variable = "LADSPA_PATH",
    .describe = describe,
    .list = plugin_ladspa_libraries,
    .open = open,
    .create = instance_create,
    .process = instance_process,
    .reset = instance_reset,
    .destroy = instance_destroy,
};
