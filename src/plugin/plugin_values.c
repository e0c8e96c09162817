#include "plugin/plugin_values.h"

#include "plugin/plugin_host.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- values ---- */

enum { POINTS_MOST = 512, UNIT_MOST = 16 };

struct value_text {
    char text[PLUGIN_VALUE_TEXT]; /* text of the value; "" if the plugin gives none */
    double number;                /* number at the beginning of `text`; NaN: none */
    const char *unit;             /* text after the number */
};

static void ask_text(const struct plugin_value_texts *texts, double value,
                     struct value_text *answer)
{
    char *end;
    *answer = (struct value_text){0};
    if (!texts->text(texts->context, value, answer->text, PLUGIN_VALUE_TEXT))
        answer->text[0] = '\0';
    answer->text[PLUGIN_VALUE_TEXT - 1] = '\0';
    for (size_t i = strlen(answer->text); i > 0 && isspace((unsigned char)answer->text[i - 1]); i--)
        answer->text[i - 1] = '\0';
    answer->number = strtod(answer->text, &end);
    if (end == answer->text)
        answer->number = (double)NAN;
    while (isspace((unsigned char)*end))
        end++;
    answer->unit = end;
}

/* Whether the text shows the value itself, rounded, and not a multiple or function of it. */
static bool shows(const struct value_text *text, double value)
{
    const char *point = strpbrk(text->text, ".,");
    double step = 1;
    for (; point && isdigit((unsigned char)point[1]); point++)
        step /= 10;
    return fabs(text->number - value) <= 0.51 * step + 1e-6 * fabs(value);
}

/* Find the unit that texts over the range show after the value; "20.0 kHz" for 20000 shows none. */
static enum status find_unit_text(const struct plugin_value_texts *texts, struct plugin_port *port)
{
    char unit[UNIT_MOST] = "";
    double range = (double)port->maximum - (double)port->minimum;
    if (port->unit)
        return STATUS_OK;
    for (int i = 0; i <= 4; i++) {
        struct value_text text;
        double value = (double)port->minimum + range * i / 4;
        ask_text(texts, value, &text);
        bool is_unit = *text.unit && strlen(text.unit) < sizeof unit && !isdigit(*text.unit);
        if (value == 0 || !is_unit)
            continue;
        bool is_same = shows(&text, value);
        if (!is_same && strcmp(unit, text.unit) == 0)
            unit[0] = '\0'; /* the number has another scale with the same unit */
        else if (is_same && !unit[0])
            strcpy(unit, text.unit);
    }
    return plugin_text(unit, &port->unit) ? STATUS_OK : fail_memory("a plugin");
}

static enum status add_label(struct plugin_port *port, double value, const char *label)
{
    struct plugin_point *more = realloc(port->points, (port->point_count + 1) * sizeof *more);
    if (!more)
        return fail_memory("a plugin");
    port->points = more;
    more[port->point_count] = (struct plugin_point){.value = (float)value, .label = strdup(label)};
    return more[port->point_count++].label ? STATUS_OK : fail_memory("a plugin");
}

static bool says_switch(const char *text)
{
    return strcasecmp(text, "on") == 0 || strcasecmp(text, "off") == 0;
}

/* Make points of the texts of a parameter's steps. A text that only shows a number is no label. */
static enum status find_points(const struct plugin_value_texts *texts, struct plugin_port *port)
{
    bool says_more = false, is_whole = true;
    for (double value = (double)port->minimum; value <= (double)port->maximum; value++) {
        struct value_text text;
        ask_text(texts, value, &text);
        says_more |= text.text[0] && !shows(&text, value) && !says_switch(text.text);
        is_whole &= text.text[0] != '\0';
        if (text.text[0])
            TRY(add_label(port, value, text.text));
    }
    port->is_enumeration = says_more && is_whole;
    if (says_more)
        return STATUS_OK;
    for (size_t i = 0; i < port->point_count; i++)
        free(port->points[i].label);
    port->point_count = 0;
    return STATUS_OK;
}

enum status plugin_values_describe(const struct plugin_value_texts *texts, bool is_stepped,
                                   struct plugin_port *port)
{
    port->initial = fmaxf(port->minimum, fminf(port->maximum, port->initial));
    if (!is_stepped)
        return find_unit_text(texts, port);
    port->minimum = ceilf(port->minimum);
    port->maximum = floorf(port->maximum);
    port->is_toggle = port->minimum == 0 && port->maximum == 1;
    port->is_integer = !port->is_toggle;
    if (port->maximum - port->minimum < POINTS_MOST)
        TRY(find_points(texts, port));
    return port->point_count == 0 && !port->is_toggle ? find_unit_text(texts, port) : STATUS_OK;
}

/* ---- ports ---- */

enum status plugin_info_refuse(struct plugin_info *info, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&info->refusal, format, arguments) < 0)
        info->refusal = NULL;
    va_end(arguments);
    return info->refusal ? STATUS_OK : fail_memory("a plugin");
}

enum status plugin_info_add_port(struct plugin_info *info, const struct plugin_port *port)
{
    struct plugin_port *more = realloc(info->ports, (info->port_count + 1) * sizeof *more);
    if (!more)
        return fail_memory("a plugin");
    info->ports = more;
    more[info->port_count] = *port;
    more[info->port_count].name = strdup(port->name);
    return more[info->port_count++].name ? STATUS_OK : fail_memory("a plugin");
}

void plugin_channel_name(const char *bus, size_t most, uint32_t channels, uint32_t channel,
                         char *text, size_t size)
{
    int length = (int)strnlen(bus, most);
    if (channels == 1)
        snprintf(text, size, "%.*s", length, bus);
    else if (channels == 2)
        snprintf(text, size, "%.*s %s", length, bus, channel ? "right" : "left");
    else
        snprintf(text, size, "%.*s %u", length, bus, channel + 1);
}
