/* Remembers what scans found in each holder of plugins (plugin.h), in a JSON file in the user's
 * cache folder (cache_file.h).
 *
 * An entry is valid until something changes that it depends on: size or times of the holder's files
 * or of files named to plugin_memory_depend(); the search path; this program. Entries are as
 * untrusted as answers of a child, so their readers check them. If the JSON file cannot be read, it
 * counts as empty. It is written to a new file and renamed, so runs at the same time do no harm. */
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

/* Write the file if anything changed, without entries of holders that no longer exist. */
void plugin_memory_close(struct plugin_memory *memory);

/* The entry of a holder, a borrowed reference. If there is none or it is no longer valid, the entry
 * is new and has only its stamp. NULL: memory. */
json_t *plugin_memory_entry(struct plugin_memory *memory, const struct plugin_kind *kind,
                            const char *holder);

/* Set a member of an entry; takes over the reference `value`. NULL removes the member. */
void plugin_memory_set(struct plugin_memory *memory, json_t *entry, const char *key, json_t *value);

/* Let the validity of an entry depend on this file or folder, too. */
void plugin_memory_depend(struct plugin_memory *memory, json_t *entry, const char *path);

/* The path of the JSON file; NULL: there is no cache folder. Valid until the next call. */
const char *plugin_memory_place(void);

#endif
