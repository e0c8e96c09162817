#include "plugin/plugin_lv2_describe.h"

#include "plugin/plugin_lv2.h"
#include "plugin/plugin_lv2_features.h"
#include "plugin/plugin_lv2_world.h"

#include <lv2/options/options.h>
#include <lv2/state/state.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The URIs in `nodes`, which it frees. */
static enum status copy_uris(LilvNodes *nodes, char ***uris, size_t *count)
{
    size_t most = nodes ? lilv_nodes_size(nodes) : 0;
    *uris = calloc(most + 1, sizeof **uris);
    bool failed = !*uris;
    LILV_FOREACH(nodes, i, nodes)
    {
        const LilvNode *node = lilv_nodes_get(nodes, i);
        if (failed || !lilv_node_is_uri(node))
            continue;
        (*uris)[*count] = strdup(lilv_node_as_uri(node));
        failed = !(*uris)[*count];
        *count += !failed;
    }
    lilv_nodes_free(nodes);
    return failed ? fail_memory("a plugin's features") : STATUS_OK;
}

/* "Amplifier Plugin" -> "Amplifier"; NULL where the bundle is no more definite than "Plugin". */
static char *category_of(const LilvPlugin *plugin)
{
    const LilvPluginClass *class = lilv_plugin_get_class(plugin);
    const LilvNode *label = class ? lilv_plugin_class_get_label(class) : NULL;
    const char *text = label ? lilv_node_as_string(label) : "Plugin";
    const char *end = strstr(text, " Plugin");
    if (end)
        return strndup(text, (size_t)(end - text));
    return strcmp(text, "Plugin") == 0 ? NULL : strdup(text);
}

static char *file_of(const LilvPlugin *plugin)
{
    const LilvNode *uri = lilv_plugin_get_library_uri(plugin);
    char *path = lilv_node_get_path(uri ? uri : lilv_plugin_get_bundle_uri(plugin), NULL);
    char *copy = path ? strdup(path) : NULL;
    lilv_free(path);
    return copy;
}

static const char *unknown_feature(const struct plugin_info *info)
{
    for (size_t i = 0; i < info->feature_count; i++)
        if (!lv2_features_know(info->features[i]))
            return info->features[i];
    return NULL;
}

static char *unknown_option(const LilvPlugin *plugin)
{
    char *unknown = NULL;
    LilvNodes *options = lilv_plugin_get_value(plugin, lv2_world_node(LV2_OPTIONS__requiredOption));
    LILV_FOREACH(nodes, i, options)
    {
        const LilvNode *option = lilv_nodes_get(options, i);
        if (!unknown && !lv2_features_know_option(lilv_node_as_string(option)))
            unknown = strdup(lilv_node_as_string(option));
    }
    lilv_nodes_free(options);
    return unknown;
}

static const char *unknown_port(const LilvPlugin *plugin, const struct plugin_info *info)
{
    for (size_t i = 0; i < info->port_count; i++)
        if (!lv2_describe_knows(plugin, lilv_plugin_get_port_by_index(plugin, (uint32_t)i)))
            return info->ports[i].symbol;
    return NULL;
}

static enum status find_refusal(const LilvPlugin *plugin, struct plugin_info *info)
{
    const char *feature = unknown_feature(info), *port = unknown_port(plugin, info);
    char *option = unknown_option(plugin);
    int length = 0;
    if (feature)
        length = asprintf(&info->refusal, "it requires the feature %s", feature);
    else if (option)
        length = asprintf(&info->refusal, "it requires the option %s", option);
    else if (port)
        length = asprintf(&info->refusal, "its port %s is of a type that halo does not know", port);
    else if (!lilv_plugin_get_library_uri(plugin))
        length = asprintf(&info->refusal, "its bundle names no library");
    free(option);
    return length < 0 ? fail_memory("a plugin") : STATUS_OK;
}

static enum status describe_ports(const LilvPlugin *plugin, struct plugin_info *info)
{
    size_t count = lilv_plugin_get_num_ports(plugin);
    info->ports = calloc(count + 1, sizeof *info->ports);
    if (!info->ports)
        return fail_memory("a plugin's ports");
    for (size_t i = 0; i < count; i++) {
        const LilvPort *port = lilv_plugin_get_port_by_index(plugin, (uint32_t)i);
        info->port_count++; /* freed even where only half described */
        if (lv2_describe_port(plugin, port, &info->ports[i]) != STATUS_OK)
            return STATUS_FAILED;
    }
    return lv2_describe_ranges(plugin, info);
}

static bool keeps_state(const LilvPlugin *plugin)
{
    const LilvNode *interface = lv2_world_node(LV2_STATE__interface);
    return interface && lilv_plugin_has_extension_data(plugin, interface);
}

static enum status describe(const LilvPlugin *plugin, struct plugin_info *info)
{
    info->kind = &plugin_lv2;
    info->id = strdup(lilv_node_as_uri(lilv_plugin_get_uri(plugin)));
    info->name = lv2_world_text(lilv_plugin_get_name(plugin));
    info->maker = lv2_world_text(lilv_plugin_get_author_name(plugin));
    info->category = category_of(plugin);
    info->file = file_of(plugin);
    info->keeps_state = keeps_state(plugin);
    if (info->id && !info->name)
        info->name = strdup(info->id);
    if (!info->id || !info->name || !info->file)
        return fail_memory("a plugin");
    TRY(copy_uris(lilv_plugin_get_required_features(plugin), &info->features,
                  &info->feature_count));
    TRY(describe_ports(plugin, info));
    TRY(lv2_describe_parameters(plugin, info));
    TRY(lv2_describe_presets(plugin, info));
    return find_refusal(plugin, info);
}

enum status lv2_describe(const char *uri, struct plugin_info **result)
{
    const LilvPlugin *plugin;
    if (lv2_world_find(uri, &plugin) != STATUS_OK)
        return STATUS_FAILED;
    struct plugin_info *info = calloc(1, sizeof *info);
    if (!info)
        return fail_memory("a plugin");
    enum status status = describe(plugin, info);
    if (status == STATUS_OK)
        *result = info;
    else
        plugin_info_destroy(info);
    return status;
}
