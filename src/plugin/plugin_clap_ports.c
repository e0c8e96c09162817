/* The ports of a CLAP plugin: audio channels, parameters, latency. */
#include "plugin/plugin_clap.h"

#include "plugin/plugin_port_names.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum status refuse_ports(struct plugin_info *info, const char *format, ...)
    PRINTF_LIKE(2, 3);
static enum status refuse_ports(struct plugin_info *info, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&info->refusal, format, arguments) < 0)
        info->refusal = NULL;
    va_end(arguments);
    return info->refusal ? STATUS_OK : fail_memory("a plugin");
}

static enum status add_port(struct plugin_info *info, const struct plugin_port *port)
{
    struct plugin_port *more = realloc(info->ports, (info->port_count + 1) * sizeof *more);
    if (!more)
        return fail_memory("a plugin");
    info->ports = more;
    more[info->port_count] = *port;
    more[info->port_count].name = strdup(port->name);
    return more[info->port_count++].name ? STATUS_OK : fail_memory("a plugin");
}

/* ---- sound ---- */

/* "Main left", or "Main 3" */
static void name_channel(const struct clap_audio_port_info *port, uint32_t channel, char *text,
                         size_t size)
{
    int length = (int)strnlen(port->name, sizeof port->name);
    if (port->channel_count == 1)
        snprintf(text, size, "%.*s", length, port->name);
    else if (port->channel_count == 2)
        snprintf(text, size, "%.*s %s", length, port->name, channel ? "right" : "left");
    else
        snprintf(text, size, "%.*s %u", length, port->name, channel + 1);
}

/* An input beside the main one, which is the first where none is marked, is a side chain. */
static enum status add_audio_port(struct plugin_info *info, const struct clap_audio_port_info *port,
                                  uint32_t index, bool is_input)
{
    char text[CLAP_NAME_SIZE + 16];
    bool is_main = index == 0 || port->flags & CLAP_AUDIO_PORT_IS_MAIN;
    const struct plugin_port channel = {.type = PLUGIN_AUDIO,
                                        .is_input = is_input,
                                        .is_side_chain = is_input && !is_main,
                                        .name = text,
                                        .minimum = -INFINITY,
                                        .maximum = INFINITY};
    for (uint32_t i = 0; i < port->channel_count; i++) {
        name_channel(port, i, text, sizeof text);
        TRY(add_port(info, &channel));
    }
    return STATUS_OK;
}

static enum status add_sound(const struct clap_plugin *plugin, struct plugin_info *info,
                             bool is_input)
{
    const struct clap_plugin_audio_ports *ports =
        CLAP_EXTENSION(plugin, CLAP_EXT_AUDIO_PORTS, clap_plugin_audio_ports);
    uint32_t count = ports ? ports->count(plugin, is_input) : 0;
    if (count > CLAP_PORTS_MOST)
        return refuse_ports(info, "it has %u audio ports, more than %d", count, CLAP_PORTS_MOST);
    for (uint32_t i = 0; i < count; i++) {
        struct clap_audio_port_info port = {0};
        if (!ports->get(plugin, i, is_input, &port))
            return refuse_ports(info, "it does not describe its audio port %u", i + 1);
        if (port.channel_count > CLAP_CHANNELS_MOST)
            return refuse_ports(info, "its audio port %u has %u channels, more than %d", i + 1,
                                port.channel_count, CLAP_CHANNELS_MOST);
        TRY(add_audio_port(info, &port, i, is_input));
    }
    return STATUS_OK;
}

/* ---- parameters ---- */

static enum status add_parameter(const struct clap_plugin *plugin,
                                 const struct clap_plugin_params *params, uint32_t index,
                                 struct plugin_info *info)
{
    struct clap_param_info about = {0};
    if (!params->get_info(plugin, index, &about))
        return refuse_ports(info, "it does not describe its parameter %u", index + 1);
    about.name[sizeof about.name - 1] = about.module[sizeof about.module - 1] = '\0';
    bool is_range = isfinite((float)about.min_value) && isfinite((float)about.max_value) &&
                    isfinite(about.default_value) && about.min_value <= about.max_value;
    if (!is_range)
        return refuse_ports(info, "its parameter '%s' has the range %g to %g, and the default %g",
                            about.name, about.min_value, about.max_value, about.default_value);
    const struct plugin_port port = {.type = PLUGIN_CONTROL,
                                     .is_input = !(about.flags & CLAP_PARAM_IS_READONLY),
                                     .name = about.name};
    TRY(add_port(info, &port));
    struct plugin_port *added = &info->ports[info->port_count - 1];
    if (!clap_text(about.module, &added->group))
        return fail_memory("a plugin");
    return clap_describe_parameter(plugin, params, &about, added);
}

static enum status add_parameters(const struct clap_plugin *plugin, struct plugin_info *info)
{
    const struct clap_plugin_params *params =
        CLAP_EXTENSION(plugin, CLAP_EXT_PARAMS, clap_plugin_params);
    uint32_t count = params ? params->count(plugin) : 0;
    if (count > CLAP_PARAMETERS_MOST)
        return refuse_ports(info, "it has %u parameters, more than %d", count,
                            CLAP_PARAMETERS_MOST);
    for (uint32_t i = 0; i < count && !info->refusal; i++)
        TRY(add_parameter(plugin, params, i, info));
    return STATUS_OK;
}

static enum status add_latency(const struct clap_plugin *plugin, struct plugin_info *info)
{
    static const struct plugin_port latency = {
        .type = PLUGIN_CONTROL, .name = "Latency", .is_latency = true, .maximum = INFINITY};
    return CLAP_EXTENSION(plugin, CLAP_EXT_LATENCY, clap_plugin_latency) ? add_port(info, &latency)
                                                                         : STATUS_OK;
}

/* Without notes and without sound it has nothing to do. */
static enum status refuse_instrument(const struct clap_plugin *plugin, struct plugin_info *info)
{
    const struct clap_plugin_note_ports *notes =
        CLAP_EXTENSION(plugin, CLAP_EXT_NOTE_PORTS, clap_plugin_note_ports);
    for (size_t i = 0; i < info->port_count; i++)
        if (info->ports[i].type == PLUGIN_AUDIO && info->ports[i].is_input)
            return STATUS_OK;
    return notes && notes->count(plugin, true) > 0
               ? refuse_ports(info, "it has an input for notes and none for sound, and halo "
                                    "sends no notes")
               : STATUS_OK;
}

enum status clap_describe_ports(const struct clap_plugin *plugin, struct plugin_info *info)
{
    TRY(add_sound(plugin, info, true));
    if (!info->refusal)
        TRY(refuse_instrument(plugin, info));
    if (!info->refusal)
        TRY(add_sound(plugin, info, false));
    if (!info->refusal)
        TRY(add_parameters(plugin, info));
    if (!info->refusal)
        TRY(add_latency(plugin, info));
    return plugin_port_symbols(info);
}
