#include "base/json_text.h"

#include "base/plain_text.h"
#include "base/printable.h"

#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char replacement[] = "\xEF\xBF\xBD"; /* U+FFFD */

json_t *json_text(const char *bytes)
{
    if (!bytes)
        return json_null();
    json_t *string = json_string(bytes);
    char *readable = string ? NULL : malloc(strlen(replacement) * strlen(bytes) + 1);
    if (!readable)
        return string;
    size_t at = 0;
    while (*bytes) {
        size_t length = printable_utf8(bytes), copied = length ? length : strlen(replacement);
        memcpy(readable + at, length ? bytes : replacement, copied);
        at += copied;
        bytes += length ? length : 1;
    }
    string = json_stringn(readable, at);
    free(readable);
    return string;
}

json_t *json_texts(const char *const *texts, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(array, json_text(texts[i]));
    return array;
}

json_t *json_finite(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *json_text_load(const char *path, size_t flags, json_error_t *error)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return json_load_file(path, flags, error); /* reports why it cannot be opened */
    plain_text_skip_mark(file);
    json_t *root = json_loadf(file, flags, error);
    fclose(file);
    return root;
}

static atomic_bool incomplete;

/* libjansson does not check each allocation, and would write beyond its memory. So it gets a last
 * reserve, once. From then on nothing is written. */
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

enum { ESCAPE = 6 /* bytes of \u007F */ };

/* The code of a control character that has `length` bytes of UTF-8. */
static unsigned code_of(const char *text, size_t length)
{
    const unsigned char *bytes = (const unsigned char *)text;
    unsigned code = length == 1 ? bytes[0] : bytes[0] & (length == 2 ? 0x1F : 0x0F);
    for (size_t i = 1; i < length; i++)
        code = code << 6 | (bytes[i] & 0x3F);
    return code;
}

/* Replaces control characters by escapes that libjansson writes as they are (all but C0), since a
 * terminal obeys them. Takes over `text`. NULL: no memory. */
static char *escape_controls(char *text)
{
    size_t size = 1, at = 0;
    for (const char *byte = text; *byte; byte++)
        size += printable_is_control(byte) ? ESCAPE : 1;
    char *escaped = malloc(size);
    for (const char *byte = text; escaped && *byte; byte++) {
        bool is_escaped = printable_is_control(byte) && (unsigned char)*byte >= 0x20;
        size_t length = is_escaped ? printable_utf8(byte) : 1;
        if (is_escaped)
            at += (size_t)snprintf(escaped + at, ESCAPE + 1, "\\u%04X", code_of(byte, length));
        else
            escaped[at++] = *byte;
        byte += length - 1;
    }
    if (escaped)
        escaped[at] = '\0';
    release(text);
    return escaped;
}

char *json_line(json_t *object, size_t flags)
{
    char *text = object && !atomic_load(&incomplete) ? json_dumps(object, flags) : NULL;
    json_decref(object);
    if (atomic_load(&incomplete)) { /* the text may be incomplete, too */
        release(text);
        return NULL;
    }
    return text ? escape_controls(text) : NULL;
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
    return error ? fail_errno(error, "cannot print %s as JSON", what) : STATUS_OK;
}
