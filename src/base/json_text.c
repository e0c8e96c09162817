#include "base/json_text.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
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

/* libjansson does not check each allocation, and would write beyond what it has; so a last reserve
 * serves it, once, while nothing is written any more. */
enum { RESERVE = 1 << 16, RESERVE_UNIT = 16 };
static _Alignas(RESERVE_UNIT) char reserve[RESERVE];

static void *take_reserve(size_t size)
{
    static atomic_size_t taken;
    size_t rounded = (size + RESERVE_UNIT - 1) / RESERVE_UNIT * RESERVE_UNIT;
    size_t at = rounded < RESERVE ? atomic_fetch_add(&taken, rounded) : RESERVE;
    return at < RESERVE && rounded <= RESERVE - at ? reserve + at : NULL;
}

static void *allocate(size_t size)
{
    void *block = malloc(size);
    if (block)
        return block;
    atomic_store(&incomplete, true);
    return take_reserve(size);
}

static void release(void *block)
{
    uintptr_t at = (uintptr_t)block, first = (uintptr_t)reserve;
    if (at < first || at >= first + RESERVE)
        free(block);
}

void json_watch_memory(void)
{
    json_set_alloc_funcs(allocate, release);
}

char *json_line(json_t *object, size_t flags)
{
    char *text = object && !atomic_load(&incomplete) ? json_dumps(object, flags) : NULL;
    json_decref(object);
    if (atomic_load(&incomplete)) { /* the text, too, may lack a part then */
        release(text);
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
