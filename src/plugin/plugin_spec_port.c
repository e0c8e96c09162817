/* One control input of a plugin by name, and a value for it. */
#include "plugin/plugin_spec.h"

#include "base/short_list.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { NAME_BYTES = 256 };

static const char MORE[] = "; halo plugins info lists all";

/* ---- ports ---- */

static bool is_settable(const struct plugin_port *port)
{
    return port->type == PLUGIN_CONTROL && port->is_input;
}

static enum status fail_port(const struct plugin_info *info, const char *name)
{
    struct short_list list = {0};
    for (size_t i = 0; i < info->port_count; i++)
        if (is_settable(&info->ports[i]))
            short_list_add(&list, info->ports[i].symbol);
    return fail(STATUS_USAGE, "%s has no control '%s'; its controls: %s", info->id, name,
                short_list_text(&list, MORE));
}

static enum status fail_ambiguous(const struct plugin_info *info, const char *name)
{
    struct short_list list = {0};
    for (size_t i = 0; i < info->port_count; i++) {
        const struct plugin_port *port = &info->ports[i];
        char both[NAME_BYTES];
        if (!is_settable(port) || strncasecmp(port->name, name, strlen(name)) != 0)
            continue;
        snprintf(both, sizeof both, "%s (%s)", port->symbol, port->name);
        short_list_add(&list, both);
    }
    return fail(STATUS_USAGE, "'%s' may be one of several controls of %s: %s", name, info->id,
                short_list_text(&list, MORE));
}

/* By symbol; else by name, case aside. */
static bool find_named(const struct plugin_info *info, const char *name, size_t *port)
{
    for (int by_name = 0; by_name < 2; by_name++)
        for (*port = 0; *port < info->port_count; ++*port) {
            const struct plugin_port *one = &info->ports[*port];
            if (is_settable(one) &&
                (by_name ? strcasecmp(one->name, name) == 0 : strcmp(one->symbol, name) == 0))
                return true;
        }
    return false;
}

/* How many names begin so; the port of the first. */
static size_t find_prefix(const struct plugin_info *info, const char *name, size_t *port)
{
    size_t count = 0;
    for (size_t i = info->port_count; i-- > 0;) {
        if (!is_settable(&info->ports[i]) ||
            strncasecmp(info->ports[i].name, name, strlen(name)) != 0)
            continue;
        *port = i;
        count++;
    }
    return count;
}

static bool find_index(const struct plugin_info *info, const char *name, size_t *port)
{
    char *end;
    errno = 0;
    unsigned long index = strtoul(name, &end, 10);
    *port = index;
    return *name >= '0' && *name <= '9' && !*end && !errno && index < info->port_count &&
           is_settable(&info->ports[index]);
}

enum status plugin_spec_port(const struct plugin_info *info, const char *name, size_t *port)
{
    if (find_named(info, name, port))
        return STATUS_OK;
    size_t count = *name ? find_prefix(info, name, port) : 0;
    if (count == 1 || (count == 0 && find_index(info, name, port)))
        return STATUS_OK;
    return count ? fail_ambiguous(info, name) : fail_port(info, name);
}

/* ---- values ---- */

static const struct unit {
    const char *name;
    char family;
    double scale;
} units[] = {
    {"us", 't', 1e-6}, {"ms", 't', 1e-3}, {"s", 't', 1},     {"min", 't', 60},
    {"Hz", 'f', 1},    {"kHz", 'f', 1e3}, {"MHz", 'f', 1e6}, {"mm", 'l', 1e-3},
    {"cm", 'l', 0.01}, {"m", 'l', 1},     {"km", 'l', 1e3},
};

static const struct unit *find_unit(const char *name)
{
    for (size_t i = 0; name && i < sizeof units / sizeof *units; i++)
        if (strcasecmp(units[i].name, name) == 0)
            return &units[i];
    return NULL;
}

/* What to multiply by to come from a unit to the port's own; 0: they do not go together. */
static double unit_scale(const struct plugin_port *port, const char *unit)
{
    const struct unit *from = find_unit(unit), *to = find_unit(port->unit);
    if (!*unit || (port->unit && strcasecmp(port->unit, unit) == 0))
        return 1;
    return from && to && from->family == to->family ? from->scale / to->scale : 0;
}

static bool find_label(const struct plugin_port *port, const char *text, float *value)
{
    for (size_t i = 0; i < port->point_count; i++) {
        if (strcasecmp(port->points[i].label, text) != 0)
            continue;
        *value = port->points[i].value;
        return true;
    }
    return false;
}

static bool is_point(const struct plugin_port *port, float value)
{
    for (size_t i = 0; i < port->point_count; i++)
        if (port->points[i].value == value)
            return true;
    return false;
}

/* "from 0 to 10 dB", "from 0 s on" */
static void describe_range(const struct plugin_port *port, struct plugin_range range, char *text,
                           size_t size)
{
    const char *unit = port->unit ? port->unit : "", *gap = port->unit ? " " : "";
    double least = (double)range.minimum, most = (double)range.maximum;
    if (isfinite(least) && isfinite(most))
        snprintf(text, size, "from %g to %g%s%s", least, most, gap, unit);
    else if (isfinite(least))
        snprintf(text, size, "from %g%s%s on", least, gap, unit);
    else if (isfinite(most))
        snprintf(text, size, "up to %g%s%s", most, gap, unit);
    else
        snprintf(text, size, "any number%s%s", port->unit ? " of " : "", unit);
}

static void describe_points(const struct plugin_port *port, struct short_list *list)
{
    for (size_t i = 0; i < port->point_count; i++) {
        char point[NAME_BYTES];
        snprintf(point, sizeof point, "%s (%g)", port->points[i].label,
                 (double)port->points[i].value);
        short_list_add(list, point);
    }
}

static enum status fail_value(const struct plugin_info *info, const struct plugin_port *port,
                              struct plugin_range range, const char *text)
{
    char numbers[NAME_BYTES];
    struct short_list list = {0};
    describe_range(port, range, numbers, sizeof numbers);
    describe_points(port, &list);
    if (port->is_toggle)
        return fail(STATUS_USAGE, "%s= of %s is on or off, not '%s'", port->symbol, info->id, text);
    if (port->is_enumeration && list.count)
        return fail(STATUS_USAGE, "%s= of %s is one of %s, not '%s'", port->symbol, info->id,
                    short_list_text(&list, MORE), text);
    return fail(STATUS_USAGE, "%s= of %s takes %s%s%s%s, not '%s'", port->symbol, info->id,
                port->is_integer ? "whole numbers " : "", numbers, list.count ? ", or " : "",
                list.count ? short_list_text(&list, MORE) : "", text);
}

static bool read_switch(const struct plugin_port *port, struct plugin_range range, const char *text,
                        float *value)
{
    bool on = strcasecmp(text, "on") == 0 || strcasecmp(text, "true") == 0;
    bool off = strcasecmp(text, "off") == 0 || strcasecmp(text, "false") == 0;
    if (!port->is_toggle || (!on && !off))
        return false;
    if (on)
        *value = isfinite(range.maximum) ? range.maximum : 1;
    else
        *value = isfinite(range.minimum) ? range.minimum : 0;
    return true;
}

/* Reading a bound back may give a slightly different number. */
static float snap(float value, struct plugin_range range)
{
    if (value < range.minimum && value >= range.minimum - fabsf(range.minimum) * 1e-5f)
        return range.minimum;
    if (value > range.maximum && value <= range.maximum + fabsf(range.maximum) * 1e-5f)
        return range.maximum;
    return value;
}

static bool read_number(const struct plugin_port *port, struct plugin_range range, const char *text,
                        float *value)
{
    char *end;
    double number = strtod(text, &end);
    double scale = end != text ? unit_scale(port, end) : 0;
    *value = (float)(number * scale);
    *value = snap(*value, range);
    if (scale == 0 || !isfinite(*value) || *value < range.minimum || *value > range.maximum)
        return false;
    if (port->is_integer && *value != rintf(*value))
        return false;
    return !port->is_enumeration || port->point_count == 0 || is_point(port, *value);
}

enum status plugin_spec_value(const struct plugin_info *info, size_t index, uint32_t rate,
                               const char *text, float *value)
{
    const struct plugin_port *port = &info->ports[index];
    struct plugin_range range = plugin_port_range(port, rate);
    if (read_switch(port, range, text, value) || read_number(port, range, text, value) ||
        find_label(port, text, value))
        return STATUS_OK;
    return fail_value(info, port, range, text);
}
