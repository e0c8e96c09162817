/* Remembers which plugins crashed or hung in a scan.
 *
 * A JSON file in the cache folder of the user (cache_file.h). A plugin is identified by kind,
 * holder and file, and scanned again once the file has another size or time. A file that cannot be
 * read or written counts as empty.
 */
#ifndef HALO_PLUGIN_MEMORY_H
#define HALO_PLUGIN_MEMORY_H

#include "plugin/plugin.h"

#include <jansson.h>

struct plugin_memory {
    json_t *troubles; /* by "KIND HOLDER" */
    bool is_changed;
};

void plugin_memory_open(struct plugin_memory *memory);

/* Keeps what has changed. */
void plugin_memory_close(struct plugin_memory *memory);

/* What the trouble was; NULL: none is known. Valid until the next change. */
const char *plugin_memory_trouble(const struct plugin_memory *memory,
                                  const struct plugin_kind *kind, const char *holder,
                                  const char *file);

/* A plugin without a file cannot be identified and is not remembered. */
void plugin_memory_add(struct plugin_memory *memory, const struct plugin_kind *kind,
                       const char *holder, const char *file, const char *trouble);
void plugin_memory_remove(struct plugin_memory *memory, const struct plugin_kind *kind,
                          const char *holder);

/* Where it is kept, or NULL: nowhere. Valid until the next call. */
const char *plugin_memory_place(void);

#endif
