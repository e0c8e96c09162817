#include "plugin/plugin.h"

#include "plugin/plugin_ladspa_library.h"
#include "plugin/plugin_ladspa_port.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PORTS_MOST = 10000 };

/* ---- what a plugin is ---- */

/* Split "LIBRARY:LABEL"; the name of the library may contain colons. Without a label the error
 * lists those of the library. */
static enum status split(const char *id, char **library, const char **label)
{
    const char *colon = strrchr(id, ':');
    size_t length = colon ? (size_t)(colon - id) : strlen(id);
    *library = strndup(id, length);
    *label = colon ? colon + 1 : "";
    return *library ? STATUS_OK : fail_memory("a plugin");
}

static char *text_of(const char *text)
{
    return text && text[0] ? strdup(text) : NULL;
}

static const char *flaw_of(const LADSPA_Descriptor *descriptor)
{
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
    const char *flaw =
        descriptor->PortCount > PORTS_MOST ? "it has too many ports" : flaw_of(descriptor);
    info->name = text_of(descriptor->Name);
    if (!info->name)
        info->name = strdup(descriptor->Label);
    if (!info->name)
        return fail_memory("a plugin");
    info->maker = text_of(descriptor->Maker);
    info->refusal = flaw ? strdup(flaw) : NULL;
    if (flaw)
        return info->refusal ? STATUS_OK : fail_memory("a plugin");
    info->ports = calloc(descriptor->PortCount + 1, sizeof *info->ports);
    if (!info->ports)
        return fail_memory("a plugin");
    info->port_count = descriptor->PortCount;
    return plugin_ladspa_ports(descriptor, info);
}

static enum status make_id(const char *path, const char *label, char **id)
{
    char *name;
    enum status status = plugin_ladspa_library_name(path, &name);
    if (status != STATUS_OK)
        return status;
    int length = asprintf(id, "%s:%s", name, label);
    free(name);
    if (length < 0)
        *id = NULL;
    return *id ? STATUS_OK : fail_memory("a plugin");
}

static enum status describe_in(const struct plugin_ladspa_library *library, const char *label,
                               struct plugin_info *info)
{
    const LADSPA_Descriptor *descriptor;
    TRY(plugin_ladspa_library_label(library, label, &descriptor));
    info->file = strdup(library->path);
    if (!info->file)
        return fail_memory("a plugin");
    TRY(make_id(library->path, label, &info->id));
    return fill(descriptor, info);
}

static enum status describe(const char *id, struct plugin_info **result)
{
    char *name = NULL, *path = NULL;
    const char *label = NULL;
    struct plugin_ladspa_library library = {0};
    struct plugin_info *info = calloc(1, sizeof *info);
    enum status status = info ? split(id, &name, &label) : fail_memory("a plugin");
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

/* ---- which there are ---- */

struct listing {
    void (*found)(void *context, const char *holder, const char *file);
    void *context;
};

static void report(void *context, const char *path)
{
    struct listing *listing = context;
    listing->found(listing->context, path, path);
}

static enum status list(void (*found)(void *context, const char *holder, const char *file),
                        void *context)
{
    struct listing listing = {found, context};
    return plugin_ladspa_libraries(report, &listing);
}

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
            status = make_id(holder, descriptor->Label, &id);
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
    unsigned long block;
    uint32_t rate;
    unsigned long *in_ports; /* by input, the port's index */
    unsigned long *out_ports;
    const float **in_data; /* by input, where it reads; NULL: nowhere yet */
    float **out_data;
};

/* ---- its step ---- */

/* ladspa.h wants every port connected before the first run, and no more than that. */
static void connect_sound(struct ladspa_instance *instance, const float *const *in,
                          float *const *out)
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

static void activate(struct ladspa_instance *instance)
{
    if (!instance->is_active && instance->descriptor->activate)
        instance->descriptor->activate(instance->handle);
    instance->is_active = true;
}

/* A plugin is activated as late as its first block or reset: some size their buffers by the values
 * that their controls have then. */
static void instance_process(struct plugin *plugin, const float *const *in, float *const *out)
{
    struct ladspa_instance *instance = (struct ladspa_instance *)plugin;
    connect_sound(instance, in, out);
    activate(instance);
    instance->descriptor->run(instance->handle, instance->block);
}

/* ---- around it ---- */

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

/* A quarter of the plugins that there are remember sound over a deactivation (filters' states, the
 * phase of a modulation), so that only a new instance has forgotten all. */
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

static enum status make_arrays(struct ladspa_instance *instance, size_t ports)
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
static enum status find_plugin(struct ladspa_instance *instance, const struct plugin_info *info)
{
    TRY(plugin_ladspa_library_open(info->file, &instance->library));
    TRY(plugin_ladspa_library_label(&instance->library, strrchr(info->id, ':') + 1,
                                    &instance->descriptor));
    if (instance->descriptor->PortCount != info->port_count)
        return fail(STATUS_FAILED, "cannot run %s: %s has changed", info->id, info->file);
    return STATUS_OK;
}

static void take_ports(struct ladspa_instance *instance, const struct plugin_info *info)
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

static enum status instance_create(const struct plugin_info *info,
                                   const struct plugin_settings *settings, struct plugin **plugin)
{
    if (settings->preset)
        return fail(STATUS_USAGE, "%s has no preset '%s': LADSPA has none", info->id,
                    settings->preset);
    if (settings->setting_count > 0)
        return fail(STATUS_USAGE, "%s has no parameter '%s': LADSPA has ports only", info->id,
                    settings->settings[0].uri);
    struct ladspa_instance *instance = calloc(1, sizeof *instance);
    if (!instance)
        return fail_memory("a plugin");
    instance->plugin.kind = info->kind;
    instance->plugin.info = info;
    instance->block = settings->block;
    instance->rate = settings->rate;
    enum status status = make_arrays(instance, info->port_count);
    if (status == STATUS_OK)
        status = find_plugin(instance, info);
    if (status == STATUS_OK) {
        instance->handle = instance->descriptor->instantiate(instance->descriptor, instance->rate);
        if (!instance->handle)
            status = fail(STATUS_FAILED, "cannot run %s: instantiation failed at %u Hz", info->id,
                          settings->rate);
    }
    if (status != STATUS_OK) {
        instance_destroy(&instance->plugin);
        return status;
    }
    take_ports(instance, info);
    connect_controls(instance);
    *plugin = &instance->plugin;
    return STATUS_OK;
}

const struct plugin_kind plugin_ladspa = {
    .name = "ladspa",
    .argument = "LIBRARY:LABEL",
    .describing_runs_code = true,
    .describe = describe,
    .list = list,
    .open = open,
    .create = instance_create,
    .process = instance_process,
    .reset = instance_reset,
    .destroy = instance_destroy,
};
