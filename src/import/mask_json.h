/* Reading values of JSON configurations: PipeWire's and EasyEffects'.
 *
 * If a value is missing or null, *value stays as it is. Errors: a value of another type; the
 * message begins with `where`. */
#ifndef HALO_MASK_JSON_H
#define HALO_MASK_JSON_H

#include "import/mask_config.h"

#include <jansson.h>

struct mask_json {
    const struct mask_config *config;
    char where[160]; /* "node 'eq'", and perhaps a plugin or band, for messages; "": none */
};

#define mask_json_refuse(json, ...) mask_json_refuse_for(CAUSE_DAMAGED, json, __VA_ARGS__)
MUST_CHECK enum status mask_json_refuse_for(enum cause cause, const struct mask_json *json,
                                            const char *format, ...) PRINTF_LIKE(3, 4);

/* The value of a key. NULL: missing or null. */
json_t *mask_json_get(const json_t *object, const char *key);

/* The object's first key that is not in `known`, which ends with NULL. NULL: all are known. */
const char *mask_json_unknown(const json_t *object, const char *const *known);

MUST_CHECK enum status mask_json_number(const struct mask_json *json, const json_t *object,
                                        const char *key, double *value);

/* Reads a whole number from `least` to `most`. */
MUST_CHECK enum status mask_json_count(const struct mask_json *json, const json_t *object,
                                       const char *key, int64_t least, int64_t most,
                                       int64_t *value);
MUST_CHECK enum status mask_json_bool(const struct mask_json *json, const json_t *object,
                                      const char *key, bool *value);

/* Reads a text, which the document owns. */
MUST_CHECK enum status mask_json_text(const struct mask_json *json, const json_t *object,
                                      const char *key, const char **value);

/* ---- SPA-JSON ---- */

/* Parses the configuration's text, which is PipeWire's relaxed JSON. Release the document with
 * json_decref. Beyond JSON it allows:
 * - comments from # to the end of the line;
 * - `=` for `:`;
 * - blanks for commas;
 * - words without quotes: numbers, true, false and null, others are strings;
 * - no braces around the whole.
 * Errors, with the line: not SPA-JSON, a key that is given twice, memory. */
MUST_CHECK enum status spa_json_parse(struct mask_config *config, json_t **document);

#endif
