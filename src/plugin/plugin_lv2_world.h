/* The installed LV2 plugins, as lilv knows them: one world for the process, loaded on first use
 * from LV2_PATH or the default places of lilv. Threads: the control thread alone. */
#ifndef HALO_PLUGIN_LV2_WORLD_H
#define HALO_PLUGIN_LV2_WORLD_H

#include "base/status.h"

#include <lilv/lilv.h>

/* Errors: memory. */
MUST_CHECK enum status lv2_world_get(LilvWorld **world);

/* Errors: no plugin has that URI; similar ones are named. */
MUST_CHECK enum status lv2_world_find(const char *uri, const LilvPlugin **plugin);

/* A URI as lilv's functions want it: made once, kept. The world is there. */
const LilvNode *lv2_world_node(const char *uri);

/* Is (subject, predicate, object) said anywhere? Any object, where it is NULL. */
bool lv2_world_says(const LilvNode *subject, const char *predicate, const char *object);

/* The text of `node`, for the caller to free(); NULL where it is NULL or memory runs out. Frees the
 * node. */
char *lv2_world_text(LilvNode *node);

#endif
