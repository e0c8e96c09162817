#include "plugin_words.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum {
    LIST_BYTES = 1200,
    LISTED_MOST = 20,
    NAME_BYTES = 256,
};

/* ---- lists in messages ---- */

struct list {
    char text[LIST_BYTES];
    size_t count;
};

static void list_add(struct list *list, const char *name)
{
    size_t length = strlen(list->text);
    if (list->count++ < LISTED_MOST)
        snprintf(list->text + length, sizeof list->text - length, "%s%s", length ? ", " : "", name);
}

static const char *list_text(struct list *list)
{
    size_t length = strlen(list->text);
    if (list->count == 0)
        snprintf(list->text, sizeof list->text, "none");
    if (list->count > LISTED_MOST)
        snprintf(list->text + length, sizeof list->text - length,
                 " and %zu more; halo plugins info tells all", list->count - LISTED_MOST);
    return list->text;
}

/* ---- ports ---- */

static bool is_settable(const struct plugin_port *port)
{
    return port->type == PLUGIN_CONTROL && port->is_input;
}

static enum status fail_port(const struct plugin_info *info, const char *name)
{
    struct list list = {0};
    for (size_t i = 0; i < info->port_count; i++)
        if (is_settable(&info->ports[i]))
            list_add(&list, info->ports[i].symbol);
    return fail(STATUS_USAGE, "%s has no control '%s'; its controls: %s", info->id, name,
                list_text(&list));
}

static enum status fail_ambiguous(const struct plugin_info *info, const char *name)
{
    struct list list = {0};
    for (size_t i = 0; i < info->port_count; i++) {
        const struct plugin_port *port = &info->ports[i];
        char both[NAME_BYTES];
        if (!is_settable(port) || strncasecmp(port->name, name, strlen(name)) != 0)
            continue;
        snprintf(both, sizeof both, "%s (%s)", port->symbol, port->name);
        list_add(&list, both);
    }
    return fail(STATUS_USAGE, "'%s' may be one of several controls of %s: %s", name, info->id,
                list_text(&list));
}

static bool find_symbol(const struct plugin_info *info, const char *name, size_t *port)
{
    for (*port = 0; *port < info->port_count; ++*port)
        if (is_settable(&info->ports[*port]) && strcmp(info->ports[*port].symbol, name) == 0)
            return true;
    return false;
}

static bool find_name(const struct plugin_info *info, const char *name, size_t *port)
{
    for (*port = 0; *port < info->port_count; ++*port)
        if (is_settable(&info->ports[*port]) && strcasecmp(info->ports[*port].name, name) == 0)
            return true;
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

enum status plugin_words_port(const struct plugin_info *info, const char *name, size_t *port)
{
    if (find_symbol(info, name, port) || find_name(info, name, port))
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

static void describe_points(const struct plugin_port *port, struct list *list)
{
    for (size_t i = 0; i < port->point_count; i++) {
        char point[NAME_BYTES];
        snprintf(point, sizeof point, "%s (%g)", port->points[i].label,
                 (double)port->points[i].value);
        list_add(list, point);
    }
}

static enum status fail_value(const struct plugin_info *info, const struct plugin_port *port,
                              struct plugin_range range, const char *text)
{
    char numbers[NAME_BYTES];
    struct list list = {0};
    describe_range(port, range, numbers, sizeof numbers);
    describe_points(port, &list);
    if (port->is_toggle)
        return fail(STATUS_USAGE, "%s= of %s is on or off, not '%s'", port->symbol, info->id, text);
    if (port->is_enumeration && list.count)
        return fail(STATUS_USAGE, "%s= of %s is one of %s, not '%s'", port->symbol, info->id,
                    list_text(&list), text);
    return fail(STATUS_USAGE, "%s= of %s takes %s%s%s%s, not '%s'", port->symbol, info->id,
                port->is_integer ? "whole numbers " : "", numbers, list.count ? ", or " : "",
                list.count ? list_text(&list) : "", text);
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

/* A bound as it is read is not always the bound as it was reckoned. */
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

enum status plugin_words_value(const struct plugin_info *info, size_t index, uint32_t rate,
                               const char *text, float *value)
{
    const struct plugin_port *port = &info->ports[index];
    struct plugin_range range = plugin_port_range(port, rate);
    if (read_switch(port, range, text, value) || read_number(port, range, text, value) ||
        find_label(port, text, value))
        return STATUS_OK;
    return fail_value(info, port, range, text);
}

/* PORT=VALUE */
static enum status take_value(const struct plugin_info *info, uint32_t rate, const char *word,
                              size_t *port, float *value)
{
    char name[NAME_BYTES];
    const char *equals = strchr(word, '=');
    size_t length = equals ? (size_t)(equals - word) : 0;
    if (length == 0 || length >= sizeof name)
        return fail(STATUS_USAGE, "%s takes PORT=VALUE, not '%s'", info->id, word);
    memcpy(name, word, length);
    name[length] = '\0';
    enum status status = plugin_words_port(info, name, port);
    return status == STATUS_OK ? plugin_words_value(info, *port, rate, equals + 1, value) : status;
}

static enum status take_port(struct plugin_words *words, const struct plugin_info *info,
                             uint32_t rate, const char *word)
{
    struct plugin_value value;
    enum status status = take_value(info, rate, word, &value.port, &value.value);
    if (status != STATUS_OK)
        return status;
    struct plugin_value *values = realloc(words->values, (words->value_count + 1) * sizeof *values);
    if (!values)
        return fail_memory("a plugin");
    words->values = values;
    values[words->value_count++] = value;
    return STATUS_OK;
}

/* ---- the other words ---- */

static enum status take_point(struct plugin_words *words, const struct plugin_info *info,
                              uint32_t rate, const char *word)
{
    struct automation_point point;
    const char *change;
    enum status status = automation_parse(word, rate, &point, &change);
    if (status == STATUS_OK)
        status = take_value(info, rate, change, &point.target, &point.value);
    if (status != STATUS_OK)
        return status;
    const struct plugin_port *port = &info->ports[point.target];
    if (point.over > 0 && (port->is_toggle || port->is_enumeration))
        return fail(STATUS_USAGE, "'%s' cannot be a ramp: %s has nothing between its values", word,
                    port->symbol);
    return automation_add(&words->automation, &point);
}

static const struct plugin_preset *find_preset(const struct plugin_info *info, const char *text)
{
    const struct plugin_preset *named = NULL;
    for (size_t i = 0; i < info->preset_count; i++) {
        const struct plugin_preset *preset = &info->presets[i];
        if (strcmp(preset->uri, text) == 0)
            return preset;
        if (!named && preset->name && strcasecmp(preset->name, text) == 0)
            named = preset;
    }
    return named;
}

static enum status take_preset(struct plugin_words *words, const struct plugin_info *info,
                               const char *text)
{
    const struct plugin_preset *preset = find_preset(info, text);
    struct list list = {0};
    if (preset) {
        words->preset = preset->uri;
        return STATUS_OK;
    }
    for (size_t i = 0; i < info->preset_count; i++)
        list_add(&list, info->presets[i].name ? info->presets[i].name : info->presets[i].uri);
    return fail(STATUS_USAGE, "%s has no preset '%s'; its presets: %s", info->id, text,
                list_text(&list));
}

static const struct plugin_parameter *find_parameter(const struct plugin_info *info,
                                                     const char *text)
{
    const struct plugin_parameter *found = NULL;
    for (size_t i = 0; i < info->parameter_count; i++) {
        const struct plugin_parameter *parameter = &info->parameters[i];
        size_t length = strlen(parameter->uri);
        if (strncmp(text, parameter->uri, length) == 0 && text[length] == '=')
            found = parameter;
    }
    return found;
}

static enum status check_setting(const struct plugin_parameter *parameter, const char *value)
{
    char *end;
    switch (parameter->type) {
    case PLUGIN_PATH:
        if (access(value, R_OK) != 0)
            return fail(STATUS_FAILED, "cannot read %s: %s", value, strerror(errno));
        return STATUS_OK;
    case PLUGIN_FLOAT:
    case PLUGIN_DOUBLE:
    case PLUGIN_INT:
    case PLUGIN_LONG:
        if (!isfinite(strtod(value, &end)) || end == value || *end)
            return fail(STATUS_USAGE, "%s takes a number, not '%s'", parameter->uri, value);
        return STATUS_OK;
    case PLUGIN_BOOL:
        if (strcmp(value, "true") != 0 && strcmp(value, "false") != 0)
            return fail(STATUS_USAGE, "%s is true or false, not '%s'", parameter->uri, value);
        return STATUS_OK;
    case PLUGIN_STRING:
    case PLUGIN_URI:
        return STATUS_OK;
    }
    return STATUS_OK;
}

static enum status keep_setting(struct plugin_words *words,
                                const struct plugin_parameter *parameter, const char *value)
{
    size_t count = words->setting_count + 1;
    struct plugin_setting *settings = realloc(words->settings, count * sizeof *settings);
    if (settings)
        words->settings = settings;
    char **kept = realloc(words->kept, count * sizeof *kept);
    if (kept)
        words->kept = kept;
    char *text = strdup(value);
    if (!settings || !kept || !text) {
        free(text);
        return fail_memory("a plugin");
    }
    kept[count - 1] = text;
    settings[count - 1] = (struct plugin_setting){.uri = parameter->uri, .value = text};
    words->setting_count = count;
    return STATUS_OK;
}

static enum status take_setting(struct plugin_words *words, const struct plugin_info *info,
                                const char *text)
{
    const struct plugin_parameter *parameter = find_parameter(info, text);
    struct list list = {0};
    if (!parameter) {
        for (size_t i = 0; i < info->parameter_count; i++)
            list_add(&list, info->parameters[i].uri);
        return fail(STATUS_USAGE,
                    "param: takes URI=VALUE of a parameter, not '%s'; the parameters of %s: %s",
                    text, info->id, list_text(&list));
    }
    const char *value = text + strlen(parameter->uri) + 1;
    enum status status = check_setting(parameter, value);
    return status == STATUS_OK ? keep_setting(words, parameter, value) : status;
}

/* A control may be called "at" or "preset": it is meant where the word can mean nothing else. */
static bool names_control(const struct plugin_info *info, const char *word)
{
    size_t port;
    char name[] = "preset";
    name[strcspn(word, "=")] = '\0';
    memcpy(name, word, strlen(name));
    return find_symbol(info, name, &port) &&
           !(strcmp(name, "preset") == 0 && find_preset(info, word + 7));
}

enum status plugin_words_take(struct plugin_words *words, const struct plugin_info *info,
                              uint32_t rate, const char *word)
{
    if (strncmp(word, "param:", 6) == 0)
        return take_setting(words, info, word + 6);
    if (strncmp(word, "preset=", 7) == 0 && !names_control(info, word))
        return take_preset(words, info, word + 7);
    if (automation_is_word(word) && (strchr(word, ':') || !names_control(info, word)))
        return take_point(words, info, rate, word);
    return take_port(words, info, rate, word);
}

void plugin_words_free(struct plugin_words *words)
{
    for (size_t i = 0; i < words->setting_count; i++)
        free(words->kept[i]);
    free(words->kept);
    free(words->settings);
    free(words->values);
    automation_free(&words->automation);
    *words = (struct plugin_words){0};
}
