#include "plugin/plugin_lv2.h"

#include <lv2/atom/atom.h>
#include <lv2/core/lv2.h>
#include <lv2/event/event.h>
#include <lv2/port-groups/port-groups.h>
#include <lv2/port-props/port-props.h>
#include <lv2/units/units.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Newer than the headers of Debian 12. */
#define IS_SIDE_CHAIN LV2_CORE_PREFIX "isSideChain"

static bool is_a(const LilvPlugin *plugin, const LilvPort *port, const char *class)
{
    return lilv_port_is_a(plugin, port, lv2_world_node(class));
}

static bool has(const LilvPlugin *plugin, const LilvPort *port, const char *property)
{
    return lilv_port_has_property(plugin, port, lv2_world_node(property));
}

/* ---- what is refused ---- */

/* Of an unfit index: SIZE_MAX. */
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

/* The symbols by index; a port that is described twice is one port. */
struct port_indices {
    size_t count, most; /* different ones; the largest */
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

enum status lv2_describe_flaw(const LilvPlugin *plugin, char **flaw)
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

bool lv2_describe_knows(const LilvPlugin *plugin, const LilvPort *port)
{
    static const char *const types[] = {LV2_CORE__AudioPort, LV2_CORE__ControlPort,
                                        LV2_CORE__CVPort, LV2_ATOM__AtomPort, LV2_EVENT__EventPort};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (is_a(plugin, port, types[i]))
            return true;
    return has(plugin, port, LV2_CORE__connectionOptional);
}

/* Events come as atoms or, in old plugins, by the event extension. A port of unknown type that the
 * plugin does not need counts as one for events. */
static enum plugin_port_type type_of(const LilvPlugin *plugin, const LilvPort *port)
{
    if (is_a(plugin, port, LV2_CORE__AudioPort))
        return PLUGIN_AUDIO;
    if (is_a(plugin, port, LV2_CORE__ControlPort))
        return PLUGIN_CONTROL;
    return is_a(plugin, port, LV2_CORE__CVPort) ? PLUGIN_CV : PLUGIN_ATOM;
}

/* By a property of the port or of its group. */
static bool is_side_chain(const LilvPlugin *plugin, const LilvPort *port)
{
    if (has(plugin, port, IS_SIDE_CHAIN))
        return true;
    LilvNode *group = lilv_port_get(plugin, port, lv2_world_node(LV2_PORT_GROUPS__group));
    bool is = group && lv2_world_says(group, LV2_PORT_GROUPS__sideChainOf, NULL);
    lilv_node_free(group);
    return is;
}

/* The unit in a format, for units without a symbol: "%f dB" -> "dB", "%f%%" -> "%". */
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

enum status lv2_describe_port(const LilvPlugin *plugin, const LilvPort *port,
                              struct plugin_port *result)
{
    const LilvNode *symbol = lilv_port_get_symbol(plugin, port);
    *result = (struct plugin_port){.type = type_of(plugin, port),
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
    /* lv2:sampleRate speaks of the bounds only; most plugins mean the default too. */
    port->initial_counts_in_rate =
        port->counts_in_rate && port->initial >= port->minimum && port->initial <= port->maximum;
}

enum status lv2_describe_ranges(const LilvPlugin *plugin, struct plugin_info *info)
{
    size_t count = info->port_count;
    float *values = malloc((3 * count + 1) * sizeof *values);
    if (!values)
        return fail_memory("a plugin's ports");
    lilv_plugin_get_port_ranges_float(plugin, values, values + count, values + 2 * count);
    for (size_t i = 0; i < count; i++)
        set_range(&info->ports[i], values[i], values[count + i], values[2 * count + i]);
    free(values);
    /* On, whatever the bundle's default is, unless the user switches it off. */
    const LilvPort *enabled = lilv_plugin_get_port_by_designation(
        plugin, lv2_world_node(LV2_CORE__InputPort), lv2_world_node(LV2_CORE__enabled));
    if (enabled)
        info->ports[lilv_port_get_index(plugin, enabled)].initial = 1.0F;
    return STATUS_OK;
}
