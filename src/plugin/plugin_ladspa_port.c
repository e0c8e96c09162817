#include "plugin/plugin_ladspa_port.h"

#include "plugin/plugin_ladspa_name.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- ranges ---- */

static bool has(LADSPA_PortRangeHintDescriptor hints, LADSPA_PortRangeHintDescriptor hint)
{
    return (hints & hint) != 0;
}

static void take_bounds(const LADSPA_PortRangeHint *hint, struct plugin_port *port)
{
    LADSPA_PortRangeHintDescriptor hints = hint->HintDescriptor;
    port->minimum = -INFINITY;
    port->maximum = INFINITY;
    if (has(hints, LADSPA_HINT_BOUNDED_BELOW) && isfinite(hint->LowerBound))
        port->minimum = hint->LowerBound;
    if (has(hints, LADSPA_HINT_BOUNDED_ABOVE) && isfinite(hint->UpperBound))
        port->maximum = hint->UpperBound;
    if (port->minimum > port->maximum) { /* nonsense: none is better than one that refuses all */
        port->minimum = -INFINITY;
        port->maximum = INFINITY;
    }
    /* Whole numbers are bounded a little beyond them; in rates they are not known yet. */
    if (port->is_integer && !port->counts_in_rate &&
        ceilf(port->minimum) <= floorf(port->maximum)) {
        port->minimum = ceilf(port->minimum);
        port->maximum = floorf(port->maximum);
    }
}

/* As ladspa.h has low, middle and high; where there is no bound, or no logarithm of it, what comes
 * nearest. */
static float between(const struct plugin_port *port, float share)
{
    float low = port->minimum, high = port->maximum;
    if (!isfinite(low) || !isfinite(high))
        return isfinite(low) ? low : isfinite(high) ? high : 0;
    if (port->is_logarithmic && low > 0)
        return expf(logf(low) * (1 - share) + logf(high) * share);
    return low * (1 - share) + high * share;
}

/* Nobody knows: the middle of the range; of half a range, silence and "off" rather than its end. */
static float sensible(const struct plugin_port *port)
{
    if (isfinite(port->minimum) && isfinite(port->maximum))
        return between(port, 0.5F);
    return fmaxf(port->minimum, fminf(port->maximum, 0));
}

static void take_initial(LADSPA_PortRangeHintDescriptor hints, struct plugin_port *port)
{
    static const struct {
        LADSPA_PortRangeHintDescriptor hint;
        float share;
    } shares[] = {{LADSPA_HINT_DEFAULT_MINIMUM, 0},
                  {LADSPA_HINT_DEFAULT_LOW, 0.25F},
                  {LADSPA_HINT_DEFAULT_MIDDLE, 0.5F},
                  {LADSPA_HINT_DEFAULT_HIGH, 0.75F},
                  {LADSPA_HINT_DEFAULT_MAXIMUM, 1}};
    static const struct {
        LADSPA_PortRangeHintDescriptor hint;
        float value;
    } values[] = {{LADSPA_HINT_DEFAULT_0, 0},
                  {LADSPA_HINT_DEFAULT_1, 1},
                  {LADSPA_HINT_DEFAULT_100, 100},
                  {LADSPA_HINT_DEFAULT_440, 440}};
    LADSPA_PortRangeHintDescriptor reported = hints & LADSPA_HINT_DEFAULT_MASK;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (reported == values[i].hint) {
            port->initial = values[i].value;
            return;
        }
    port->initial = sensible(port);
    port->initial_counts_in_rate = port->counts_in_rate;
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++)
        if (reported == shares[i].hint)
            port->initial = between(port, shares[i].share);
}

static void take_range(const LADSPA_PortRangeHint *hint, struct plugin_port *port)
{
    LADSPA_PortRangeHintDescriptor hints = hint->HintDescriptor;
    port->is_toggle = has(hints, LADSPA_HINT_TOGGLED);
    port->is_integer = has(hints, LADSPA_HINT_INTEGER) && !port->is_toggle;
    port->is_logarithmic = has(hints, LADSPA_HINT_LOGARITHMIC) && !port->is_toggle;
    port->counts_in_rate = has(hints, LADSPA_HINT_SAMPLE_RATE) && !port->is_toggle;
    take_bounds(hint, port);
    bool has_default = has(hints, LADSPA_HINT_DEFAULT_MASK);
    if (port->is_toggle) {
        port->minimum = 0;
        port->maximum = 1;
    }
    take_initial(hints, port);
    if (port->is_toggle)
        port->initial = has_default && port->initial > 0 ? 1 : 0;
    else if (port->is_integer && !port->counts_in_rate)
        port->initial = roundf(port->initial);
    if (!port->initial_counts_in_rate && !port->counts_in_rate)
        port->initial = fmaxf(port->minimum, fminf(port->maximum, port->initial));
}

/* ---- ports ---- */

static bool reports_latency(const struct plugin_port *port)
{
    const char *name = port->name + (port->name[0] == '_');
    return port->type == PLUGIN_CONTROL && !port->is_input && strcasecmp(name, "latency") == 0;
}

static bool hears_side_chain(const struct plugin_port *port)
{
    static const char *const names[] = {"sidechain", "side chain", "side-chain"};
    bool has_word = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        has_word |= strcasestr(port->name, names[i]) != NULL;
    return port->type == PLUGIN_AUDIO && port->is_input && has_word;
}

static enum status take_port(const LADSPA_Descriptor *descriptor, size_t index,
                             struct plugin_port *port)
{
    static const LADSPA_PortRangeHint nothing;
    LADSPA_PortDescriptor kind = descriptor->PortDescriptors[index];
    const char *name = descriptor->PortNames ? descriptor->PortNames[index] : NULL;
    port->type = LADSPA_IS_PORT_AUDIO(kind) ? PLUGIN_AUDIO : PLUGIN_CONTROL;
    port->is_input = LADSPA_IS_PORT_INPUT(kind);
    port->name = strdup(name ? name : "");
    if (!port->name)
        return fail_memory("a plugin");
    port->is_latency = reports_latency(port);
    port->is_side_chain = hears_side_chain(port);
    if (port->type == PLUGIN_AUDIO) {
        port->minimum = -INFINITY;
        port->maximum = INFINITY;
        return STATUS_OK;
    }
    take_range(descriptor->PortRangeHints ? &descriptor->PortRangeHints[index] : &nothing, port);
    TRY(plugin_ladspa_name_unit(port->name, &port->unit));
    if (port->is_input)
        TRY(plugin_ladspa_name_points(port));
    return STATUS_OK;
}

enum status plugin_ladspa_ports(const LADSPA_Descriptor *descriptor, struct plugin_info *info)
{
    for (size_t i = 0; i < info->port_count; i++)
        TRY(take_port(descriptor, i, &info->ports[i]));
    return plugin_ladspa_name_symbols(info);
}
