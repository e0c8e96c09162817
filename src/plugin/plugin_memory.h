/* Remembers which plugins crashed or hung in a scan, in a JSON file in the user's cache folder
 * (cache_file.h). A plugin is identified by kind, holder and file, and scanned again once the file
 * has another size or time. A JSON file that cannot be read counts as empty. */
#ifndef HALO_PLUGIN_MEMORY_H
#define HALO_PLUGIN_MEMORY_H

#include "plugin/plugin.h"

#include <jansson.h>

struct plugin_memory {
    json_t *troubles; /* by "KIND HOLDER" */
    bool is_changed;
};

void plugin_memory_open(struct plugin_memory *memory);

/* Writes the changes, if any. */
void plugin_memory_close(struct plugin_memory *memory);

/* The known trouble, or NULL. Valid until the next change. */
const char *plugin_memory_trouble(const struct plugin_memory *memory,
                                  const struct plugin_kind *kind, const char *holder,
                                  const char *file);

/* A plugin without a file cannot be identified and is not remembered. */
void plugin_memory_add(struct plugin_memory *memory, const struct plugin_kind *kind,
                       const char *holder, const char *file, const char *trouble);
void plugin_memory_remove(struct plugin_memory *memory, const struct plugin_kind *kind,
                          const char *holder);

/* The path of the JSON file; NULL: there is no cache folder. Valid until the next call. */
const char *plugin_memory_place(void);

#endif
