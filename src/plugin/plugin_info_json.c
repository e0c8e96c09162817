#include "plugin/plugin_info_json.h"

#include "base/json_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const port_types[] = {[PLUGIN_AUDIO] = "audio",
                                         [PLUGIN_CONTROL] = "control",
                                         [PLUGIN_CV] = "cv",
                                         [PLUGIN_ATOM] = "atom"};
static const char *const parameter_types[] = {
    [PLUGIN_FLOAT] = "float", [PLUGIN_DOUBLE] = "double", [PLUGIN_INT] = "int",
    [PLUGIN_LONG] = "long",   [PLUGIN_BOOL] = "bool",     [PLUGIN_STRING] = "string",
    [PLUGIN_PATH] = "path",   [PLUGIN_URI] = "uri"};
enum {
    PORT_TYPES = sizeof port_types / sizeof *port_types,
    PARAMETER_TYPES = sizeof parameter_types / sizeof *parameter_types
};

static const struct {
    const char *name;
    size_t offset;
} flags[] = {{"side_chain", offsetof(struct plugin_port, is_side_chain)},
             {"latency", offsetof(struct plugin_port, is_latency)},
             {"integer", offsetof(struct plugin_port, is_integer)},
             {"toggle", offsetof(struct plugin_port, is_toggle)},
             {"enumeration", offsetof(struct plugin_port, is_enumeration)},
             {"logarithmic", offsetof(struct plugin_port, is_logarithmic)},
             {"counts_in_rate", offsetof(struct plugin_port, counts_in_rate)},
             {"initial_counts_in_rate", offsetof(struct plugin_port, initial_counts_in_rate)}};
enum { FLAGS = sizeof flags / sizeof *flags };

/* ---- to JSON ---- */

static json_t *text_or_null(const char *text)
{
    return text ? json_text(text) : json_null();
}

static json_t *number_or_null(float number)
{
    return isfinite(number) ? json_real((double)number) : json_null();
}

static json_t *port_object(const struct plugin_port *port)
{
    json_t *points = json_array();
    for (size_t i = 0; i < port->point_count; i++)
        json_array_append_new(points,
                              json_pack("{s:o, s:o}", "label", json_text(port->points[i].label),
                                        "value", number_or_null(port->points[i].value)));
    json_t *object =
        json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "type", port_types[port->type],
                  "direction", port->is_input ? "in" : "out", "symbol", json_text(port->symbol),
                  "name", json_text(port->name), "unit", text_or_null(port->unit), "minimum",
                  number_or_null(port->minimum), "maximum", number_or_null(port->maximum),
                  "initial", number_or_null(port->initial), "points", points);
    for (size_t i = 0; i < FLAGS; i++)
        json_object_set_new(object, flags[i].name,
                            json_boolean(*(const bool *)((const char *)port + flags[i].offset)));
    return object;
}

static json_t *named_object(const char *uri, const char *name)
{
    return json_pack("{s:o, s:o}", "uri", json_text(uri), "name", text_or_null(name));
}

json_t *plugin_info_object(const struct plugin_info *info)
{
    json_t *ports = json_array(), *parameters = json_array(), *presets = json_array();
    json_t *features = json_array();
    for (size_t i = 0; i < info->port_count; i++)
        json_array_append_new(ports, port_object(&info->ports[i]));
    for (size_t i = 0; i < info->parameter_count; i++) {
        json_t *parameter = named_object(info->parameters[i].uri, info->parameters[i].name);
        json_object_set_new(parameter, "type",
                            json_string(parameter_types[info->parameters[i].type]));
        json_array_append_new(parameters, parameter);
    }
    for (size_t i = 0; i < info->preset_count; i++)
        json_array_append_new(presets, named_object(info->presets[i].uri, info->presets[i].name));
    for (size_t i = 0; i < info->feature_count; i++)
        json_array_append_new(features, json_text(info->features[i]));
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:o}", "kind",
                     info->kind->name, "id", json_text(info->id), "name", text_or_null(info->name),
                     "maker", text_or_null(info->maker), "category", text_or_null(info->category),
                     "file", text_or_null(info->file), "keeps_state", info->keeps_state, "refusal",
                     text_or_null(info->refusal), "ports", ports, "parameters", parameters,
                     "presets", presets, "features", features);
}

/* ---- from JSON ---- */

/* NULL stays NULL; false: memory, or no text where there must be one. */
static bool take_text(const json_t *object, const char *key, bool must, char **text)
{
    const char *value = json_string_value(json_object_get(object, key));
    *text = value ? strdup(value) : NULL;
    return *text || (!value && !must);
}

static float take_number(const json_t *object, const char *key, float unknown)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? (float)json_number_value(value) : unknown;
}

static bool take_word(const json_t *object, const char *key, const char *const *names, size_t count,
                      size_t *index)
{
    const char *word = json_string_value(json_object_get(object, key));
    for (*index = 0; word && *index < count; ++*index)
        if (strcmp(names[*index], word) == 0)
            return true;
    return false;
}

/* As many zeroed elements as the array of that name has. */
static void *take_array(const json_t *object, const char *key, size_t size, const json_t **array,
                        size_t *count)
{
    *array = json_object_get(object, key);
    *count = 0;
    size_t length = json_array_size(*array);
    void *elements = calloc(length + 1, size);
    if (elements)
        *count = length;
    return elements;
}

static bool take_port(const json_t *object, struct plugin_port *port)
{
    size_t type;
    const char *direction = json_string_value(json_object_get(object, "direction"));
    bool taken = take_word(object, "type", port_types, PORT_TYPES, &type) && direction &&
                 take_text(object, "symbol", true, &port->symbol) &&
                 take_text(object, "name", true, &port->name) &&
                 take_text(object, "unit", false, &port->unit);
    if (!taken)
        return false;
    port->type = (enum plugin_port_type)type;
    port->is_input = strcmp(direction, "in") == 0;
    port->minimum = take_number(object, "minimum", -INFINITY);
    port->maximum = take_number(object, "maximum", INFINITY);
    port->initial = take_number(object, "initial", 0);
    for (size_t i = 0; i < FLAGS; i++)
        *(bool *)((char *)port + flags[i].offset) =
            json_is_true(json_object_get(object, flags[i].name));
    const json_t *points;
    port->points = take_array(object, "points", sizeof *port->points, &points, &port->point_count);
    for (size_t i = 0; taken && i < port->point_count; i++) {
        const json_t *point = json_array_get(points, i);
        taken = take_text(point, "label", true, &port->points[i].label);
        port->points[i].value = take_number(point, "value", 0);
    }
    return taken && port->points;
}

static bool take_ports(const json_t *object, struct plugin_info *info)
{
    const json_t *ports;
    info->ports = take_array(object, "ports", sizeof *info->ports, &ports, &info->port_count);
    bool taken = info->ports != NULL;
    for (size_t i = 0; taken && i < info->port_count; i++)
        taken = take_port(json_array_get(ports, i), &info->ports[i]);
    return taken;
}

static bool take_parameters(const json_t *object, struct plugin_info *info)
{
    const json_t *array;
    info->parameters =
        take_array(object, "parameters", sizeof *info->parameters, &array, &info->parameter_count);
    bool taken = info->parameters != NULL;
    for (size_t i = 0, type = 0; taken && i < info->parameter_count; i++) {
        const json_t *parameter = json_array_get(array, i);
        taken = take_text(parameter, "uri", true, &info->parameters[i].uri) &&
                take_text(parameter, "name", false, &info->parameters[i].name) &&
                take_word(parameter, "type", parameter_types, PARAMETER_TYPES, &type);
        info->parameters[i].type = (enum plugin_parameter_type)type;
    }
    return taken;
}

static bool take_presets(const json_t *object, struct plugin_info *info)
{
    const json_t *array;
    info->presets =
        take_array(object, "presets", sizeof *info->presets, &array, &info->preset_count);
    bool taken = info->presets != NULL;
    for (size_t i = 0; taken && i < info->preset_count; i++)
        taken = take_text(json_array_get(array, i), "uri", true, &info->presets[i].uri) &&
                take_text(json_array_get(array, i), "name", false, &info->presets[i].name);
    return taken;
}

static bool take_features(const json_t *object, struct plugin_info *info)
{
    const json_t *array;
    info->features =
        take_array(object, "features", sizeof *info->features, &array, &info->feature_count);
    bool taken = info->features != NULL;
    for (size_t i = 0; taken && i < info->feature_count; i++) {
        const char *uri = json_string_value(json_array_get(array, i));
        info->features[i] = uri ? strdup(uri) : NULL;
        taken = info->features[i] != NULL;
    }
    return taken;
}

enum status plugin_info_of_object(const json_t *object, struct plugin_info **result)
{
    const char *kind = json_string_value(json_object_get(object, "kind"));
    struct plugin_info *info = calloc(1, sizeof *info);
    if (!info)
        return fail_memory("a plugin");
    info->kind = kind ? plugin_kind_named(kind) : NULL;
    info->keeps_state = json_is_true(json_object_get(object, "keeps_state"));
    bool taken = info->kind && take_text(object, "id", true, &info->id) &&
                 take_text(object, "name", true, &info->name) &&
                 take_text(object, "maker", false, &info->maker) &&
                 take_text(object, "category", false, &info->category) &&
                 take_text(object, "file", false, &info->file) &&
                 take_text(object, "refusal", false, &info->refusal) && take_ports(object, info) &&
                 take_parameters(object, info) && take_presets(object, info) &&
                 take_features(object, info);
    if (taken) {
        *result = info;
        return STATUS_OK;
    }
    plugin_info_destroy(info);
    return fail(STATUS_FAILED, "cannot understand what a plugin says of itself");
}
