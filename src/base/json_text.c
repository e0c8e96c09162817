#include "base/json_text.h"

#include <errno.h>
#include <stdatomic.h>
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

static atomic_bool incomplete;

static void *allocate(size_t size)
{
    void *block = malloc(size);
    if (!block)
        atomic_store(&incomplete, true);
    return block;
}

void json_watch_memory(void)
{
    json_set_alloc_funcs(allocate, free);
}

char *json_line(json_t *object, size_t flags)
{
    char *text = object && !atomic_load(&incomplete) ? json_dumps(object, flags) : NULL;
    json_decref(object);
    if (atomic_load(&incomplete)) { /* the text, too, may lack a part then */
        free(text);
        return NULL;
    }
    return text;
}

int json_write(json_t *object, size_t flags, FILE *stream)
{
    char *text = json_line(object, flags);
    errno = text ? EIO : ENOMEM;
    bool written = text && fputs(text, stream) >= 0 && putc('\n', stream) != EOF &&
                   fflush(stream) == 0 && !ferror(stream);
    int error = written ? 0 : errno;
    free(text);
    return error;
}

enum status json_print(json_t *object, size_t flags, const char *what)
{
    int error = json_write(object, JSON_INDENT(2) | flags, stdout);
    return error ? fail(STATUS_FAILED, "cannot print %s as JSON: %s", what, strerror(error))
                 : STATUS_OK;
}
