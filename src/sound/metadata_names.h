/* Names of tags in each kind of list: Vorbis comments name them as halo does. */
#ifndef HALO_METADATA_NAMES_H
#define HALO_METADATA_NAMES_H

#include <stddef.h>

/* lists: "INFO" (RIFF), "AIFF", "CAF". NULL: it has no name of its own in the other. */
const char *metadata_name_of(const char *list, const char *id, size_t size);
/* The first of its ids is `index` 0. */
const char *metadata_id_of(const char *list, const char *name, size_t index);

#endif
