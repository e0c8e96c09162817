#include "mask/mask_json.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

enum status mask_json_refuse_for(enum cause cause, const struct mask_json *json, const char *format,
                                 ...)
{
    char fields[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(fields, sizeof fields, format, arguments);
    va_end(arguments);
    return mask_config_refuse_for(cause, json->config, "%s%s%s", json->where,
                                  *json->where ? ": " : "", fields);
}

json_t *mask_json_get(const json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);
    return json_is_null(value) ? NULL : value;
}

const char *mask_json_unknown(const json_t *object, const char *const *known)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value)
    {
        size_t i = 0;
        while (known[i] && strcmp(known[i], key) != 0)
            i++;
        if (!known[i])
            return key;
    }
    return NULL;
}

enum status mask_json_number(const struct mask_json *json, const json_t *object, const char *key,
                             double *value)
{
    const json_t *found = mask_json_get(object, key);
    if (found && !json_is_number(found))
        return mask_json_refuse(json, "'%.40s' must be a number", key);
    if (found)
        *value = json_number_value(found);
    return isfinite(*value) ? STATUS_OK : mask_json_refuse(json, "'%.40s' is too large", key);
}

enum status mask_json_count(const struct mask_json *json, const json_t *object, const char *key,
                            int64_t least, int64_t most, int64_t *value)
{
    const json_t *found = mask_json_get(object, key);
    if (!found)
        return STATUS_OK;
    const char *text = json_string_value(found); /* properties of PipeWire may be quoted */
    uint64_t quoted = 0;
    bool is_quoted = text && mask_config_count(text, &quoted) && quoted <= INT32_MAX;
    json_int_t count = is_quoted ? (json_int_t)quoted : json_integer_value(found);
    if (!(is_quoted || json_is_integer(found)) || count < least || count > most)
        return mask_json_refuse(json, "'%.40s' must be a whole number from %lld to %lld", key,
                                (long long)least, (long long)most);
    *value = count;
    return STATUS_OK;
}

enum status mask_json_bool(const struct mask_json *json, const json_t *object, const char *key,
                           bool *value)
{
    const json_t *found = mask_json_get(object, key);
    if (found && !json_is_boolean(found))
        return mask_json_refuse(json, "'%.40s' must be true or false", key);
    if (found)
        *value = json_is_true(found);
    return STATUS_OK;
}

enum status mask_json_text(const struct mask_json *json, const json_t *object, const char *key,
                           const char **value)
{
    const json_t *found = mask_json_get(object, key);
    if (found && !json_is_string(found))
        return mask_json_refuse(json, "'%.40s' must be text", key);
    if (found)
        *value = json_string_value(found);
    return STATUS_OK;
}
