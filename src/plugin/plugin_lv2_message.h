/* Settings of parameters as LV2 messages: a sequence of patch:Set, all at frame 0. */
#ifndef HALO_PLUGIN_LV2_MESSAGE_H
#define HALO_PLUGIN_LV2_MESSAGE_H

#include "plugin/plugin.h"

/* As many bytes hold them all at least. */
size_t lv2_message_bytes(const struct plugin_settings *settings);

/* Into `sequence`, which is aligned to 8 and has lv2_message_bytes and a sequence's head.
 * Errors: a parameter that the plugin does not have, naming those it has; a value that its
 * type does not have; a path where nothing is. */
MUST_CHECK enum status lv2_message_write(const struct plugin_info *info,
                                         const struct plugin_settings *settings, uint8_t *sequence,
                                         uint32_t bytes);

#endif
