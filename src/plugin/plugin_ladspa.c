#include "plugin/plugin_ladspa.h"

#include "plugin/plugin_ladspa_instance.h"
#include "plugin/plugin_ladspa_library.h"
#include "plugin/plugin_ladspa_port.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PORTS_MOST = 10000 };

/* ---- what a plugin is ---- */

/* "LIBRARY:LABEL" in two; the library's name may have a colon of its own. Where there is none, a
 * label is missing: the library's are told then. */
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

const struct plugin_kind plugin_ladspa = {
    .name = "ladspa",
    .argument = "LIBRARY:LABEL",
    .describing_runs_code = true,
    .describe = describe,
    .list = list,
    .open = open,
    .create = plugin_ladspa_create,
    .process = plugin_ladspa_process,
    .reset = plugin_ladspa_reset,
    .destroy = plugin_ladspa_destroy,
};
