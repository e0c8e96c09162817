/* The LV2 plugins that are installed, as lilv knows them: one world for the process.
 *
 * It is loaded when it is first asked for, from LV2_PATH or lilv's own places, and stays.
 * Threads: the control thread alone.
 */
#ifndef HALO_PLUGIN_LV2_WORLD_H
#define HALO_PLUGIN_LV2_WORLD_H

#include "base/status.h"

#include <lilv/lilv.h>

/* Errors: memory. */
MUST_CHECK enum status lv2_world_get(LilvWorld **world);

/* Errors: no plugin has that URI; says which have a like one. */
MUST_CHECK enum status lv2_world_find(const char *uri, const LilvPlugin **plugin);

/* A URI as lilv's functions want it: made once, kept. The world is there. */
const LilvNode *lv2_world_node(const char *uri);

/* Is (subject, predicate, object) said anywhere? Any object, where it is NULL. */
bool lv2_world_says(const LilvNode *subject, const char *predicate, const char *object);

/* What `node` says, for the caller to free(), or NULL where it is NULL or there is no memory;
 * frees the node. */
char *lv2_world_text(LilvNode *node);

#endif
