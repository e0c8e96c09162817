#include "chain/spec.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool is_file(const char *text, size_t length)
{
    struct stat about;
    char *name = strndup(text, length);
    bool is_there = name && stat(name, &about) == 0 && S_ISREG(about.st_mode);
    free(name);
    return is_there;
}

/* The length of the first word, up to the first comma before which the text names an existing file,
 * perhaps after a kind ("inverse:a, b.cal"). Without such a comma, up to the first. */
static size_t name_length(const char *text)
{
    size_t shortest = strcspn(text, ","), length = shortest, kind = strcspn(text, ":,");
    kind = text[kind] == ':' ? kind + 1 : 0;
    while (!is_file(text, length) && !(kind && is_file(text + kind, length - kind))) {
        if (!text[length])
            return shortest;
        length += 1 + strcspn(text + length + 1, ",");
    }
    return length;
}

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
    const char *name_end = text + name_length(text);
    for (const char *from = text; *from; from++) {
        if (from[0] == '\\' && from[1] == ',') {
            *to++ = *++from;
        } else if (*from == ',' && from >= name_end) {
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
