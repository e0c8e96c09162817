#include "plugin/scan/plugin_info_json.h"

#include "base/json_text.h"
#include "base/printable.h"
#include "base/text_stream.h"
#include "plugin/plugin_instances.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const port_types[] = {[PLUGIN_AUDIO] = "audio",
                                         [PLUGIN_CONTROL] = "control",
                                         [PLUGIN_CV] = "cv",
                                         [PLUGIN_ATOM] = "atom"};
static const char *const parameter_types[] = {[PLUGIN_FLOAT] = "float", [PLUGIN_DOUBLE] = "double",
                                              [PLUGIN_INT] = "int",     [PLUGIN_LONG] = "long",
                                              [PLUGIN_BOOL] = "bool",   [PLUGIN_STRING] = "string",
                                              [PLUGIN_PATH] = "path",   [PLUGIN_URI] = "uri"};
enum { PORT_TYPES = PLUGIN_ATOM + 1, PARAMETER_TYPES = PLUGIN_URI + 1 };

static const struct {
    const char *name;
    size_t offset;
} flags[] = {
    {"side_chain", offsetof(struct plugin_port, is_side_chain)},
    {"latency", offsetof(struct plugin_port, is_latency)},
    {"integer", offsetof(struct plugin_port, is_integer)},
    {"toggle", offsetof(struct plugin_port, is_toggle)},
    {"enumeration", offsetof(struct plugin_port, is_enumeration)},
    {"logarithmic", offsetof(struct plugin_port, is_logarithmic)},
    {"counts_in_rate", offsetof(struct plugin_port, counts_in_rate)},
    {"initial_counts_in_rate", offsetof(struct plugin_port, initial_counts_in_rate)},
};
enum { FLAGS = sizeof flags / sizeof *flags };

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
    json_t *object = json_pack(
        "{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "type", port_types[port->type],
        "direction", port->is_input ? "in" : "out", "symbol", json_text(port->symbol), "name",
        json_text(port->name), "unit", json_text(port->unit), "group", json_text(port->group),
        "minimum", number_or_null(port->minimum), "maximum", number_or_null(port->maximum),
        "initial", number_or_null(port->initial), "points", points);
    for (size_t i = 0; i < FLAGS; i++)
        json_object_set_new(object, flags[i].name,
                            json_boolean(*(const bool *)((const char *)port + flags[i].offset)));
    return object;
}

static json_t *named_object(const char *uri, const char *name)
{
    return json_pack("{s:o, s:o}", "uri", json_text(uri), "name", json_text(name));
}

static json_t *texts_object(char *const *texts, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(array, json_text(texts[i]));
    return array;
}

json_t *plugin_info_object(const struct plugin_info *info)
{
    json_t *ports = json_array(), *parameters = json_array(), *presets = json_array();
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
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:b, s:b, s:b, s:o, s:o, s:o, s:o, s:o}",
                     "kind", info->kind->name, "id", json_text(info->id), "name",
                     json_text(info->name), "maker", json_text(info->maker), "category",
                     json_text(info->category), "file", json_text(info->file), "keeps_state",
                     info->keeps_state, "loads_presets", info->loads_presets, "wants_whole_blocks",
                     info->wants_whole_blocks, "refusal", json_text(info->refusal), "ports", ports,
                     "parameters", parameters, "presets", presets, "features",
                     texts_object(info->features, info->feature_count));
}

struct plugin_row plugin_row_of_info(const struct plugin_info *info)
{
    return (struct plugin_row){.kind = info->kind,
                               .id = info->id,
                               .name = info->name,
                               .maker = info->maker,
                               .category = info->category,
                               .file = info->file,
                               .refusal = info->refusal,
                               .inputs = plugin_instances_inputs(info),
                               .outputs = plugin_instances_outputs(info)};
}

json_t *plugin_row_object(const struct plugin_row *row)
{
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:o}", "kind", row->kind->name, "id",
                     json_text(row->id), "name", json_text(row->name), "maker",
                     json_text(row->maker), "category", json_text(row->category), "file",
                     json_text(row->file), "channels_in", (json_int_t)row->inputs, "channels_out",
                     (json_int_t)row->outputs, "refusal", json_text(row->refusal));
}

json_t *plugin_contents_object(const struct plugin_contents *contents)
{
    return json_pack("{s:b, s:b, s:o, s:o}", "base", contents->is_base, "changing",
                     contents->is_changing, "plugins", texts_object(contents->ids, contents->count),
                     "serves", texts_object(contents->served, contents->served_count));
}

/* ---- reading ---- */

/* Most bytes of a text, and most entries of a list: far more than real plugins have. */
enum { TEXT_MOST = 1 << 16, LIST_MOST = 100000 };

/* Read a text, NULL if missing. False: no memory, a required text is missing, or it is too long. */
static bool read_text(const json_t *object, const char *key, bool must, char **text)
{
    const json_t *value = json_object_get(object, key);
    bool is_there = json_is_string(value);
    *text = is_there && json_string_length(value) <= TEXT_MOST ? strdup(json_string_value(value))
                                                               : NULL;
    return *text || (!is_there && !must);
}

/* Read a number. `unknown` if it is missing or beyond the range of float. */
static float read_number(const json_t *object, const char *key, float unknown)
{
    double value = json_number_value(json_object_get(object, key));
    bool is_there = json_is_number(json_object_get(object, key));
    return is_there && fabs(value) <= (double)FLT_MAX ? (float)value : unknown;
}

static bool read_type(const json_t *object, const char *const *names, size_t count, size_t *type)
{
    const char *name = json_string_value(json_object_get(object, "type"));
    for (*type = 0; name && *type < count; ++*type)
        if (strcmp(names[*type], name) == 0)
            return true;
    return false;
}

/* Read the array of a key as a list of at most `most` elements of `size` bytes, each by `read`.
 * *valid becomes false if an element cannot be read, there are too many, or memory runs out. */
static void *read_list(const json_t *object, const char *key, size_t most, size_t size,
                       size_t *count, bool (*read)(const json_t *element, void *to), bool *valid)
{
    const json_t *array = json_object_get(object, key);
    size_t length = json_array_size(array);
    char *elements = length <= most ? calloc(length + 1, size) : NULL;
    *count = elements ? length : 0;
    *valid = *valid && elements;
    for (size_t i = 0; *valid && i < length; i++)
        *valid = read(json_array_get(array, i), elements + i * size);
    return elements;
}

static bool read_point(const json_t *object, void *to)
{
    struct plugin_point *point = to;
    point->value = read_number(object, "value", 0);
    return read_text(object, "label", true, &point->label);
}

/* Whether the text can be a symbol in SYMBOL=VALUE of a specification. */
static bool is_symbol(const char *symbol)
{
    for (const char *at = symbol; *at; at++)
        if ((unsigned char)*at <= ' ' || *at == 0x7f || strchr(",=\\", *at))
            return false;
    return *symbol;
}

static bool read_range(const json_t *object, struct plugin_port *port)
{
    port->minimum = read_number(object, "minimum", -INFINITY);
    port->maximum = read_number(object, "maximum", INFINITY);
    port->initial = read_number(object, "initial", 0);
    return port->minimum <= port->maximum;
}

static bool read_port(const json_t *object, void *to)
{
    struct plugin_port *port = to;
    size_t type;
    const char *direction = json_string_value(json_object_get(object, "direction"));
    bool valid = read_type(object, port_types, PORT_TYPES, &type) && direction &&
                 read_text(object, "symbol", true, &port->symbol) && is_symbol(port->symbol) &&
                 read_text(object, "name", true, &port->name) &&
                 read_text(object, "unit", false, &port->unit) &&
                 read_text(object, "group", false, &port->group) && read_range(object, port);
    if (!valid)
        return false;
    port->type = (enum plugin_port_type)type;
    port->is_input = strcmp(direction, "in") == 0;
    for (size_t i = 0; i < FLAGS; i++)
        *(bool *)((char *)port + flags[i].offset) =
            json_is_true(json_object_get(object, flags[i].name));
    port->points = read_list(object, "points", LIST_MOST, sizeof *port->points, &port->point_count,
                             read_point, &valid);
    return valid;
}

static bool read_parameter(const json_t *object, void *to)
{
    struct plugin_parameter *parameter = to;
    size_t type;
    if (!read_type(object, parameter_types, PARAMETER_TYPES, &type))
        return false;
    parameter->type = (enum plugin_parameter_type)type;
    return read_text(object, "uri", true, &parameter->uri) &&
           read_text(object, "name", false, &parameter->name);
}

static bool read_preset(const json_t *object, void *to)
{
    struct plugin_preset *preset = to;
    return read_text(object, "uri", true, &preset->uri) &&
           read_text(object, "name", false, &preset->name);
}

static bool read_uri(const json_t *element, void *to)
{
    char **uri = to;
    *uri = json_is_string(element) && json_string_length(element) <= TEXT_MOST
               ? strdup(json_string_value(element))
               : NULL;
    return *uri;
}

static bool read_lists(const json_t *object, struct plugin_info *info)
{
    bool valid = true;
    info->ports = read_list(object, "ports", PLUGIN_PORTS_MOST, sizeof *info->ports,
                            &info->port_count, read_port, &valid);
    info->parameters = read_list(object, "parameters", LIST_MOST, sizeof *info->parameters,
                                 &info->parameter_count, read_parameter, &valid);
    info->presets = read_list(object, "presets", LIST_MOST, sizeof *info->presets,
                              &info->preset_count, read_preset, &valid);
    info->features = read_list(object, "features", LIST_MOST, sizeof *info->features,
                               &info->feature_count, read_uri, &valid);
    return valid;
}

enum status plugin_info_of_object(const json_t *object, struct plugin_info **result)
{
    const char *kind = json_string_value(json_object_get(object, "kind"));
    struct plugin_info *info = calloc(1, sizeof *info);
    if (!info)
        return fail_memory("a plugin");
    info->kind = kind ? plugin_kind_named(kind) : NULL;
    info->keeps_state = json_is_true(json_object_get(object, "keeps_state"));
    info->loads_presets = json_is_true(json_object_get(object, "loads_presets"));
    info->wants_whole_blocks = json_is_true(json_object_get(object, "wants_whole_blocks"));
    bool has_texts = info->kind && read_text(object, "id", true, &info->id) &&
                     read_text(object, "name", true, &info->name) &&
                     read_text(object, "maker", false, &info->maker) &&
                     read_text(object, "category", false, &info->category) &&
                     read_text(object, "file", true, &info->file) &&
                     read_text(object, "refusal", false, &info->refusal);
    if (has_texts && read_lists(object, info)) {
        *result = info;
        return STATUS_OK;
    }
    enum status status = fail(CAUSE_DAMAGED, "cannot use %s: its description has impossible %s",
                              info->id ? info->id : "a plugin",
                              has_texts ? "ports, parameters or presets" : "texts");
    plugin_info_destroy(info);
    return status;
}

bool plugin_row_of_object(const json_t *object, struct plugin_row *row)
{
    const char *kind = json_string_value(json_object_get(object, "kind"));
    json_int_t inputs = json_integer_value(json_object_get(object, "channels_in"));
    json_int_t outputs = json_integer_value(json_object_get(object, "channels_out"));
    *row = (struct plugin_row){.kind = kind ? plugin_kind_named(kind) : NULL};
    bool valid = row->kind && read_text(object, "id", true, &row->id) &&
                 read_text(object, "name", true, &row->name) &&
                 read_text(object, "maker", false, &row->maker) &&
                 read_text(object, "category", false, &row->category) &&
                 read_text(object, "file", true, &row->file) &&
                 read_text(object, "refusal", false, &row->refusal) && inputs >= 0 &&
                 inputs <= PLUGIN_PORTS_MOST && outputs >= 0 && outputs <= PLUGIN_PORTS_MOST;
    if (!valid) {
        plugin_row_free(row);
        return false;
    }
    row->inputs = (size_t)inputs;
    row->outputs = (size_t)outputs;
    return true;
}

void plugin_row_free(struct plugin_row *row)
{
    free(row->id);
    free(row->name);
    free(row->maker);
    free(row->category);
    free(row->file);
    free(row->refusal);
    *row = (struct plugin_row){0};
}

bool plugin_contents_of_object(const json_t *object, struct plugin_contents *contents)
{
    bool valid = json_is_array(json_object_get(object, "plugins"));
    *contents =
        (struct plugin_contents){.is_base = json_is_true(json_object_get(object, "base")),
                                 .is_changing = json_is_true(json_object_get(object, "changing"))};
    contents->ids = read_list(object, "plugins", LIST_MOST, sizeof *contents->ids, &contents->count,
                              read_uri, &valid);
    contents->served = read_list(object, "serves", LIST_MOST, sizeof *contents->served,
                                 &contents->served_count, read_uri, &valid);
    if (!valid)
        plugin_contents_free(contents);
    return valid;
}

/* ---- for users ---- */

enum { RATE = 48000, SYMBOL_WIDTH_MOST = 32 };

/* Characters that need no quotes in a shell. */
static const char plain[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./#%@";

/* Write a specification as an example: "URI,gain=0,param:URI=FILE". */
static void write_spec(FILE *stream, const struct plugin_info *info)
{
    for (const char *byte = info->id; *byte; byte++) /* a comma would end the id */
        fprintf(stream, "%s%c", *byte == ',' || *byte == '\\' ? "\\" : "", *byte);
    size_t port = 0, parameter = 0;
    while (port < info->port_count && !plugin_port_is_control(&info->ports[port]))
        port++;
    if (port < info->port_count)
        fprintf(stream, ",%s=%g", info->ports[port].symbol,
                (double)plugin_port_range(&info->ports[port], RATE).initial);
    while (parameter < info->parameter_count && info->parameters[parameter].type != PLUGIN_PATH)
        parameter++;
    if (parameter < info->parameter_count)
        fprintf(stream, ",param:%s=FILE", info->parameters[parameter].uri);
}

/* A command line with the plugin, which the caller frees. NULL: memory. */
static char *command_line(const struct plugin_info *info)
{
    char *spec = NULL, *text = NULL;
    size_t size;
    FILE *stream = text_stream_open(&spec, &size);
    if (stream)
        write_spec(stream, info);
    bool made = text_stream_finish(stream) == 0 && (stream = text_stream_open(&text, &size));
    if (made) {
        const char *quote = spec[strspn(spec, plain)] ? "'" : "";
        fprintf(stream, "halo render in.wav out.wav --%s %s", info->kind->name, quote);
        for (const char *byte = spec; *byte; byte++)
            if (*byte == '\'')
                fputs("'\\''", stream);
            else
                fputc(*byte, stream);
        fputs(quote, stream);
        made = text_stream_finish(stream) == 0;
    }
    free(spec);
    if (made)
        return text;
    free(text);
    return NULL;
}

static void print_line(const char *label, const char *text)
{
    if (text)
        printf("  %-10s %s\n", label, printable(text));
}

enum { NUMBER = 24 };

/* A number as text; "" if it is not finite. */
static const char *number_text(char text[NUMBER], float number)
{
    snprintf(text, NUMBER, "%.6g", (double)number);
    return isfinite(number) ? text : "";
}

static void print_values(const struct plugin_port *port)
{
    if (port->is_toggle)
        fputs("  on or off", stdout);
    else if (port->is_integer)
        fputs("  whole", stdout);
    if (port->counts_in_rate)
        printf("  (at %d Hz)", RATE);
    for (size_t i = 0; i < port->point_count; i++)
        printf("%s%s (%g)", i ? ", " : "  ", printable(port->points[i].label),
               (double)port->points[i].value);
}

static void print_control(const struct plugin_port *port, int width)
{
    char least[NUMBER], most[NUMBER], initial[NUMBER];
    struct plugin_range range = plugin_port_range(port, RATE);
    printf("  %-*s  %9s .. %-9s  %9s  %-9s  %s", width, printable(port->symbol),
           number_text(least, range.minimum), number_text(most, range.maximum),
           port->is_input ? number_text(initial, range.initial) : "",
           port->unit ? printable(port->unit) : "", printable(port->name));
    print_values(port);
    if (port->group)
        printf("  (in %s)", printable(port->group));
    puts(port->is_latency ? "  (reports the latency)" : "");
}

static int symbol_width(const struct plugin_info *info)
{
    size_t width = strlen("symbol");
    for (size_t i = 0; i < info->port_count; i++) {
        size_t length = strlen(info->ports[i].symbol);
        width = length > width ? length : width;
    }
    return (int)(width < SYMBOL_WIDTH_MOST ? width : SYMBOL_WIDTH_MOST);
}

static void print_controls(const struct plugin_info *info, bool is_input, const char *title)
{
    int width = symbol_width(info);
    bool is_first = true;
    for (size_t i = 0; i < info->port_count; i++) {
        const struct plugin_port *port = &info->ports[i];
        if (port->type != PLUGIN_CONTROL || port->is_input != is_input)
            continue;
        if (is_first)
            printf("%s\n  %-*s  %9s    %-9s  %9s  %-9s  %s\n", title, width, "symbol", "from", "to",
                   is_input ? "default" : "", "unit", "name");
        is_first = false;
        print_control(port, width);
    }
}

static void print_others(const struct plugin_info *info)
{
    static const char *const kinds[] = {
        [PLUGIN_AUDIO] = "sound", [PLUGIN_CV] = "control voltage", [PLUGIN_ATOM] = "events"};
    puts("other ports");
    for (size_t i = 0; i < info->port_count; i++) {
        const struct plugin_port *port = &info->ports[i];
        if (port->type != PLUGIN_CONTROL)
            printf("  %-*s  %s %s%s  %s\n", symbol_width(info), printable(port->symbol),
                   kinds[port->type], port->is_input ? "in" : "out",
                   port->is_side_chain ? ", a side chain" : "", printable(port->name));
    }
}

static void print_rest(const struct plugin_info *info)
{
    for (size_t i = 0; i < info->parameter_count; i++)
        printf("%s  param:%s=...  %s\n", i ? "" : "parameters\n",
               printable(info->parameters[i].uri),
               info->parameters[i].name ? printable(info->parameters[i].name) : "");
    for (size_t i = 0; i < info->preset_count; i++)
        printf("%s  preset=%s  %s\n", i ? "" : "presets\n", printable(info->presets[i].uri),
               info->presets[i].name ? printable(info->presets[i].name) : "");
    for (size_t i = 0; i < info->feature_count; i++)
        printf("%s  %s\n", i ? "" : "required features\n", printable(info->features[i]));
}

static void print_latency(const struct plugin_summary *summary)
{
    if (summary->latency)
        printf("  latency    %lld frames at %d Hz\n",
               (long long)json_integer_value(summary->latency), RATE);
    else
        printf("  latency    not known: %s\n",
               summary->failure ? printable(summary->failure) : "it does not run");
}

void plugin_summary_print(const struct plugin_summary *summary)
{
    const struct plugin_info *info = summary->info;
    printf("%s\n", printable(info->id));
    print_line("name", info->name);
    print_line("kind", info->kind->name);
    print_line("maker", info->maker);
    print_line("category", info->category);
    print_line("file", info->file);
    print_line("refused", info->refusal);
    printf("  channels   %zu > %zu\n", plugin_instances_inputs(info),
           plugin_instances_outputs(info));
    print_latency(summary);
    print_controls(info, true, "controls");
    print_controls(info, false, "reported values");
    print_others(info);
    print_rest(info);
    char *command = info->refusal ? NULL : command_line(info);
    if (command)
        printf("to use it\n  %s\n", printable(command));
    free(command);
}

json_t *plugin_summary_object(const struct plugin_summary *summary)
{
    json_t *object = plugin_info_object(summary->info);
    char *command = command_line(summary->info);
    json_t *more =
        json_pack("{s:I, s:I, s:O?, s:o, s:o}", "channels_in",
                  (json_int_t)plugin_instances_inputs(summary->info), "channels_out",
                  (json_int_t)plugin_instances_outputs(summary->info), "latency", summary->latency,
                  "failure", json_text(summary->failure), "command", json_text(command));
    bool is_whole = command && object && more && json_object_update(object, more) == 0;
    json_decref(more);
    free(command);
    if (is_whole)
        return object;
    json_decref(object);
    return NULL;
}
