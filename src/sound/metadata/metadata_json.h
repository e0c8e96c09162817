/* Reports which metadata was kept and lost, as a line and as JSON. And reads --metadata FILE.json:
 *
 *   {"tags": {"TITLE": "A title", "ARTIST": ["one", "another"], "COMMENT": null}}
 *
 * The file replaces the tags with these names; null removes a tag. */
#ifndef HALO_METADATA_JSON_H
#define HALO_METADATA_JSON_H

#include "sound/metadata/metadata.h"

#include <jansson.h>

/* Print one line with note() if metadata was lost. */
void metadata_note_losses(const struct sound_metadata *metadata, const char *output);

/* A new object with the members kept, moved, dropped. NULL: memory. */
json_t *metadata_report(const struct sound_metadata *metadata);

/* --metadata FILE: replace tags. Errors (one line): reading, no JSON, no object as above. */
MUST_CHECK enum status metadata_load(const char *path, struct sound_metadata *metadata);

#endif
