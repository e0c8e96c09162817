/* A JSON string of bytes that need not be UTF-8, such as a file's name. */
#ifndef HALO_JSON_TEXT_H
#define HALO_JSON_TEXT_H

#include "base/status.h"

#include <jansson.h>

/* A new reference; what is not UTF-8 is written with question marks, and NULL as null. NULL:
 * memory. */
json_t *json_text(const char *bytes);

/* Print an object on standard output and release it; NULL: memory ran out while it was made. `what`
 * it is of, for the message. Errors: writing, memory. */
MUST_CHECK enum status json_print(json_t *object, size_t flags, const char *what);

#endif
