#include "plugin/plugin_spec.h"

#include "base/decimal.h"
#include "base/files_read.h"
#include "base/short_list.h"
#include "base/suggest.h"
#include "plugin/isolation/plugin_reads.h"
#include "signal/audio.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- saved state, and files that the plugin may read: @state=FOLDER, @reads=PATH ---- */

/* Take the value of @state=. */
static enum status plugin_spec_take_state(struct plugin_spec *spec, const struct plugin_info *info,
                                          const char *folder)
{
    if (!info->keeps_state)
        return fail(CAUSE_USAGE, "%s keeps no state beyond its controls", info->id);
    struct stat entry;
    if (stat(folder, &entry) == 0 && !S_ISDIR(entry.st_mode))
        return fail(CAUSE_UNSUPPORTED, "cannot read the state %s: it is not a folder", folder);
    if (access(folder, R_OK | X_OK) != 0)
        return fail_errno(errno, "cannot read the state %s", folder);
    free(spec->state);
    spec->state = strdup(folder);
    return spec->state ? STATUS_OK : fail_memory("a plugin");
}

static enum status plugin_spec_take_reads(struct plugin_spec *spec, const char *path)
{
    struct stat entry;
    char **reads = realloc(spec->reads, (spec->read_count + 1) * sizeof *reads);
    if (!reads)
        return fail_memory("a plugin");
    spec->reads = reads;
    if (access(path, R_OK) != 0 || stat(path, &entry) != 0)
        return fail_errno(errno, "cannot read %s", path);
    /* Only files are noted as read: a folder may have unread files, or the output. */
    bool added = S_ISDIR(entry.st_mode) || files_read_add(path);
    reads[spec->read_count] = strdup(path);
    if (!reads[spec->read_count])
        return fail_memory("a plugin");
    spec->read_count++;
    return added ? STATUS_OK : fail_memory("a plugin");
}

static enum status refuse_link(void *folder, const char *link, const char *target)
{
    return fail(
        CAUSE_NOT_PERMITTED,
        "cannot use the state %s: %s in it is a link to %s, which no option names; @reads=%s lets "
        "the plugin read it",
        (const char *)folder, link + strlen(folder) + 1, target, target);
}

enum status plugin_spec_check_state(const struct plugin_spec *spec, char *const *named)
{
    struct plugin_reads reads;
    if (!spec->state)
        return STATUS_OK;
    TRY(plugin_reads_init(&reads, named));
    enum status status = plugin_state_links(spec->state, &reads, refuse_link, spec->state);
    plugin_reads_free(&reads);
    if (status == STATUS_OK && !files_read_add_below(spec->state))
        status = fail_memory("a plugin");
    return status;
}

/* ---- presets: preset=URI, its name, or a file for plugins that load files ---- */

static const char in_file[] = "file:", in_plugin[] = "plugin:", key_mark[] = "?key=";

/* A preset by its URI or name, or NULL. */
static const struct plugin_preset *plugin_spec_find_preset(const struct plugin_info *info,
                                                           const char *text)
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

size_t plugin_spec_preset_path(const char *text, size_t *start)
{
    *start = strncmp(text, in_file, sizeof in_file - 1) == 0 ? sizeof in_file - 1 : 0;
    if (strncmp(text + *start, "//", 2) == 0)
        *start += 2;
    const char *key = strstr(text + *start, key_mark);
    return key ? (size_t)(key - text) - *start : strlen(text + *start);
}

/* The URI of a preset in a file, which the caller frees. NULL: no such file or memory (errno). */
static char *uri_of_file(const char *text)
{
    char path[PATH_MAX], real[PATH_MAX], *uri = NULL;
    struct stat about;
    size_t start, length = plugin_spec_preset_path(text, &start);
    if ((size_t)snprintf(path, sizeof path, "%.*s", (int)length, text + start) >= sizeof path) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    if (!realpath(path, real) || access(real, R_OK) != 0 || stat(real, &about) != 0)
        return NULL;
    if (!S_ISREG(about.st_mode)) {
        errno = S_ISDIR(about.st_mode) ? EISDIR : EINVAL;
        return NULL;
    }
    if (!files_read_add(real)) {
        errno = ENOMEM;
        return NULL;
    }
    return asprintf(&uri, "%s%s%s", in_file, real, text + start + length) < 0 ? NULL : uri;
}

static enum status refuse(const struct plugin_info *info, const char *text)
{
    struct short_list list = {0};
    struct suggest near;
    suggest_init(&near, text);
    for (size_t i = 0; i < info->preset_count; i++) {
        const struct plugin_preset *preset = &info->presets[i];
        short_list_add(&list, preset->name ? preset->name : preset->uri);
        suggest_offer(&near, preset->name ? preset->name : preset->uri);
    }
    enum status status =
        fail(CAUSE_USAGE, "%s has no preset '%s'; its presets: %s%s%s%s", info->id, text,
             short_list_text(&list, "; halo plugins info lists all"),
             info->loads_presets ? "; a file is named with its folder, such as ./" : "",
             info->loads_presets ? text : "", suggest_text(&near));
    suggest_free(&near);
    return status;
}

/* Take the value of preset=. */
static enum status plugin_spec_take_preset(struct plugin_spec *spec, const struct plugin_info *info,
                                           const char *text)
{
    const struct plugin_preset *preset = plugin_spec_find_preset(info, text);
    free(spec->preset);
    spec->preset = NULL;
    bool is_inside = strncmp(text, in_plugin, sizeof in_plugin - 1) == 0;
    if (preset || (is_inside && info->loads_presets)) {
        spec->preset = strdup(preset ? preset->uri : text);
        return spec->preset ? STATUS_OK : fail_memory("a plugin");
    }
    if (!info->loads_presets || !strchr(text, '/')) /* the text may be a name */
        return refuse(info, text);
    spec->preset = uri_of_file(text);
    return spec->preset ? STATUS_OK : fail_errno(errno, "cannot read the preset %s", text);
}

/* ---- parameters: param:URI=VALUE ---- */

static enum status check_setting(const struct plugin_parameter *parameter, const char *value)
{
    double number;
    switch (parameter->type) {
    case PLUGIN_PATH:
        if (access(value, R_OK) != 0)
            return fail_errno(errno, "cannot read %s", value);
        return files_read_add(value) ? STATUS_OK : fail_memory("a plugin");
    case PLUGIN_FLOAT:
    case PLUGIN_DOUBLE:
    case PLUGIN_INT:
    case PLUGIN_LONG:
        if (!decimal_parse(value, &number) || !isfinite(number))
            return fail(CAUSE_USAGE, "%s takes a number, not '%s'", parameter->uri, value);
        break;
    case PLUGIN_BOOL:
        if (strcmp(value, "true") != 0 && strcmp(value, "false") != 0)
            return fail(CAUSE_USAGE, "%s is true or false, not '%s'", parameter->uri, value);
        break;
    case PLUGIN_STRING:
    case PLUGIN_URI:
        break;
    }
    return STATUS_OK;
}

static enum status keep_setting(struct plugin_spec *spec, const struct plugin_parameter *parameter,
                                const char *value, uint64_t at)
{
    struct plugin_setting *settings =
        realloc(spec->settings, (spec->setting_count + 1) * sizeof *settings);
    if (!settings)
        return fail_memory("a plugin");
    spec->settings = settings;
    struct plugin_setting setting = {.uri = parameter->uri, .value = strdup(value), .at = at};
    if (!setting.value)
        return fail_memory("a plugin");
    size_t place = spec->setting_count++;
    for (; place > 0 && settings[place - 1].at > at; place--)
        settings[place] = settings[place - 1];
    settings[place] = setting;
    return STATUS_OK;
}

/* Take a parameter, URI=VALUE, at a frame of the sound. */
static enum status plugin_spec_take_setting(struct plugin_spec *spec,
                                            const struct plugin_info *info, const char *text,
                                            uint64_t at)
{
    struct short_list list = {0};
    for (size_t i = info->parameter_count; i-- > 0;) {
        const struct plugin_parameter *parameter = &info->parameters[i];
        size_t length = strlen(parameter->uri);
        if (strncmp(text, parameter->uri, length) != 0 || text[length] != '=')
            continue;
        TRY(check_setting(parameter, text + length + 1));
        return keep_setting(spec, parameter, text + length + 1, at);
    }
    for (size_t i = 0; i < info->parameter_count; i++)
        short_list_add(&list, info->parameters[i].uri);
    return fail(CAUSE_USAGE,
                "param: takes URI=VALUE of a parameter, not '%s'; the parameters of %s: %s", text,
                info->id, short_list_text(&list, "; halo plugins info lists all"));
}

enum { NAME_BYTES = 256 };

static const char MORE[] = "; halo plugins info lists all";

/* ---- ports ---- */

static enum status fail_port(const struct plugin_info *info, const char *name)
{
    struct short_list list = {0};
    struct suggest near;
    suggest_init(&near, name);
    for (size_t i = 0; i < info->port_count; i++)
        if (plugin_port_is_control(&info->ports[i])) {
            short_list_add(&list, info->ports[i].symbol);
            suggest_offer(&near, info->ports[i].symbol);
            suggest_offer_as(&near, info->ports[i].name, info->ports[i].symbol);
        }
    enum status status = fail(CAUSE_USAGE, "%s has no control '%s'; its controls: %s%s", info->id,
                              name, short_list_text(&list, MORE), suggest_text(&near));
    suggest_free(&near);
    return status;
}

static enum status fail_ambiguous(const struct plugin_info *info, const char *name)
{
    struct short_list list = {0};
    for (size_t i = 0; i < info->port_count; i++) {
        const struct plugin_port *port = &info->ports[i];
        char both[NAME_BYTES];
        if (!plugin_port_is_control(port) || strncasecmp(port->name, name, strlen(name)) != 0)
            continue;
        snprintf(both, sizeof both, "%s (%s)", port->symbol, port->name);
        short_list_add(&list, both);
    }
    return fail(CAUSE_USAGE, "'%s' may be one of several controls of %s: %s", name, info->id,
                short_list_text(&list, MORE));
}

/* Find a port by its symbol, else by its name, ignoring case. */
static bool find_named(const struct plugin_info *info, const char *name, size_t *port)
{
    for (int by_name = 0; by_name < 2; by_name++)
        for (*port = 0; *port < info->port_count; ++*port) {
            const struct plugin_port *one = &info->ports[*port];
            if (plugin_port_is_control(one) &&
                (by_name ? strcasecmp(one->name, name) : strcmp(one->symbol, name)) == 0)
                return true;
        }
    return false;
}

/* The number of ports whose name begins with `name`; *port: the first of them. */
static size_t find_prefix(const struct plugin_info *info, const char *name, size_t *port)
{
    size_t count = 0;
    for (size_t i = info->port_count; i-- > 0;) {
        if (!plugin_port_is_control(&info->ports[i]) ||
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
           plugin_port_is_control(&info->ports[index]);
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

/* The factor that converts a unit to the unit of the port; 0: they are incompatible. */
static double unit_scale(const struct plugin_port *port, const char *unit)
{
    const struct unit *from = find_unit(unit), *to = find_unit(port->unit);
    if (!*unit || (port->unit && strcasecmp(port->unit, unit) == 0))
        return 1;
    return from && to && from->family == to->family ? from->scale / to->scale : 0;
}

static bool find_label(const struct plugin_port *port, const char *text, float *value)
{
    size_t i = 0;
    while (i < port->point_count && strcasecmp(port->points[i].label, text) != 0)
        i++;
    if (i < port->point_count)
        *value = port->points[i].value;
    return i < port->point_count;
}

/* Write a range as text: "from 0 to 10 dB", "from 0 s on". */
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

static enum status fail_value(const struct plugin_info *info, const struct plugin_port *port,
                              struct plugin_range range, const char *text)
{
    char numbers[NAME_BYTES], point[NAME_BYTES];
    struct short_list list = {0};
    describe_range(port, range, numbers, sizeof numbers);
    for (size_t i = 0; i < port->point_count; i++) {
        snprintf(point, sizeof point, "%s (%g)", port->points[i].label,
                 (double)port->points[i].value);
        short_list_add(&list, point);
    }
    if (port->is_toggle)
        return fail(CAUSE_USAGE, "%s= of %s is on or off, not '%s'", port->symbol, info->id, text);
    if (port->is_enumeration && list.count)
        return fail(CAUSE_USAGE, "%s= of %s is one of %s, not '%s'", port->symbol, info->id,
                    short_list_text(&list, MORE), text);
    char *end, factor[NAME_BYTES] = "";
    double db;
    if (decimal_read(text, &end, &db) && strcasecmp(end, "dB") == 0 && !port->unit)
        snprintf(factor, sizeof factor, "; as a factor, %.3g", audio_from_db(db));
    return fail(CAUSE_USAGE, "%s= of %s takes %s%s%s%s, not '%s'%s", port->symbol, info->id,
                port->is_integer ? "whole numbers " : "", numbers, list.count ? ", or " : "",
                list.count ? short_list_text(&list, MORE) : "", text, factor);
}

static bool read_switch(const struct plugin_port *port, struct plugin_range range, const char *text,
                        float *value)
{
    bool on = strcasecmp(text, "on") == 0 || strcasecmp(text, "true") == 0;
    bool off = strcasecmp(text, "off") == 0 || strcasecmp(text, "false") == 0;
    if (!port->is_toggle || (!on && !off))
        return false;
    float bound = on ? range.maximum : range.minimum;
    *value = isfinite(bound) ? bound : on ? 1 : 0;
    return true;
}

/* Move a value near a bound to the bound: printing and parsing a bound may change it slightly. */
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
    double number;
    double scale = decimal_read(text, &end, &number) ? unit_scale(port, end) : 0;
    *value = (float)(number * scale);
    *value = snap(*value, range);
    if (scale == 0 || !isfinite(*value) || *value < range.minimum || *value > range.maximum)
        return false;
    if (port->is_integer && *value != rintf(*value))
        return false;
    bool is_point = !port->is_enumeration || port->point_count == 0;
    for (size_t i = 0; i < port->point_count; i++)
        is_point |= port->points[i].value == *value;
    return is_point;
}

enum status plugin_spec_value(const struct plugin_info *info, size_t index, uint32_t rate,
                              const char *text, float *value)
{
    const struct plugin_port *port = &info->ports[index];
    struct plugin_range range = plugin_port_range(port, rate);
    bool found = read_switch(port, range, text, value) || read_number(port, range, text, value) ||
                 find_label(port, text, value);
    return found ? STATUS_OK : fail_value(info, port, range, text);
}

/* ---- arguments ---- */

/* Parse PORT=VALUE. */
static enum status parse_value(const struct plugin_info *info, uint32_t rate, const char *arg,
                               size_t *port, float *value)
{
    char name[NAME_BYTES];
    const char *equals = strchr(arg, '=');
    size_t length = equals ? (size_t)(equals - arg) : 0;
    if (length == 0 || length >= sizeof name)
        return fail(CAUSE_USAGE, "%s takes PORT=VALUE, not '%s'", info->id, arg);
    memcpy(name, arg, length);
    name[length] = '\0';
    TRY(plugin_spec_port(info, name, port));
    if (!equals[1])
        return fail(CAUSE_USAGE, "%s= of %s needs a value; halo plugins info %s describes it", name,
                    info->id, info->id);
    return plugin_spec_value(info, *port, rate, equals + 1, value);
}

static enum status parse_port(struct plugin_spec *spec, const struct plugin_info *info,
                              uint32_t rate, const char *arg)
{
    struct plugin_value value;
    TRY(parse_value(info, rate, arg, &value.port, &value.value));
    struct plugin_value *values = realloc(spec->values, (spec->value_count + 1) * sizeof *values);
    if (!values)
        return fail_memory("a plugin");
    spec->values = values;
    values[spec->value_count++] = value;
    return STATUS_OK;
}

static enum status parse_point(struct plugin_spec *spec, const struct plugin_info *info,
                               struct automation_time time, const char *arg)
{
    struct automation_point point;
    const char *change;
    float value;
    TRY(automation_parse(arg, time, &point, &change));
    TRY(parse_value(info, time.rate, change, &point.target, &value));
    point.value = (double)value;
    const struct plugin_port *port = &info->ports[point.target];
    if (point.over > 0 && (port->is_toggle || port->is_enumeration))
        return fail(CAUSE_USAGE, "'%s' cannot be a ramp: %s has nothing between its values", arg,
                    port->symbol);
    return automation_add(&spec->automation, &point);
}

static enum status parse_later(struct plugin_spec *spec, const struct plugin_info *info,
                               struct automation_time time, const char *arg)
{
    struct automation_point point;
    const char *change;
    TRY(automation_parse(arg, time, &point, &change));
    if (strncmp(change, "param:", 6) != 0)
        return parse_point(spec, info, time, arg);
    if (point.over > 0)
        return fail(CAUSE_USAGE, "'%s' cannot be a ramp: a parameter is set by messages", arg);
    return plugin_spec_take_setting(spec, info, change + 6, point.at);
}

/* Whether the key of `arg`, such as "at" or "preset", is the name of a control of this plugin. */
static bool names_control(const struct plugin_info *info, const char *arg)
{
    bool found = false;
    char name[] = "preset";
    name[strcspn(arg, "=")] = '\0';
    memcpy(name, arg, strlen(name));
    for (size_t i = 0; i < info->port_count; i++)
        found |=
            plugin_port_is_control(&info->ports[i]) && strcmp(info->ports[i].symbol, name) == 0;
    return found && !(strcmp(name, "preset") == 0 && plugin_spec_find_preset(info, arg + 7));
}

enum status plugin_spec_take(struct plugin_spec *spec, const struct plugin_info *info,
                             struct automation_time time, const char *arg)
{
    if (strncmp(arg, "@state=", 7) == 0)
        return plugin_spec_take_state(spec, info, arg + 7);
    if (strncmp(arg, "@reads=", 7) == 0)
        return plugin_spec_take_reads(spec, arg + 7);
    if (strncmp(arg, "param:", 6) == 0)
        return plugin_spec_take_setting(spec, info, arg + 6, 0);
    if (strncmp(arg, "preset=", 7) == 0 && !names_control(info, arg))
        return plugin_spec_take_preset(spec, info, arg + 7);
    if (automation_is_word(arg) && (strchr(arg, ':') || !names_control(info, arg)))
        return parse_later(spec, info, time, arg);
    return parse_port(spec, info, time.rate, arg);
}

bool plugin_spec_is_automated(const struct plugin_spec *spec)
{
    bool later = spec->setting_count > 0 && spec->settings[spec->setting_count - 1].at > 0;
    return later || spec->automation.count > 0;
}

void plugin_spec_free(struct plugin_spec *spec)
{
    for (size_t i = 0; i < spec->setting_count; i++)
        free((char *)spec->settings[i].value);
    for (size_t i = 0; i < spec->read_count; i++)
        free(spec->reads[i]);
    free(spec->reads);
    free(spec->preset);
    free(spec->state);
    free(spec->settings);
    free(spec->values);
    automation_free(&spec->automation);
    *spec = (struct plugin_spec){0};
}
