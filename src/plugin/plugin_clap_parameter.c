/* What a parameter of CLAP means, from its range and the texts of its values. */
#include "plugin/plugin_clap.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { VALUE_TEXT = 128, POINTS_MOST = 512, UNIT_MOST = 16 };

struct clap_value_text {
    char text[VALUE_TEXT]; /* "" if the plugin has none */
    double number;         /* it begins with; NaN: with none */
    const char *unit;      /* what follows the number */
};

struct clap_question {
    const struct clap_plugin *plugin;
    const struct clap_plugin_params *params;
    uint32_t id;
};

static void ask_text(const struct clap_question *ask, double value, struct clap_value_text *answer)
{
    char *end;
    *answer = (struct clap_value_text){0};
    if (!ask->params->value_to_text(ask->plugin, ask->id, value, answer->text, VALUE_TEXT))
        answer->text[0] = '\0';
    answer->text[VALUE_TEXT - 1] = '\0';
    for (size_t i = strlen(answer->text); i > 0 && isspace((unsigned char)answer->text[i - 1]); i--)
        answer->text[i - 1] = '\0';
    answer->number = strtod(answer->text, &end);
    if (end == answer->text)
        answer->number = (double)NAN;
    while (isspace((unsigned char)*end))
        end++;
    answer->unit = end;
}

/* Whether the text shows the value as it is, rounded: not a multiple or a function of it. */
static bool shows(const struct clap_value_text *text, double value)
{
    const char *point = strpbrk(text->text, ".,");
    double step = 1;
    for (; point && isdigit((unsigned char)point[1]); point++)
        step /= 10;
    return fabs(text->number - value) <= 0.51 * step + 1e-6 * fabs(value);
}

/* ---- unit ---- */

/* The unit that follows the value as it is, in its range; "20.0 kHz" for 20000 says nothing. */
static enum status find_unit_text(const struct clap_question *ask,
                                  const struct clap_param_info *about, struct plugin_port *port)
{
    char unit[UNIT_MOST] = "";
    double range = about->max_value - about->min_value;
    for (int i = 0; i <= 4; i++) {
        struct clap_value_text text;
        double value = about->min_value + range * i / 4;
        ask_text(ask, value, &text);
        bool is_unit = *text.unit && strlen(text.unit) < sizeof unit && !isdigit(*text.unit);
        if (value == 0 || !is_unit)
            continue;
        bool is_same = shows(&text, value);
        if (!is_same && strcmp(unit, text.unit) == 0)
            unit[0] = '\0'; /* the number is another scale, in the same unit */
        else if (is_same && !unit[0])
            strcpy(unit, text.unit);
    }
    return clap_text(unit, &port->unit) ? STATUS_OK : fail_memory("a plugin");
}

/* ---- points ---- */

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

/* The texts of its steps, where these say more than the number: only then are they labels. */
static enum status find_points(const struct clap_question *ask, struct plugin_port *port)
{
    bool says_more = false, is_whole = true;
    for (double value = (double)port->minimum; value <= (double)port->maximum; value++) {
        struct clap_value_text text;
        ask_text(ask, value, &text);
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

enum status clap_describe_parameter(const struct clap_plugin *plugin,
                                    const struct clap_plugin_params *params,
                                    const struct clap_param_info *about, struct plugin_port *port)
{
    const struct clap_question ask = {plugin, params, about->id};
    bool is_stepped =
        about->flags & (CLAP_PARAM_IS_STEPPED | CLAP_PARAM_IS_ENUM | CLAP_PARAM_IS_BYPASS);
    port->minimum = (float)about->min_value;
    port->maximum = (float)about->max_value;
    port->initial = fmaxf(port->minimum, fminf(port->maximum, (float)about->default_value));
    if (!is_stepped)
        return find_unit_text(&ask, about, port);
    port->minimum = ceilf(port->minimum);
    port->maximum = floorf(port->maximum);
    port->is_toggle = port->minimum == 0 && port->maximum == 1;
    port->is_integer = !port->is_toggle;
    if (port->maximum - port->minimum < POINTS_MOST)
        TRY(find_points(&ask, port));
    return port->point_count == 0 && !port->is_toggle ? find_unit_text(&ask, about, port)
                                                      : STATUS_OK;
}
