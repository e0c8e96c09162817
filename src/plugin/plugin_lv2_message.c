#include "plugin/plugin_lv2_message.h"

#include "base/text_lines.h"
#include "plugin/plugin_lv2_urid.h"

#include <errno.h>
#include <limits.h>
#include <lv2/atom/forge.h>
#include <lv2/patch/patch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { FRAME_BYTES = 256 }; /* of a message around its value: more than it takes */

size_t lv2_message_bytes(const struct plugin_settings *settings)
{
    size_t bytes = 0;
    for (size_t i = 0; i < settings->setting_count; i++)
        bytes += FRAME_BYTES + strlen(settings->settings[i].value) + PATH_MAX;
    return bytes;
}

static enum status refuse_parameter(const struct plugin_info *info, const char *uri)
{
    char known[512] = "";
    size_t length = 0;
    for (size_t i = 0; i < info->parameter_count && length < sizeof known; i++)
        length += (size_t)snprintf(known + length, sizeof known - length, "%s%s", i ? ", " : "",
                                   info->parameters[i].uri);
    if (!info->parameter_count)
        return fail(STATUS_FAILED, "%s has no parameter %s, nor any other", info->id, uri);
    return fail(STATUS_FAILED, "%s has no parameter %s; it has %s", info->id, uri, known);
}

static const struct plugin_parameter *find(const struct plugin_info *info, const char *uri)
{
    for (size_t i = 0; i < info->parameter_count; i++)
        if (strcmp(info->parameters[i].uri, uri) == 0)
            return &info->parameters[i];
    return NULL;
}

static enum status refuse_value(const struct plugin_setting *setting, const char *why)
{
    return fail(STATUS_FAILED, "cannot set %s to '%s': %s", setting->uri, setting->value, why);
}

static enum status forge_real(LV2_Atom_Forge *forge, const struct plugin_setting *setting,
                              bool is_single)
{
    double value;
    if (!text_number(setting->value, is_single, &value))
        return refuse_value(setting, "it is a number");
    if (is_single)
        lv2_atom_forge_float(forge, (float)value);
    else
        lv2_atom_forge_double(forge, value);
    return STATUS_OK;
}

static enum status forge_whole(LV2_Atom_Forge *forge, const struct plugin_setting *setting,
                               bool is_long)
{
    char *end;
    errno = 0;
    long long value = strtoll(setting->value, &end, 10);
    if (errno || end == setting->value || *end ||
        (!is_long && (value < INT32_MIN || value > INT32_MAX)))
        return refuse_value(setting, "it is a whole number");
    if (is_long)
        lv2_atom_forge_long(forge, value);
    else
        lv2_atom_forge_int(forge, (int32_t)value);
    return STATUS_OK;
}

static enum status forge_bool(LV2_Atom_Forge *forge, const struct plugin_setting *setting)
{
    static const char *const names[][2] = {
        {"false", "true"}, {"off", "on"}, {"no", "yes"}, {"0", "1"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (int is = 0; is < 2; is++)
            if (strcasecmp(setting->value, names[i][is]) == 0) {
                lv2_atom_forge_bool(forge, is);
                return STATUS_OK;
            }
    return refuse_value(setting, "it is on or off");
}

static enum status forge_path(LV2_Atom_Forge *forge, const struct plugin_setting *setting)
{
    char path[PATH_MAX];
    if (!realpath(setting->value, path))
        return refuse_value(setting, strerror(errno));
    lv2_atom_forge_path(forge, path, (uint32_t)strlen(path));
    return STATUS_OK;
}

static enum status forge_value(LV2_Atom_Forge *forge, const struct plugin_setting *setting,
                               enum plugin_parameter_type type)
{
    uint32_t length = (uint32_t)strlen(setting->value);
    switch (type) {
    case PLUGIN_FLOAT:
    case PLUGIN_DOUBLE:
        return forge_real(forge, setting, type == PLUGIN_FLOAT);
    case PLUGIN_INT:
    case PLUGIN_LONG:
        return forge_whole(forge, setting, type == PLUGIN_LONG);
    case PLUGIN_BOOL:
        return forge_bool(forge, setting);
    case PLUGIN_PATH:
        return forge_path(forge, setting);
    case PLUGIN_STRING:
        lv2_atom_forge_string(forge, setting->value, length);
        return STATUS_OK;
    case PLUGIN_URI:
        lv2_atom_forge_uri(forge, setting->value, length);
        return STATUS_OK;
    }
    return refuse_value(setting, "of unknown type");
}

static enum status forge_set(LV2_Atom_Forge *forge, const struct plugin_info *info,
                             const struct plugin_setting *setting)
{
    const struct plugin_parameter *parameter = find(info, setting->uri);
    if (!parameter)
        return refuse_parameter(info, setting->uri);
    LV2_Atom_Forge_Frame object;
    lv2_atom_forge_frame_time(forge, 0);
    lv2_atom_forge_object(forge, &object, 0, lv2_urid(LV2_PATCH__Set));
    lv2_atom_forge_key(forge, lv2_urid(LV2_PATCH__property));
    lv2_atom_forge_urid(forge, lv2_urid(parameter->uri));
    lv2_atom_forge_key(forge, lv2_urid(LV2_PATCH__value));
    enum status status = forge_value(forge, setting, parameter->type);
    lv2_atom_forge_pop(forge, &object);
    return status;
}

enum status lv2_message_write(const struct plugin_info *info,
                              const struct plugin_settings *settings, uint8_t *sequence,
                              uint32_t bytes)
{
    LV2_Atom_Forge forge;
    LV2_Atom_Forge_Frame all;
    lv2_atom_forge_init(&forge, lv2_urid_map());
    lv2_atom_forge_set_buffer(&forge, sequence, bytes);
    lv2_atom_forge_sequence_head(&forge, &all, 0);
    for (size_t i = 0; i < settings->setting_count; i++)
        TRY(forge_set(&forge, info, &settings->settings[i]));
    lv2_atom_forge_pop(&forge, &all);
    return STATUS_OK;
}
