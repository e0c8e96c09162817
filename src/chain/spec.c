#include "chain/spec.h"

#include <stdlib.h>
#include <string.h>

char **spec_split(const char *text)
{
    size_t length = strlen(text), count = 1;
    for (size_t i = 0; i < length; i++)
        count += text[i] == ',';
    char **spec = malloc((count + 1) * sizeof *spec + length + 1);
    if (!spec)
        return NULL;
    char *to = (char *)(spec + count + 1);
    count = 0;
    spec[count++] = to;
    for (const char *from = text; *from; from++) {
        if (from[0] == '\\' && from[1] == ',') {
            *to++ = *++from;
        } else if (*from == ',') {
            *to++ = '\0';
            spec[count++] = to;
        } else {
            *to++ = *from;
        }
    }
    *to = '\0';
    spec[count] = NULL;
    return spec;
}
