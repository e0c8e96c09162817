#include "plugin/plugin_ladspa_library.h"

#include "plugin/plugin_port_names.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- units ---- */

/* "dB" of "Gain [dB]"; NULL: no known unit. */
static enum status name_unit(const char *name, char **unit)
{
    struct name_span inner;
    const char *found = NULL;
    while (!found && name_next_brackets(&name, &inner))
        found = name_unit_in(inner);
    *unit = found ? strdup(found) : NULL;
    return found && !*unit ? fail_memory("a plugin") : STATUS_OK;
}

/* ---- points ---- */

/* "1 = sine", up to the comma. */
static bool read_point(struct name_span item, float *value, struct name_span *label)
{
    char *end;
    *value = strtof(item.text, &end);
    while (end > item.text && isspace((unsigned char)*end))
        end++;
    if (end == item.text || *end != '=' || end >= item.text + item.length)
        return false;
    *label = name_trimmed((struct name_span){end + 1, (size_t)(item.text + item.length - end - 1)});
    return label->length > 0;
}

static enum status add_point(struct plugin_port *port, float value, struct name_span label)
{
    struct plugin_point *points =
        realloc(port->points, (port->point_count + 1) * sizeof *port->points);
    if (!points)
        return fail_memory("a plugin");
    port->points = points;
    char *copy = strndup(label.text, label.length);
    if (!copy)
        return fail_memory("a plugin");
    port->points[port->point_count++] = (struct plugin_point){copy, value};
    return STATUS_OK;
}

/* Those of "0 = sine, 1 = square" that lie in the range of the port. */
static enum status parse_points(struct plugin_port *port, struct name_span list)
{
    for (const char *at = list.text, *end = at + list.length; at < end;) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        struct name_span item = {at, (size_t)((comma ? comma : end) - at)}, label;
        float value;
        if (read_point(item, &value, &label) && value >= port->minimum && value <= port->maximum)
            TRY(add_point(port, value, label));
        at += item.length + 1;
    }
    return STATUS_OK;
}

/* ---- ranges ---- */

static void set_bounds(const LADSPA_PortRangeHint *hint, struct plugin_port *port)
{
    LADSPA_PortRangeHintDescriptor hints = hint->HintDescriptor;
    port->minimum = -INFINITY;
    port->maximum = INFINITY;
    if ((hints & LADSPA_HINT_BOUNDED_BELOW) && isfinite(hint->LowerBound))
        port->minimum = hint->LowerBound;
    if ((hints & LADSPA_HINT_BOUNDED_ABOVE) && isfinite(hint->UpperBound))
        port->maximum = hint->UpperBound;
    if (port->minimum > port->maximum) { /* invalid: treated as unbounded */
        port->minimum = -INFINITY;
        port->maximum = INFINITY;
    }
    /* Bounds of integers lie slightly outside; multiples of the rate are not known yet. */
    if (port->is_integer && !port->counts_in_rate &&
        ceilf(port->minimum) <= floorf(port->maximum)) {
        port->minimum = ceilf(port->minimum);
        port->maximum = floorf(port->maximum);
    }
}

/* Low, middle and high as ladspa.h defines them; without a bound or its logarithm the nearest
 * value. */
static float between(const struct plugin_port *port, float share)
{
    float low = port->minimum, high = port->maximum;
    if (!isfinite(low) || !isfinite(high))
        return isfinite(low) ? low : isfinite(high) ? high : 0;
    if (port->is_logarithmic && low > 0)
        return expf(logf(low) * (1 - share) + logf(high) * share);
    return low * (1 - share) + high * share;
}

static void set_initial(LADSPA_PortRangeHintDescriptor hints, struct plugin_port *port)
{
    static const struct {
        LADSPA_PortRangeHintDescriptor hint;
        float share;
    } shares[] = {
        {LADSPA_HINT_DEFAULT_MINIMUM, 0},   {LADSPA_HINT_DEFAULT_LOW, 0.25F},
        {LADSPA_HINT_DEFAULT_MIDDLE, 0.5F}, {LADSPA_HINT_DEFAULT_HIGH, 0.75F},
        {LADSPA_HINT_DEFAULT_MAXIMUM, 1},
    };
    static const struct {
        LADSPA_PortRangeHintDescriptor hint;
        float value;
    } values[] = {
        {LADSPA_HINT_DEFAULT_0, 0},
        {LADSPA_HINT_DEFAULT_1, 1},
        {LADSPA_HINT_DEFAULT_100, 100},
        {LADSPA_HINT_DEFAULT_440, 440},
    };
    LADSPA_PortRangeHintDescriptor reported = hints & LADSPA_HINT_DEFAULT_MASK;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (reported == values[i].hint) {
            port->initial = values[i].value;
            return;
        }
    /* Without a hint: the middle of the range; of a half-open range the value nearest 0. */
    port->initial = isfinite(port->minimum) && isfinite(port->maximum)
                        ? between(port, 0.5F)
                        : fmaxf(port->minimum, fminf(port->maximum, 0));
    port->initial_counts_in_rate = port->counts_in_rate;
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++)
        if (reported == shares[i].hint)
            port->initial = between(port, shares[i].share);
}

static void set_range(const LADSPA_PortRangeHint *hint, struct plugin_port *port)
{
    LADSPA_PortRangeHintDescriptor hints = hint->HintDescriptor;
    port->is_toggle = (hints & LADSPA_HINT_TOGGLED);
    port->is_integer = (hints & LADSPA_HINT_INTEGER) && !port->is_toggle;
    port->is_logarithmic = (hints & LADSPA_HINT_LOGARITHMIC) && !port->is_toggle;
    port->counts_in_rate = (hints & LADSPA_HINT_SAMPLE_RATE) && !port->is_toggle;
    set_bounds(hint, port);
    bool has_default = (hints & LADSPA_HINT_DEFAULT_MASK);
    if (port->is_toggle) {
        port->minimum = 0;
        port->maximum = 1;
    }
    set_initial(hints, port);
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

static bool is_side_chain(const struct plugin_port *port)
{
    static const char *const names[] = {"sidechain", "side chain", "side-chain"};
    bool has_word = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        has_word |= strcasestr(port->name, names[i]) != NULL;
    return port->type == PLUGIN_AUDIO && port->is_input && has_word;
}

static enum status describe_port(const LADSPA_Descriptor *descriptor, size_t index,
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
    port->is_side_chain = is_side_chain(port);
    if (port->type == PLUGIN_AUDIO) {
        port->minimum = -INFINITY;
        port->maximum = INFINITY;
        return STATUS_OK;
    }
    set_range(descriptor->PortRangeHints ? &descriptor->PortRangeHints[index] : &nothing, port);
    TRY(name_unit(port->name, &port->unit));
    struct name_span inner;
    for (const char *at = port->name; port->is_input && name_next_brackets(&at, &inner);)
        TRY(parse_points(port, inner));
    return STATUS_OK;
}

enum status plugin_ladspa_ports(const LADSPA_Descriptor *descriptor, struct plugin_info *info)
{
    for (size_t i = 0; i < info->port_count; i++)
        TRY(describe_port(descriptor, i, &info->ports[i]));
    return plugin_port_symbols(info);
}
