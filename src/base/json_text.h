/* JSON strings of bytes that may not be UTF-8, such as file names, and printing JSON. */
#ifndef HALO_JSON_TEXT_H
#define HALO_JSON_TEXT_H

#include "base/status.h"

#include <jansson.h>

/* A new reference; bytes that are not UTF-8 become question marks, NULL becomes null. NULL: memory.
 */
json_t *json_text(const char *bytes);

/* Print an object (NULL: out of memory) on standard output and release it; `what` names it in the
 * error message. Errors: writing, memory. */
MUST_CHECK enum status json_print(json_t *object, size_t flags, const char *what);

#endif
