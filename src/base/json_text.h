/* JSON strings of bytes that may not be UTF-8, as file names; writing JSON whole or not at all. */
#ifndef HALO_JSON_TEXT_H
#define HALO_JSON_TEXT_H

#include "base/status.h"

#include <jansson.h>
#include <stdio.h>

/* Returns a new reference. Each byte that is not UTF-8 becomes U+FFFD. NULL becomes null. Returns
 * NULL if there is no memory. */
json_t *json_text(const char *bytes);

/* An array of such texts. */
json_t *json_texts(const char *const *texts, size_t count);

/* Null for infinity and NaN, which JSON does not have. */
json_t *json_finite(double value);

/* Like json_load_file, but skips a byte order mark. */
json_t *json_text_load(const char *path, size_t flags, json_error_t *error);

/* Makes json_write and json_print fail once memory has run out, since a missing member would not be
 * noticed. Call it once, before any JSON is made. */
void json_watch_memory(void);

/* Converts an object to text and releases the object. The caller frees the text. Control characters
 * become escapes, so that a terminal obeys none. NULL: no memory, or `object` is NULL. */
char *json_line(json_t *object, size_t flags);

/* Writes an object and a line end, flushes, and releases the object. Returns 0 or an errno. */
MUST_CHECK int json_write(json_t *object, size_t flags, FILE *stream);

/* Prints an object on standard output and releases it. NULL: memory ran out. `what` names the
 * object in the error message. Errors: writing, memory. */
MUST_CHECK enum status json_print(json_t *object, size_t flags, const char *what);

#endif
