/* What an LV2 plugin is told by messages instead of by ports, and its presets. */
#include "plugin/plugin_lv2_describe.h"
#include "plugin/plugin_lv2_world.h"

#include <lv2/atom/atom.h>
#include <lv2/patch/patch.h>
#include <lv2/presets/presets.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *range;
    enum plugin_parameter_type type;
} ranges[] = {
    {LV2_ATOM__Float, PLUGIN_FLOAT},      {LV2_ATOM__Double, PLUGIN_DOUBLE},
    {LV2_ATOM__Int, PLUGIN_INT},          {LV2_ATOM__Long, PLUGIN_LONG},
    {LV2_ATOM__Bool, PLUGIN_BOOL},        {LV2_ATOM__String, PLUGIN_STRING},
    {LV2_ATOM__Path, PLUGIN_PATH},        {LV2_ATOM__URI, PLUGIN_URI},
    {LILV_NS_XSD "float", PLUGIN_FLOAT},  {LILV_NS_XSD "double", PLUGIN_DOUBLE},
    {LILV_NS_XSD "int", PLUGIN_INT},      {LILV_NS_XSD "long", PLUGIN_LONG},
    {LILV_NS_XSD "boolean", PLUGIN_BOOL}, {LILV_NS_XSD "string", PLUGIN_STRING},
};

static bool type_of(const LilvNode *parameter, enum plugin_parameter_type *type)
{
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (lv2_world_says(parameter, LILV_NS_RDFS "range", ranges[i].range)) {
            *type = ranges[i].type;
            return true;
        }
    return false;
}

/* rdfs:label of a thing, else its URI's end. */
static char *label_of(LilvWorld *world, const LilvNode *thing)
{
    char *label =
        lv2_world_text(lilv_world_get(world, thing, lv2_world_node(LILV_NS_RDFS "label"), NULL));
    if (label)
        return label;
    const char *uri = lilv_node_as_uri(thing), *end = strrchr(uri, '#');
    end = end ? end : strrchr(uri, '/');
    return strdup(end ? end + 1 : uri);
}

/* The URI that the plugin itself knows. Bundles of LSP Plugins 1.2 leave the plugin's out of
 * its parameters': http://lsp-plug.in//ports#ifn; the library looks for PLUGIN/ports#ifn. */
static char *uri_of(const LilvNode *parameter, const struct plugin_info *info)
{
    static const char slip[] = "http://lsp-plug.in//ports#";
    const char *uri = lilv_node_as_uri(parameter);
    char *whole;
    if (strncmp(uri, slip, sizeof slip - 1) != 0)
        return strdup(uri);
    return asprintf(&whole, "%s/ports#%s", info->id, uri + sizeof slip - 1) < 0 ? NULL : whole;
}

static enum status add_parameter(LilvWorld *world, const LilvNode *node, struct plugin_info *info)
{
    struct plugin_parameter *parameter = &info->parameters[info->parameter_count];
    if (!lilv_node_is_uri(node) || !type_of(node, &parameter->type))
        return STATUS_OK;
    info->parameter_count++;
    parameter->uri = uri_of(node, info);
    parameter->name = label_of(world, node);
    return parameter->uri && parameter->name ? STATUS_OK : fail_memory("a plugin's parameters");
}

enum status lv2_describe_parameters(const LilvPlugin *plugin, struct plugin_info *info)
{
    LilvWorld *world;
    if (lv2_world_get(&world) != STATUS_OK)
        return STATUS_FAILED;
    enum status status = STATUS_OK;
    LilvNodes *nodes = lilv_plugin_get_value(plugin, lv2_world_node(LV2_PATCH__writable));
    info->parameters = calloc((nodes ? lilv_nodes_size(nodes) : 0) + 1, sizeof *info->parameters);
    if (!info->parameters)
        status = fail_memory("a plugin's parameters");
    LILV_FOREACH(nodes, i, nodes)
    if (status == STATUS_OK)
        status = add_parameter(world, lilv_nodes_get(nodes, i), info);
    lilv_nodes_free(nodes);
    return status;
}

static int by_name(const void *a, const void *b)
{
    const struct plugin_preset *left = a, *right = b;
    int order = strcasecmp(left->name, right->name);
    return order ? order : strcmp(left->uri, right->uri);
}

static enum status add_preset(LilvWorld *world, const LilvNode *node, struct plugin_info *info)
{
    struct plugin_preset *preset = &info->presets[info->preset_count];
    if (!lilv_node_is_uri(node))
        return STATUS_OK;
    lilv_world_load_resource(world, node); /* its label may lie in a file of its own */
    info->preset_count++;
    preset->uri = strdup(lilv_node_as_uri(node));
    preset->name = label_of(world, node);
    return preset->uri && preset->name ? STATUS_OK : fail_memory("a plugin's presets");
}

enum status lv2_describe_presets(const LilvPlugin *plugin, struct plugin_info *info)
{
    LilvWorld *world;
    if (lv2_world_get(&world) != STATUS_OK)
        return STATUS_FAILED;
    enum status status = STATUS_OK;
    LilvNodes *nodes = lilv_plugin_get_related(plugin, lv2_world_node(LV2_PRESETS__Preset));
    info->presets = calloc((nodes ? lilv_nodes_size(nodes) : 0) + 1, sizeof *info->presets);
    if (!info->presets)
        status = fail_memory("a plugin's presets");
    LILV_FOREACH(nodes, i, nodes)
    if (status == STATUS_OK)
        status = add_preset(world, lilv_nodes_get(nodes, i), info);
    lilv_nodes_free(nodes);
    if (status == STATUS_OK)
        qsort(info->presets, info->preset_count, sizeof *info->presets, by_name);
    return status;
}
