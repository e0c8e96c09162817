/* A JSON string of bytes that need not be UTF-8, such as a file's name. */
#ifndef HALO_JSON_TEXT_H
#define HALO_JSON_TEXT_H

#include <jansson.h>

/* A new reference; what is not UTF-8 is written with question marks. NULL: memory. */
json_t *json_text(const char *bytes);

#endif
