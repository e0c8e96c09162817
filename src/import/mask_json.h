/* Values of a configuration that is JSON: PipeWire's and EasyEffects'.
 *
 * A value that is missing or null leaves the result as it is. Errors: a value of another type; the
 * message begins with `where`. */
#ifndef HALO_MASK_JSON_H
#define HALO_MASK_JSON_H

#include "import/mask_config.h"

#include <jansson.h>

struct mask_json {
    const struct mask_config *config;
    char where[160]; /* "node 'eq'", and a plugin or band; "": none */
};

#define mask_json_refuse(json, ...) mask_json_refuse_for(CAUSE_DAMAGED, json, __VA_ARGS__)
MUST_CHECK enum status mask_json_refuse_for(enum cause cause, const struct mask_json *json,
                                            const char *format, ...) PRINTF_LIKE(3, 4);

/* NULL: missing or null. */
json_t *mask_json_get(const json_t *object, const char *key);

/* The first key that is not in `known`, which ends with NULL; NULL: there is none. */
const char *mask_json_unknown(const json_t *object, const char *const *known);

MUST_CHECK enum status mask_json_number(const struct mask_json *json, const json_t *object,
                                        const char *key, double *value);

/* A whole number from `least` to `most`. */
MUST_CHECK enum status mask_json_count(const struct mask_json *json, const json_t *object,
                                       const char *key, int64_t least, int64_t most,
                                       int64_t *value);
MUST_CHECK enum status mask_json_bool(const struct mask_json *json, const json_t *object,
                                      const char *key, bool *value);

/* The document's. */
MUST_CHECK enum status mask_json_text(const struct mask_json *json, const json_t *object,
                                      const char *key, const char **value);

/* ---- SPA-JSON ---- */

/* Parses the configuration's text, which is PipeWire's relaxed JSON; json_decref the document.
 * Beyond JSON: comments from # to the end of the line; `=` for `:`; commas are blanks; no quotes
 * around words; no braces around the whole. Words without quotes become numbers, true, false and
 * null where they read so; else they are strings. Errors, with the line: not SPA-JSON, a key is
 * given twice, memory. */
MUST_CHECK enum status spa_json_parse(struct mask_config *config, json_t **document);

#endif
