/* Values and state of an LV2 instance: its default state, presets, and saved folders. All but
 * saving happens before it is activated. */
#ifndef HALO_PLUGIN_LV2_STATE_H
#define HALO_PLUGIN_LV2_STATE_H

#include "plugin/plugin_lv2_instance.h"

/* As its bundle says, beside the ports' initial values. */
void lv2_state_load_default(struct lv2_instance *instance);

/* Errors: there is none. */
MUST_CHECK enum status lv2_state_load_preset(struct lv2_instance *instance, const char *uri);

/* Errors: none there, another plugin's. */
MUST_CHECK enum status lv2_state_load(struct lv2_instance *instance, const char *folder);

/* What it has beside its controls' values, in memory, for another instance of the plugin. */
LilvState *lv2_state_snapshot(struct lv2_instance *instance);
void lv2_state_give(struct lv2_instance *instance, LilvState *state); /* frees it */

/* Errors: writing. */
MUST_CHECK enum status lv2_state_save(struct lv2_instance *instance, const char *folder);

#endif
