#include "plugin/plugin_spec.h"

#include "base/short_list.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_BYTES = 256 };

static const char MORE[] = "; halo plugins info lists all";

/* PORT=VALUE */
static enum status parse_value(const struct plugin_info *info, uint32_t rate, const char *word,
                              size_t *port, float *value)
{
    char name[NAME_BYTES];
    const char *equals = strchr(word, '=');
    size_t length = equals ? (size_t)(equals - word) : 0;
    if (length == 0 || length >= sizeof name)
        return fail(STATUS_USAGE, "%s takes PORT=VALUE, not '%s'", info->id, word);
    memcpy(name, word, length);
    name[length] = '\0';
    TRY(plugin_spec_port(info, name, port));
    return plugin_spec_value(info, *port, rate, equals + 1, value);
}

static enum status parse_port(struct plugin_spec *spec, const struct plugin_info *info,
                             uint32_t rate, const char *word)
{
    struct plugin_value value;
    TRY(parse_value(info, rate, word, &value.port, &value.value));
    struct plugin_value *values = realloc(spec->values, (spec->value_count + 1) * sizeof *values);
    if (!values)
        return fail_memory("a plugin");
    spec->values = values;
    values[spec->value_count++] = value;
    return STATUS_OK;
}

/* ---- the other words ---- */

static enum status parse_point(struct plugin_spec *spec, const struct plugin_info *info,
                              uint32_t rate, const char *word)
{
    struct automation_point point;
    const char *change;
    TRY(automation_parse(word, rate, &point, &change));
    TRY(parse_value(info, rate, change, &point.target, &point.value));
    const struct plugin_port *port = &info->ports[point.target];
    if (point.over > 0 && (port->is_toggle || port->is_enumeration))
        return fail(STATUS_USAGE, "'%s' cannot be a ramp: %s has nothing between its values", word,
                    port->symbol);
    return automation_add(&spec->automation, &point);
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

static enum status parse_preset(struct plugin_spec *spec, const struct plugin_info *info,
                               const char *text)
{
    const struct plugin_preset *preset = find_preset(info, text);
    struct short_list list = {0};
    if (preset) {
        spec->preset = preset->uri;
        return STATUS_OK;
    }
    for (size_t i = 0; i < info->preset_count; i++)
        short_list_add(&list, info->presets[i].name ? info->presets[i].name : info->presets[i].uri);
    return fail(STATUS_USAGE, "%s has no preset '%s'; its presets: %s", info->id, text,
                short_list_text(&list, MORE));
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

static enum status keep_setting(struct plugin_spec *spec,
                                const struct plugin_parameter *parameter, const char *value)
{
    size_t count = spec->setting_count + 1;
    struct plugin_setting *settings = realloc(spec->settings, count * sizeof *settings);
    if (settings)
        spec->settings = settings;
    char **kept = realloc(spec->kept, count * sizeof *kept);
    if (kept)
        spec->kept = kept;
    char *text = strdup(value);
    if (!settings || !kept || !text) {
        free(text);
        return fail_memory("a plugin");
    }
    kept[count - 1] = text;
    settings[count - 1] = (struct plugin_setting){.uri = parameter->uri, .value = text};
    spec->setting_count = count;
    return STATUS_OK;
}

static enum status parse_setting(struct plugin_spec *spec, const struct plugin_info *info,
                                const char *text)
{
    const struct plugin_parameter *parameter = find_parameter(info, text);
    struct short_list list = {0};
    if (!parameter) {
        for (size_t i = 0; i < info->parameter_count; i++)
            short_list_add(&list, info->parameters[i].uri);
        return fail(STATUS_USAGE,
                    "param: takes URI=VALUE of a parameter, not '%s'; the parameters of %s: %s",
                    text, info->id, short_list_text(&list, MORE));
    }
    const char *value = text + strlen(parameter->uri) + 1;
    TRY(check_setting(parameter, value));
    return keep_setting(spec, parameter, value);
}

/* A control may be named "at" or "preset": it is used where the word has no other meaning. */
static bool names_control(const struct plugin_info *info, const char *word)
{
    bool found = false;
    char name[] = "preset";
    name[strcspn(word, "=")] = '\0';
    memcpy(name, word, strlen(name));
    for (size_t i = 0; i < info->port_count; i++)
        found |= info->ports[i].type == PLUGIN_CONTROL && info->ports[i].is_input &&
                 strcmp(info->ports[i].symbol, name) == 0;
    return found && !(strcmp(name, "preset") == 0 && find_preset(info, word + 7));
}

static enum status parse_state(struct plugin_spec *spec, const struct plugin_info *info,
                              const char *folder)
{
    if (!info->keeps_state)
        return fail(STATUS_USAGE, "%s keeps no state: its controls are all", info->id);
    struct stat entry;
    bool is_there = stat(folder, &entry) == 0;
    if (is_there && !S_ISDIR(entry.st_mode))
        return fail(STATUS_FAILED, "cannot read the state %s: it is not a folder", folder);
    if (!is_there || access(folder, R_OK | X_OK) != 0)
        return fail(STATUS_FAILED, "cannot read the state %s: %s", folder, strerror(errno));
    free(spec->state);
    spec->state = strdup(folder);
    return spec->state ? STATUS_OK : fail_memory("a plugin");
}

enum status plugin_spec_take(struct plugin_spec *spec, const struct plugin_info *info,
                              uint32_t rate, const char *word)
{
    if (strncmp(word, "@state=", 7) == 0)
        return parse_state(spec, info, word + 7);
    if (strncmp(word, "param:", 6) == 0)
        return parse_setting(spec, info, word + 6);
    if (strncmp(word, "preset=", 7) == 0 && !names_control(info, word))
        return parse_preset(spec, info, word + 7);
    if (automation_is_word(word) && (strchr(word, ':') || !names_control(info, word)))
        return parse_point(spec, info, rate, word);
    return parse_port(spec, info, rate, word);
}

void plugin_spec_free(struct plugin_spec *spec)
{
    for (size_t i = 0; i < spec->setting_count; i++)
        free(spec->kept[i]);
    free(spec->kept);
    free(spec->state);
    free(spec->settings);
    free(spec->values);
    automation_free(&spec->automation);
    *spec = (struct plugin_spec){0};
}

