#include "plugin/plugin_lv2.h"

#include <lv2/atom/atom.h>
#include <lv2/buf-size/buf-size.h>
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

/* What asks for blocks of a certain kind would not like them to be split, even where it can do
 * without. */
static bool wants_whole_blocks(const LilvPlugin *plugin)
{
    static const char *const kinds[] = {LV2_BUF_SIZE__fixedBlockLength,
                                        LV2_BUF_SIZE__powerOf2BlockLength,
                                        LV2_BUF_SIZE__coarseBlockLength};
    LilvNodes *least = lilv_plugin_get_value(plugin, lv2_world_node(LV2_BUF_SIZE__minBlockLength));
    bool wants = least && lilv_nodes_size(least) > 0;
    lilv_nodes_free(least);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        wants |= lilv_plugin_has_feature(plugin, lv2_world_node(kinds[i]));
    return wants;
}

/* The rdfs:label, else the end of the URI. */
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

/* Bundles of LSP Plugins 1.2 omit the plugin from the URIs of parameters,
 * http://lsp-plug.in//ports#ifn, but the library expects PLUGIN/ports#ifn. */
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

/* Allocate a list of elements of `size` bytes and `add` each of `nodes`, which it frees. */
static enum status add_all(LilvNodes *nodes, void *list, size_t size, struct plugin_info *info,
                           enum status (*add)(LilvWorld *, const LilvNode *, struct plugin_info *))
{
    LilvWorld *world;
    void *elements = calloc((nodes ? lilv_nodes_size(nodes) : 0) + 1, size);
    memcpy(list, &elements, sizeof elements);
    enum status status = elements ? lv2_world_get(&world) : fail_memory("a plugin's parameters");
    LILV_FOREACH(nodes, i, nodes)
    if (status == STATUS_OK)
        status = add(world, lilv_nodes_get(nodes, i), info);
    lilv_nodes_free(nodes);
    return status;
}

static enum status add_feature(LilvWorld *world, const LilvNode *node, struct plugin_info *info)
{
    (void)world;
    if (!lilv_node_is_uri(node))
        return STATUS_OK;
    char *uri = info->features[info->feature_count] = strdup(lilv_node_as_uri(node));
    info->feature_count += uri != NULL;
    return uri ? STATUS_OK : fail_memory("a plugin's features");
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
    lilv_world_load_resource(world, node); /* the label may be in a separate file */
    info->preset_count++;
    preset->uri = strdup(lilv_node_as_uri(node));
    preset->name = label_of(world, node);
    return preset->uri && preset->name ? STATUS_OK : fail_memory("a plugin's presets");
}

/* "Amplifier Plugin" -> "Amplifier"; NULL for plain "Plugin". */
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

static enum status find_refusal(const LilvPlugin *plugin, struct plugin_info *info)
{
    const char *feature = NULL, *port = NULL;
    char *option = unknown_option(plugin);
    int length = 0;
    for (size_t i = info->feature_count; i-- > 0;)
        if (!lv2_features_know(info->features[i]))
            feature = info->features[i];
    for (size_t i = info->port_count; i-- > 0;)
        if (!lv2_describe_knows(plugin, lilv_plugin_get_port_by_index(plugin, (uint32_t)i)))
            port = info->ports[i].symbol;
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
    TRY(lv2_describe_flaw(plugin, &info->refusal));
    if (info->refusal)
        return STATUS_OK;
    size_t count = lilv_plugin_get_num_ports(plugin);
    info->ports = calloc(count + 1, sizeof *info->ports);
    if (!info->ports)
        return fail_memory("a plugin's ports");
    for (size_t i = 0; i < count; i++) {
        const LilvPort *port = lilv_plugin_get_port_by_index(plugin, (uint32_t)i);
        info->port_count++; /* freed even where only half described */
        TRY(lv2_describe_port(plugin, port, &info->ports[i]));
    }
    return lv2_describe_ranges(plugin, info);
}

static enum status describe(const LilvPlugin *plugin, struct plugin_info *info)
{
    info->kind = &plugin_lv2;
    info->id = strdup(lilv_node_as_uri(lilv_plugin_get_uri(plugin)));
    info->name = lv2_world_text(lilv_plugin_get_name(plugin));
    info->maker = lv2_world_text(lilv_plugin_get_author_name(plugin));
    info->category = category_of(plugin);
    info->file = file_of(plugin);
    info->keeps_state =
        lilv_plugin_has_extension_data(plugin, lv2_world_node(LV2_STATE__interface));
    info->wants_whole_blocks = wants_whole_blocks(plugin);
    if (info->id && !info->name)
        info->name = strdup(info->id);
    if (!info->id || !info->name || !info->file)
        return fail_memory("a plugin");
    TRY(add_all(lilv_plugin_get_required_features(plugin), &info->features, sizeof *info->features,
                info, add_feature));
    TRY(describe_ports(plugin, info));
    TRY(add_all(lilv_plugin_get_value(plugin, lv2_world_node(LV2_PATCH__writable)),
                &info->parameters, sizeof *info->parameters, info, add_parameter));
    TRY(add_all(lilv_plugin_get_related(plugin, lv2_world_node(LV2_PRESETS__Preset)),
                &info->presets, sizeof *info->presets, info, add_preset));
    qsort(info->presets, info->preset_count, sizeof *info->presets, by_name);
    return info->refusal ? STATUS_OK : find_refusal(plugin, info);
}

enum status lv2_describe(const char *uri, struct plugin_info **result)
{
    const LilvPlugin *plugin;
    TRY(lv2_world_find(uri, &plugin));
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
