#include "plugin/plugin.h"

#include "base/realtime.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#if defined HALO_NO_LV2 || defined HALO_NO_LADSPA
static enum status refuse_describe(const char *id, struct plugin_info **info)
{
    (void)info;
    return fail(CAUSE_UNSUPPORTED,
                "cannot load %s: this halo was built without plugins of that kind; install lilv "
                "(liblilv-dev) for LV2 or ladspa.h (ladspa-sdk) for LADSPA and build it again",
                id);
}

static enum status list_none(void (*found)(void *context, const char *holder, const char *file),
                             void *context)
{
    (void)found, (void)context;
    return STATUS_OK;
}
#endif
#ifdef HALO_NO_LV2
const struct plugin_kind plugin_lv2 = {
    .name = "lv2", .argument = "URI", .describe = refuse_describe, .list = list_none};
#endif
#ifdef HALO_NO_LADSPA
const struct plugin_kind plugin_ladspa = {
    .name = "ladspa", .argument = "LIBRARY:LABEL", .describe = refuse_describe, .list = list_none};
#endif

static const struct plugin_kind *const kinds[] = {&plugin_lv2, &plugin_ladspa, &plugin_clap};
enum { KINDS = sizeof kinds / sizeof *kinds };

const struct plugin_kind *plugin_kind_at(size_t index)
{
    return index < KINDS ? kinds[index] : NULL;
}

const struct plugin_kind *plugin_kind_named(const char *name)
{
    for (size_t i = 0; i < KINDS; i++)
        if (strcmp(kinds[i]->name, name) == 0)
            return kinds[i];
    return NULL;
}

static void port_free(struct plugin_port *port)
{
    for (size_t i = 0; i < port->point_count; i++)
        free(port->points[i].label);
    free(port->points);
    free(port->symbol);
    free(port->name);
    free(port->unit);
    free(port->group);
}

static void free_texts(char **texts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(texts[i]);
    free(texts);
}

void plugin_contents_free(struct plugin_contents *contents)
{
    free_texts(contents->ids, contents->count);
    free_texts(contents->served, contents->served_count);
    *contents = (struct plugin_contents){0};
}

void plugin_info_destroy(struct plugin_info *info)
{
    if (!info)
        return;
    for (size_t i = 0; i < info->port_count; i++)
        port_free(&info->ports[i]);
    for (size_t i = 0; i < info->parameter_count; i++) {
        free(info->parameters[i].uri);
        free(info->parameters[i].name);
    }
    for (size_t i = 0; i < info->preset_count; i++) {
        free(info->presets[i].uri);
        free(info->presets[i].name);
    }
    free_texts(info->features, info->feature_count);
    free_texts(info->holders, info->holder_count);
    free(info->ports);
    free(info->parameters);
    free(info->presets);
    free(info->id);
    free(info->name);
    free(info->maker);
    free(info->category);
    free(info->file);
    free(info->refusal);
    free(info);
}

struct plugin_range plugin_port_range(const struct plugin_port *port, uint32_t rate)
{
    float bounds = port->counts_in_rate ? (float)rate : 1;
    float initial = port->initial * (port->initial_counts_in_rate ? (float)rate : 1);
    struct plugin_range range = {.minimum = port->minimum * bounds,
                                 .maximum = port->maximum * bounds};
    range.initial = fmaxf(range.minimum, fminf(range.maximum, initial));
    return range;
}

enum cause plugin_cause(long long number)
{
    bool is_one = number > CAUSE_OTHER && number < CAUSE_SOME_FAILED;
    return is_one ? (enum cause)number : CAUSE_OTHER;
}

enum status plugin_usable(const struct plugin_info *info)
{
    return info->refusal ? fail(CAUSE_UNSUPPORTED, "cannot run %s: %s", info->id, info->refusal)
                         : STATUS_OK;
}

enum status plugin_create(const struct plugin_info *info, const struct plugin_settings *settings,
                          struct plugin **plugin)
{
    TRY(plugin_usable(info));
    if (info->holder_count > 0)
        TRY(info->kind->use(info->holders, info->holder_count));
    return info->kind->create(info, settings, plugin);
}

void plugin_destroy(struct plugin *plugin)
{
    if (plugin)
        plugin->kind->destroy(plugin);
}

enum status plugin_ports_init(struct plugin *plugin, uint32_t rate)
{
    const struct plugin_info *info = plugin->info;
    plugin->controls = calloc(info->port_count + 1, sizeof *plugin->controls);
    plugin->in_ports = calloc(info->port_count + 1, sizeof *plugin->in_ports);
    plugin->out_ports = calloc(info->port_count + 1, sizeof *plugin->out_ports);
    if (!plugin->controls || !plugin->in_ports || !plugin->out_ports)
        return fail_memory("a plugin's ports");
    for (uint32_t i = 0; i < info->port_count; i++) {
        const struct plugin_port *port = &info->ports[i];
        if (port->type == PLUGIN_AUDIO && port->is_input)
            plugin->in_ports[plugin->inputs++] = i;
        else if (port->type == PLUGIN_AUDIO)
            plugin->out_ports[plugin->outputs++] = i;
        else if (plugin_port_is_control(port))
            plugin->controls[i] = plugin_port_range(port, rate).initial;
    }
    return STATUS_OK;
}

void plugin_ports_free(struct plugin *plugin)
{
    free(plugin->controls);
    free(plugin->in_ports);
    free(plugin->out_ports);
}

HALO_REALTIME uint64_t plugin_latency(const struct plugin *plugin)
{
    const struct plugin_info *info = plugin->info;
    for (size_t i = 0; i < info->port_count; i++) {
        float frames = plugin->controls[i];
        if (info->ports[i].is_latency && frames >= 0.5F && frames < PLUGIN_LATENCY_MOST)
            return (uint64_t)(frames + 0.5F);
    }
    return 0;
}
