/* Remembers what scans found in each holder of plugins (plugin.h), in a JSON file in the user's
 * cache folder (cache_file.h).
 *
 * An entry holds as long as nothing has changed that it depends on: the files of the holder and
 * those that plugin_memory_depend() named, by size and times; the search path; this program. What
 * an entry says is checked by those who read it, as an answer of a child is. A file that cannot be
 * read counts as empty. Runs at the same time replace it as a whole, by renaming. */
#ifndef HALO_PLUGIN_MEMORY_H
#define HALO_PLUGIN_MEMORY_H

#include "plugin/plugin.h"

#include <jansson.h>

enum { PLUGIN_STAMP = 17 };

struct plugin_memory {
    json_t *holders;            /* entries by "KIND HOLDER" */
    char program[PLUGIN_STAMP]; /* the stamp of this program */
    bool is_changed;
};

void plugin_memory_open(struct plugin_memory *memory);

/* Writes the changes, if any; entries of holders that are gone are left out. */
void plugin_memory_close(struct plugin_memory *memory);

/* The entry of a holder, borrowed; a new one, empty but for its stamp, if what it depends on has
 * changed. NULL: memory. */
json_t *plugin_memory_entry(struct plugin_memory *memory, const struct plugin_kind *kind,
                            const char *holder);

/* Set a member, whose reference is taken. NULL as the value removes it. */
void plugin_memory_set(struct plugin_memory *memory, json_t *entry, const char *key, json_t *value);

/* From now on the entry depends on this file or folder as well. */
void plugin_memory_depend(struct plugin_memory *memory, json_t *entry, const char *path);

/* The path of the JSON file; NULL: there is no cache folder. Valid until the next call. */
const char *plugin_memory_place(void);

#endif
