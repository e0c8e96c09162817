#include "plugin/lv2/plugin_lv2.h"

#include <lv2/atom/atom.h>
#include <lv2/buf-size/buf-size.h>
#include <lv2/core/lv2.h>
#include <lv2/event/event.h>
#include <lv2/patch/patch.h>
#include <lv2/port-groups/port-groups.h>
#include <lv2/port-props/port-props.h>
#include <lv2/presets/presets.h>
#include <lv2/units/units.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The headers of Debian 12 lack this property. */
#define IS_SIDE_CHAIN LV2_CORE_PREFIX "isSideChain"

static bool is_a(const LilvPlugin *plugin, const LilvPort *port, const char *class)
{
    return lilv_port_is_a(plugin, port, lv2_world_node(class));
}

static bool has(const LilvPlugin *plugin, const LilvPort *port, const char *property)
{
    return lilv_port_has_property(plugin, port, lv2_world_node(property));
}

/* ---- plugins that are refused ---- */

/* The value of an index; SIZE_MAX: it is not valid. */
static size_t index_of(const LilvNode *index)
{
    const char *text = lilv_node_is_int(index) ? lilv_node_as_string(index) : "";
    size_t digits = strspn(text, "0123456789");
    return digits == 0 || text[digits] || digits > 9 ? SIZE_MAX : strtoul(text, NULL, 10);
}

static bool is_symbol(const LilvNode *symbol)
{
    const char *text = lilv_node_is_string(symbol) ? lilv_node_as_string(symbol) : "";
    static const char letters[] = "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    return text[0] && !(text[0] >= '0' && text[0] <= '9') && !text[strspn(text, letters)];
}

/* Symbols by index. A port that is described twice counts once. */
struct port_indices {
    size_t count, most; /* number of different indices; the largest index */
    LilvNode *symbols[PLUGIN_PORTS_MOST];
    char *flaw;
};

static int take_index(struct port_indices *indices, const LilvNode *index, LilvNode *symbol)
{
    size_t at = index_of(index);
    if (at >= PLUGIN_PORTS_MOST)
        return asprintf(&indices->flaw, "a port has the index '%.40s'; 0 to %d are possible",
                        index ? lilv_node_as_string(index) : "", PLUGIN_PORTS_MOST - 1);
    if (!is_symbol(symbol))
        return asprintf(&indices->flaw, "port %zu has the invalid symbol '%.40s'", at,
                        symbol ? lilv_node_as_string(symbol) : "");
    if (indices->symbols[at] && !lilv_node_equals(indices->symbols[at], symbol))
        return asprintf(&indices->flaw, "two ports, %.40s and %.40s, have the index %zu",
                        lilv_node_as_string(indices->symbols[at]), lilv_node_as_string(symbol), at);
    indices->count += !indices->symbols[at];
    if (!indices->symbols[at])
        indices->symbols[at] = lilv_node_duplicate(symbol);
    indices->most = at > indices->most ? at : indices->most;
    return 0;
}

static int take_indices(struct port_indices *indices, LilvWorld *world, const LilvNodes *ports)
{
    int result = 0;
    if (lilv_nodes_size(ports) > PLUGIN_PORTS_MOST)
        return asprintf(&indices->flaw, "it has %u ports; %d are possible", lilv_nodes_size(ports),
                        PLUGIN_PORTS_MOST);
    LILV_FOREACH(nodes, i, ports)
    {
        const LilvNode *port = lilv_nodes_get(ports, i);
        LilvNode *index = lilv_world_get(world, port, lv2_world_node(LV2_CORE__index), NULL);
        LilvNode *symbol = lilv_world_get(world, port, lv2_world_node(LV2_CORE__symbol), NULL);
        if (result == 0)
            result = take_index(indices, index, symbol);
        lilv_node_free(index);
        lilv_node_free(symbol);
    }
    if (result == 0 && indices->count > 0 && indices->most + 1 != indices->count)
        return asprintf(&indices->flaw, "it has %zu ports, and one with the index %zu",
                        indices->count, indices->most);
    return result;
}

/* *flaw: why the ports cannot be described, which the caller frees; NULL: they can. Without this
 * check lilv would allocate as much memory as an index says. */
static enum status lv2_describe_flaw(const LilvPlugin *plugin, char **flaw)
{
    LilvWorld *world;
    TRY(lv2_world_get(&world));
    struct port_indices *indices = calloc(1, sizeof *indices);
    if (!indices)
        return fail_memory("a plugin's ports");
    LilvNodes *ports = lilv_plugin_get_value(plugin, lv2_world_node(LV2_CORE__port));
    int result = take_indices(indices, world, ports);
    *flaw = indices->flaw;
    for (size_t i = 0; i <= indices->most; i++)
        lilv_node_free(indices->symbols[i]);
    lilv_nodes_free(ports);
    free(indices);
    return result < 0 ? fail_memory("a plugin's ports") : STATUS_OK;
}

/* ---- a port ---- */

/* Whether halo knows the type of a port, or the plugin does not need the port. */
static bool lv2_describe_knows(const LilvPlugin *plugin, const LilvPort *port)
{
    static const char *const types[] = {LV2_CORE__AudioPort, LV2_CORE__ControlPort,
                                        LV2_CORE__CVPort, LV2_ATOM__AtomPort, LV2_EVENT__EventPort};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (is_a(plugin, port, types[i]))
            return true;
    return has(plugin, port, LV2_CORE__connectionOptional);
}

/* The type of a port. Events come as atoms or, in old plugins, by the event extension. A port of
 * unknown type that the plugin does not need counts as one for events. */
static enum plugin_port_type port_type(const LilvPlugin *plugin, const LilvPort *port)
{
    if (is_a(plugin, port, LV2_CORE__AudioPort))
        return PLUGIN_AUDIO;
    if (is_a(plugin, port, LV2_CORE__ControlPort))
        return PLUGIN_CONTROL;
    return is_a(plugin, port, LV2_CORE__CVPort) ? PLUGIN_CV : PLUGIN_ATOM;
}

/* Whether a property of the port or of its group says that it is a side chain. */
static bool is_side_chain(const LilvPlugin *plugin, const LilvPort *port)
{
    if (has(plugin, port, IS_SIDE_CHAIN))
        return true;
    LilvNode *group = lilv_port_get(plugin, port, lv2_world_node(LV2_PORT_GROUPS__group));
    bool is = group && lv2_world_says(group, LV2_PORT_GROUPS__sideChainOf, NULL);
    lilv_node_free(group);
    return is;
}

/* The unit in a format string, for units without a symbol: "%f dB" -> "dB", "%f%%" -> "%". */
static char *rendered_unit(char *render)
{
    const char *at = render ? strchr(render, '%') : NULL;
    at = at ? strpbrk(at, "dfgi") : NULL;
    const char *unit = at ? at + 1 + strspn(at + 1, " ") : "";
    char *copy = strdup(strncmp(unit, "%%", 2) == 0 ? "%" : unit);
    free(render);
    return copy;
}

static char *unit_of(const LilvPlugin *plugin, const LilvPort *port)
{
    LilvWorld *world;
    LilvNode *unit = lilv_port_get(plugin, port, lv2_world_node(LV2_UNITS__unit));
    if (!unit || lv2_world_get(&world) != STATUS_OK)
        return NULL;
    char *text =
        lv2_world_text(lilv_world_get(world, unit, lv2_world_node(LV2_UNITS__symbol), NULL));
    if (!text)
        text = rendered_unit(
            lv2_world_text(lilv_world_get(world, unit, lv2_world_node(LV2_UNITS__render), NULL)));
    lilv_node_free(unit);
    if (text && !*text) {
        free(text);
        text = NULL;
    }
    return text;
}

static int by_value(const void *a, const void *b)
{
    const struct plugin_point *left = a, *right = b;
    return left->value < right->value ? -1 : left->value > right->value;
}

static enum status describe_points(const LilvPlugin *plugin, const LilvPort *port,
                                   struct plugin_port *result)
{
    LilvScalePoints *points = lilv_port_get_scale_points(plugin, port);
    if (!points)
        return STATUS_OK;
    result->points = calloc(lilv_scale_points_size(points), sizeof *result->points);
    LILV_FOREACH(scale_points, i, points)
    {
        const LilvScalePoint *point = lilv_scale_points_get(points, i);
        const LilvNode *value = lilv_scale_point_get_value(point);
        if (!result->points || !(lilv_node_is_float(value) || lilv_node_is_int(value)))
            continue;
        struct plugin_point *made = &result->points[result->point_count];
        made->label = strdup(lilv_node_as_string(lilv_scale_point_get_label(point)));
        made->value = lilv_node_as_float(value);
        if (!made->label)
            break;
        result->point_count++;
    }
    lilv_scale_points_free(points);
    if (!result->points)
        return fail_memory("a plugin's ports");
    qsort(result->points, result->point_count, sizeof *result->points, by_value);
    return STATUS_OK;
}

static enum status lv2_describe_port(const LilvPlugin *plugin, const LilvPort *port,
                                     struct plugin_port *result)
{
    const LilvNode *symbol = lilv_port_get_symbol(plugin, port);
    *result = (struct plugin_port){.type = port_type(plugin, port),
                                   .is_input = is_a(plugin, port, LV2_CORE__InputPort),
                                   .is_integer = has(plugin, port, LV2_CORE__integer),
                                   .is_toggle = has(plugin, port, LV2_CORE__toggled),
                                   .is_enumeration = has(plugin, port, LV2_CORE__enumeration),
                                   .is_logarithmic = has(plugin, port, LV2_PORT_PROPS__logarithmic),
                                   .counts_in_rate = has(plugin, port, LV2_CORE__sampleRate),
                                   .symbol = strdup(lilv_node_as_string(symbol)),
                                   .name = lv2_world_text(lilv_port_get_name(plugin, port)),
                                   .unit = unit_of(plugin, port)};
    result->is_side_chain =
        result->type == PLUGIN_AUDIO && result->is_input && is_side_chain(plugin, port);
    result->is_latency = result->type == PLUGIN_CONTROL && !result->is_input &&
                         (has(plugin, port, LV2_CORE__reportsLatency) ||
                          lv2_world_says(lilv_port_get_node(plugin, port), LV2_CORE__designation,
                                         LV2_CORE__latency));
    if (!result->name && result->symbol)
        result->name = strdup(result->symbol);
    if (!result->symbol || !result->name)
        return fail_memory("a plugin's ports");
    if (result->type == PLUGIN_CONTROL)
        TRY(describe_points(plugin, port, result));
    result->is_enumeration = result->is_enumeration && result->point_count > 0;
    return STATUS_OK;
}

static void set_range(struct plugin_port *port, float minimum, float maximum, float initial)
{
    port->minimum = isnan(minimum) ? -INFINITY : minimum;
    port->maximum = isnan(maximum) ? INFINITY : maximum;
    if (port->minimum > port->maximum) { /* invalid: treated as unbounded */
        port->minimum = -INFINITY;
        port->maximum = INFINITY;
    }
    port->initial = isfinite(initial) ? initial : fmaxf(port->minimum, fminf(port->maximum, 0.0F));
    /* lv2:sampleRate is about the bounds only, but most plugins also mean the default. */
    port->initial_counts_in_rate =
        port->counts_in_rate && port->initial >= port->minimum && port->initial <= port->maximum;
}

/* The ranges of all ports, after lv2_describe_port of each. */
static enum status lv2_describe_ranges(const LilvPlugin *plugin, struct plugin_info *info)
{
    size_t count = info->port_count;
    float *values = malloc((3 * count + 1) * sizeof *values);
    if (!values)
        return fail_memory("a plugin's ports");
    lilv_plugin_get_port_ranges_float(plugin, values, values + count, values + 2 * count);
    for (size_t i = 0; i < count; i++)
        set_range(&info->ports[i], values[i], values[count + i], values[2 * count + i]);
    free(values);
    /* The port "enabled" is on at first, whatever the bundle's default is. */
    const LilvPort *enabled = lilv_plugin_get_port_by_designation(
        plugin, lv2_world_node(LV2_CORE__InputPort), lv2_world_node(LV2_CORE__enabled));
    if (enabled)
        info->ports[lilv_port_get_index(plugin, enabled)].initial = 1.0F;
    return STATUS_OK;
}

/* ---- the plugin ---- */

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

/* Whether the plugin asks for a kind of block, even as an option: it should get no split blocks. */
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

/* The label of a thing: its rdfs:label, else the end of its URI. */
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
        info->port_count++; /* counted first, so that a half described port is freed */
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
