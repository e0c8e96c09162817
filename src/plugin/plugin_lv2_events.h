/* The event ports of an LV2 instance: a buffer for each, and the messages (patch:Set) that
 * its settings are sent as, at the beginning of the first block. */
#ifndef HALO_PLUGIN_LV2_EVENTS_H
#define HALO_PLUGIN_LV2_EVENTS_H

#include "plugin/plugin.h"

#include <lilv/lilv.h>

struct lv2_events;

/* Errors: a setting of a parameter that it does not have, or of a value that is none; memory. */
MUST_CHECK enum status lv2_events_create(const LilvPlugin *plugin, const struct plugin_info *info,
                                         const struct plugin_settings *settings,
                                         struct lv2_events **events);
void lv2_events_destroy(struct lv2_events *events);

/* Bytes of the largest sequence. */
uint32_t lv2_events_most(const struct lv2_events *events);

void lv2_events_connect(struct lv2_events *events, LilvInstance *instance);

/* The messages, if there are any, are sent again. */
void lv2_events_repeat(struct lv2_events *events);

/* Real-time. Before each run: room for what comes out; the messages, in the first. */
void lv2_events_prepare(struct lv2_events *events);

#endif
