#include "base/json_text.h"

#include <stdlib.h>
#include <string.h>

json_t *json_text(const char *bytes)
{
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
