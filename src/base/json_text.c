#include "base/json_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

json_t *json_text(const char *bytes)
{
    if (!bytes)
        return json_null();
    json_t *string = json_string(bytes);
    char *readable = string ? NULL : strdup(bytes);
    if (!readable)
        return string;
    for (char *byte = readable; *byte; byte++)
        if (*byte & 0x80)
            *byte = '?';
    string = json_string(readable);
    free(readable);
    return string;
}

enum status json_print(json_t *object, size_t flags, const char *what)
{
    bool printed =
        object && json_dumpf(object, stdout, JSON_INDENT(2) | flags) == 0 && puts("") >= 0;
    json_decref(object);
    return printed ? STATUS_OK : fail(STATUS_FAILED, "cannot print %s as JSON", what);
}
