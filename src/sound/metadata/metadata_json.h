/* What became of metadata, as a line and as JSON; and --metadata FILE.json:
 *
 *   {"tags": {"TITLE": "A title", "ARTIST": ["one", "another"], "COMMENT": null}}
 *
 * replaces the tags of these names; null removes.
 */
#ifndef HALO_METADATA_JSON_H
#define HALO_METADATA_JSON_H

#include "sound/metadata/metadata.h"

#include <jansson.h>

/* One line with note(), if something was lost. */
void metadata_note_losses(const struct sound_metadata *metadata, const char *output);

/* A new object: kept, moved, dropped. NULL: memory. */
json_t *metadata_report(const struct sound_metadata *metadata);

/* --metadata FILE: replaces tags by what the file says. Errors (one line): reading, not JSON, not
 * such an object. */
MUST_CHECK enum status metadata_load(const char *path, struct sound_metadata *metadata);

#endif
