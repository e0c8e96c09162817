/* SPA-JSON, the relaxed JSON of PipeWire's configurations, as jansson's values.
 *
 * Beyond JSON: comments from # to the end of the line; `=` for `:`; commas are blanks; no quotes
 * around words; no braces around the whole. Words without quotes become numbers, true, false and
 * null where they read so; else they are strings. */
#ifndef HALO_SPA_JSON_H
#define HALO_SPA_JSON_H

#include "mask/mask_config.h"

#include <jansson.h>

/* The configuration's text, for json_decref. Errors, with the line: not SPA-JSON, a key is given
 * twice, memory. */
MUST_CHECK enum status spa_json_parse(struct mask_config *config, json_t **document);

#endif
