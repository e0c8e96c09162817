/* JSON strings of bytes that may not be UTF-8, such as file names; and writing JSON: all of it, or
 * nothing. */
#ifndef HALO_JSON_TEXT_H
#define HALO_JSON_TEXT_H

#include "base/status.h"

#include <jansson.h>
#include <stdio.h>

/* A new reference; each byte that is not UTF-8 becomes U+FFFD, NULL becomes null. NULL: memory. */
json_t *json_text(const char *bytes);

/* As json_load_file, behind a byte order mark if there is one. */
json_t *json_text_load(const char *path, size_t flags, json_error_t *error);

/* Take note of memory that runs out while JSON is made, where a missing member would not be seen:
 * from then on nothing is written. Once, before any JSON. */
void json_watch_memory(void);

/* An object as text, for the caller to free; releases it. Control characters are escapes, so that a
 * terminal obeys none. NULL: memory, also for a NULL object. */
char *json_line(json_t *object, size_t flags);

/* Write an object and a line's end, and flush; releases it. Returns 0 or an errno. */
MUST_CHECK int json_write(json_t *object, size_t flags, FILE *stream);

/* Print an object (NULL: out of memory) on standard output and release it; `what` names it in the
 * error message. Errors: writing, memory. */
MUST_CHECK enum status json_print(json_t *object, size_t flags, const char *what);

#endif
