/* The position in the sound, as time:Position events, and as values of designated controls.
 *
 * Each run begins with one, so that a plugin need not count, and none can drift. Before the sound's
 * first frame the transport stands still; where that comes within a run, a second event at its
 * frame starts it. https://lv2plug.in/ns/ext/time */
#include "plugin/plugin_lv2.h"

#include "base/realtime.h"

#include <lv2/core/lv2.h>
#include <lv2/time/time.h>
#include <math.h>

enum { POSITION_BYTES = 512 }; /* bound for one event */

void lv2_clock_init(struct lv2_clock *clock, const struct plugin_settings *settings)
{
    *clock = (struct lv2_clock){
        .tempo = settings->tempo,
        .rate = settings->rate,
        .position = lv2_urid(LV2_TIME__Position),
        .frame = lv2_urid(LV2_TIME__frame),
        .speed = lv2_urid(LV2_TIME__speed),
        .bar = lv2_urid(LV2_TIME__bar),
        .bar_beat = lv2_urid(LV2_TIME__barBeat),
        .beat = lv2_urid(LV2_TIME__beat),
        .beats_per_bar = lv2_urid(LV2_TIME__beatsPerBar),
        .beat_unit = lv2_urid(LV2_TIME__beatUnit),
        .beats_per_minute = lv2_urid(LV2_TIME__beatsPerMinute),
    };
    lv2_atom_forge_init(&clock->forge, lv2_urid_map());
}

HALO_REALTIME static double beats_at(const struct plugin_tempo *tempo, double rate, int64_t frame)
{
    return (double)frame / rate * tempo->bpm / 60;
}

HALO_REALTIME static void forge_position(struct lv2_clock *clock, int64_t frame, bool rolls)
{
    LV2_Atom_Forge *forge = &clock->forge;
    LV2_Atom_Forge_Frame object;
    double beats = beats_at(&clock->tempo, clock->rate, frame);
    double bar = floor(beats / clock->tempo.bar);
    lv2_atom_forge_object(forge, &object, 0, clock->position);
    lv2_atom_forge_key(forge, clock->frame);
    lv2_atom_forge_long(forge, frame);
    lv2_atom_forge_key(forge, clock->speed);
    lv2_atom_forge_float(forge, rolls ? 1.0F : 0.0F);
    lv2_atom_forge_key(forge, clock->bar);
    lv2_atom_forge_long(forge, (int64_t)bar);
    lv2_atom_forge_key(forge, clock->bar_beat);
    lv2_atom_forge_float(forge, (float)(beats - bar * clock->tempo.bar));
    lv2_atom_forge_key(forge, clock->beat);
    lv2_atom_forge_double(forge, beats);
    lv2_atom_forge_key(forge, clock->beats_per_bar);
    lv2_atom_forge_float(forge, (float)clock->tempo.bar);
    lv2_atom_forge_key(forge, clock->beat_unit);
    lv2_atom_forge_int(forge, (int32_t)clock->tempo.unit);
    lv2_atom_forge_key(forge, clock->beats_per_minute);
    lv2_atom_forge_float(forge, (float)clock->tempo.bpm);
    lv2_atom_forge_pop(forge, &object);
}

HALO_REALTIME static void append(struct lv2_clock *clock, LV2_Atom_Sequence *sequence,
                                 uint32_t bytes, int64_t at, int64_t frame, bool rolls)
{
    uint32_t used = (uint32_t)sizeof(LV2_Atom) + lv2_atom_pad_size(sequence->atom.size);
    if (bytes < used || bytes - used < POSITION_BYTES)
        return;
    lv2_atom_forge_set_buffer(&clock->forge, (uint8_t *)sequence + used, bytes - used);
    lv2_atom_forge_frame_time(&clock->forge, at);
    forge_position(clock, frame, rolls);
    sequence->atom.size = used - (uint32_t)sizeof(LV2_Atom) + clock->forge.offset;
}

HALO_REALTIME void lv2_clock_write(struct lv2_clock *clock, LV2_Atom_Sequence *sequence,
                                   uint32_t bytes, int64_t position, size_t frames)
{
    bool rolls = position >= 0;
    if (clock->tempo.bpm == 0)
        return;
    append(clock, sequence, bytes, 0, rolls ? position : 0, rolls);
    if (!rolls && position + (int64_t)frames > 0)
        append(clock, sequence, bytes, -position, 0, true);
}

/* ---- controls ---- */

HALO_REALTIME static int64_t rolled(int64_t position)
{
    return position < 0 ? 0 : position;
}

HALO_REALTIME static double bpm_of(const struct lv2_time_ports *ports, int64_t position)
{
    (void)position;
    return ports->tempo.bpm;
}

HALO_REALTIME static double bar_length_of(const struct lv2_time_ports *ports, int64_t position)
{
    (void)position;
    return ports->tempo.bar;
}

HALO_REALTIME static double unit_of(const struct lv2_time_ports *ports, int64_t position)
{
    (void)position;
    return ports->tempo.unit;
}

HALO_REALTIME static double rate_of(const struct lv2_time_ports *ports, int64_t position)
{
    (void)position;
    return ports->rate;
}

HALO_REALTIME static double speed_at(const struct lv2_time_ports *ports, int64_t position)
{
    (void)ports;
    return position >= 0;
}

HALO_REALTIME static double frame_at(const struct lv2_time_ports *ports, int64_t position)
{
    (void)ports;
    return (double)rolled(position);
}

HALO_REALTIME static double beat_at(const struct lv2_time_ports *ports, int64_t position)
{
    return beats_at(&ports->tempo, ports->rate, rolled(position));
}

HALO_REALTIME static double bar_at(const struct lv2_time_ports *ports, int64_t position)
{
    return floor(beat_at(ports, position) / ports->tempo.bar);
}

HALO_REALTIME static double bar_beat_at(const struct lv2_time_ports *ports, int64_t position)
{
    return beat_at(ports, position) - bar_at(ports, position) * ports->tempo.bar;
}

static const struct {
    const char *designation;
    double (*quantity)(const struct lv2_time_ports *ports, int64_t position);
} quantities[LV2_TIME_PORTS] = {
    {LV2_TIME__beatsPerMinute, bpm_of}, {LV2_TIME__beatsPerBar, bar_length_of},
    {LV2_TIME__beatUnit, unit_of},      {LV2_TIME__framesPerSecond, rate_of},
    {LV2_TIME__speed, speed_at},        {LV2_TIME__frame, frame_at},
    {LV2_TIME__beat, beat_at},          {LV2_TIME__bar, bar_at},
    {LV2_TIME__barBeat, bar_beat_at},
};

void lv2_time_ports_find(struct lv2_time_ports *ports, const LilvPlugin *plugin,
                         const struct plugin_info *info, const struct plugin_settings *settings,
                         const float *controls)
{
    *ports = (struct lv2_time_ports){.tempo = settings->tempo, .rate = settings->rate};
    for (size_t i = 0; i < LV2_TIME_PORTS && settings->tempo.bpm > 0; i++) {
        const LilvPort *port = lilv_plugin_get_port_by_designation(
            plugin, lv2_world_node(LV2_CORE__InputPort), lv2_world_node(quantities[i].designation));
        uint32_t index = port ? lilv_port_get_index(plugin, port) : 0;
        if (port && plugin_port_is_control(&info->ports[index]))
            ports->ports[ports->count++] = (struct lv2_time_port){
                .quantity = quantities[i].quantity,
                .range = plugin_port_range(&info->ports[index], settings->rate),
                .port = index,
                .written = controls[index]};
    }
}

HALO_REALTIME void lv2_time_ports_set(struct lv2_time_ports *ports, float *controls,
                                      int64_t position)
{
    for (size_t i = 0; i < ports->count; i++) {
        struct lv2_time_port *port = &ports->ports[i];
        float value = (float)port->quantity(ports, position);
        if (controls[port->port] != port->written)
            continue;
        port->written = fmaxf(port->range.minimum, fminf(port->range.maximum, value));
        controls[port->port] = port->written;
    }
}
