#include "live/driver_pipewire_channels.h"

#include <spa/debug/types.h>
#include <spa/param/audio/type-info.h>
#include <stdio.h>
#include <string.h>

static const char *const names[CHANNEL_POSITIONS] = {
    [CHANNEL_FL] = "FL",   [CHANNEL_FR] = "FR",     [CHANNEL_FC] = "FC",   [CHANNEL_LFE] = "LFE",
    [CHANNEL_BL] = "RL",   [CHANNEL_BR] = "RR",     [CHANNEL_FLC] = "FLC", [CHANNEL_FRC] = "FRC",
    [CHANNEL_BC] = "RC",   [CHANNEL_SL] = "SL",     [CHANNEL_SR] = "SR",   [CHANNEL_TC] = "TC",
    [CHANNEL_TFL] = "TFL", [CHANNEL_TFC] = "TFC",   [CHANNEL_TFR] = "TFR", [CHANNEL_TBL] = "TRL",
    [CHANNEL_TBC] = "TRC", [CHANNEL_TBR] = "TRR",   [CHANNEL_WL] = "FLW",  [CHANNEL_WR] = "FRW",
    [CHANNEL_TSL] = "TSL", [CHANNEL_LFE2] = "LFE2", [CHANNEL_TSR] = "TSR", [CHANNEL_BFC] = "BC",
    [CHANNEL_BFL] = "BLC", [CHANNEL_BFR] = "BRC",
};

/* Of channel `channel` of those that the layout places. */
static enum channel_position position_at(struct channel_layout layout, size_t channel)
{
    for (enum channel_position at = 0; at < CHANNEL_POSITIONS; at++)
        if (layout.speakers & UINT32_C(1) << at && channel-- == 0)
            return at;
    return CHANNEL_OTHER;
}

/* Of a layout of so many channels; what it does not place, or PipeWire does not know, is AUX. */
static const char *name_in(struct channel_layout layout, size_t channels, size_t channel)
{
    enum channel_position position = position_at(layout, channel);
    if (channels == 1 && position == CHANNEL_FC)
        return "MONO";
    if (position < CHANNEL_OTHER && names[position])
        return names[position];
    return spa_debug_type_find_short_name(spa_type_audio_channel,
                                          SPA_AUDIO_CHANNEL_AUX0 + (uint32_t)channel);
}

uint32_t pipewire_channel_number(const char *name, size_t channel)
{
    for (const struct spa_type_info *type = spa_type_audio_channel; type->name; type++)
        if (strcmp(spa_debug_type_short_name(type->name), name) == 0)
            return type->type;
    return SPA_AUDIO_CHANNEL_AUX0 + (uint32_t)channel;
}

static enum channel_position position_named(const char *name)
{
    enum channel_position at = 0;
    if (strcmp(name, "MONO") == 0)
        return CHANNEL_FC;
    while (at < CHANNEL_POSITIONS && (!names[at] || strcmp(names[at], name) != 0))
        at++;
    return at;
}

/* What ports are by their names, if each is another position; else unknown. */
static struct channel_layout layout_of(const struct pipewire_registry_port *const *ports,
                                       size_t count, bool *is_sorted)
{
    struct channel_layout layout = {0};
    enum channel_position last = 0;
    *is_sorted = true;
    for (size_t i = 0; i < count; i++) {
        enum channel_position position = position_named(ports[i]->channel);
        uint32_t bit = position < CHANNEL_OTHER ? UINT32_C(1) << position : 0;
        if (bit == 0 || layout.speakers & bit)
            return (struct channel_layout){0};
        *is_sorted = *is_sorted && position >= last;
        layout.speakers |= bit;
        last = position;
    }
    return layout;
}

/* The device's, which halo's are linked with; a sink of halo's own has none. */
static size_t find_ports(const struct pipewire_channels *of,
                         const struct pipewire_registry_port **ports)
{
    const struct pipewire_registry_node *node =
        of->is_sink ? NULL : pipewire_registry_named(of->graph, of->end->target);
    return node ? pipewire_registry_ports(of->graph, node->id, !of->is_input,
                                          of->is_input && of->end->is_monitor, ports,
                                          DEVICE_CHANNELS_MOST)
                : 0;
}

struct channel_layout pipewire_stated_layout(const struct pipewire_channels *of)
{
    bool fits = of->asked.ambisonic || channel_layout_count(of->asked) == of->channels->count;
    return fits ? of->asked : (struct channel_layout){0};
}

struct channel_layout pipewire_device_layout(const struct pipewire_channels *of)
{
    const struct pipewire_registry_port *ports[DEVICE_CHANNELS_MOST], *used[DEVICE_CHANNELS_MOST];
    size_t there = find_ports(of, ports), count = of->channels->count;
    struct channel_layout layout = pipewire_stated_layout(of);
    bool is_sorted;
    if (of->is_sink)
        return channel_layout_is_known(layout) ? layout : channel_layout_usual(count);
    if (of->channels->opened > there || (count == 1 && there > 1))
        return (struct channel_layout){0};
    for (size_t c = 0; c < count; c++)
        used[c] = ports[of->channels->map[c]];
    layout = layout_of(used, count, &is_sorted);
    return is_sorted || device_channels_are_first(of->channels) ? layout
                                                                : (struct channel_layout){0};
}

const char *pipewire_port_name(const struct pipewire_channels *of, size_t port)
{
    const struct pipewire_registry_port *ports[DEVICE_CHANNELS_MOST];
    size_t there = find_ports(of, ports), count = of->channels->opened;
    struct channel_layout layout = pipewire_stated_layout(of);
    if (!channel_layout_is_known(layout))
        layout = pipewire_device_layout(of);
    if (channel_layout_is_known(layout) && device_channels_are_first(of->channels))
        return name_in(layout, count, port);
    if (port < there && ports[port]->channel[0])
        return ports[port]->channel;
    return name_in(channel_layout_usual(count), count, port);
}
