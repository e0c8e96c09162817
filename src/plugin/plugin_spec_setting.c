/* Parameters in a specification: param:URI=VALUE. */
#include "plugin/plugin_spec.h"

#include "base/decimal.h"
#include "base/files_read.h"
#include "base/short_list.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

enum status plugin_spec_take_setting(struct plugin_spec *spec, const struct plugin_info *info,
                                     const char *text, uint64_t at)
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
