#include "plugin/plugin_summary.h"

#include "base/json_text.h"
#include "base/printable.h"
#include "base/text_stream.h"
#include "plugin/plugin_info_json.h"
#include "plugin/plugin_instances.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RATE = 48000, SYMBOL_WIDTH_MOST = 32 };

/* Characters that need no quotes in a shell. */
static const char plain[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./#%@";

/* "URI,gain=0,param:URI=FILE" */
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

/* For the caller to free(); NULL: memory. */
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

/* "" if it is not finite. */
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
