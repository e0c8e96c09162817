/* How the channels of a sound map to the inputs of a plugin, and to how many instances.
 *
 *   (default)        as many inputs as channels: one instance. One input and one output: an
 *                    instance for each channel. Two inputs, one channel: both receive it. No
 *                    input: one instance, the sound is discarded. All else is refused
 *   @map=each        an instance for each group of channels as wide as the inputs of the plugin
 *   @map=1:2:0       the inputs of all instances in order: channels from 1; 0 is silence
 *
 * Side chains do not count as inputs. The result has the outputs of all instances. A plugin without
 * outputs (a meter, a MIDI processor) gets a copy of the sound, which passes unchanged.
 */
#ifndef HALO_PLUGIN_MAP_H
#define HALO_PLUGIN_MAP_H

#include "plugin/plugin.h"

#define PLUGIN_MAP_SILENCE SIZE_MAX

struct plugin_map {
    size_t instances;
    size_t outputs; /* of all instances, or the channels of the sound */
    bool is_beside; /* the plugin has no outputs; the sound passes unchanged */
    size_t count;   /* inputs of all instances */
    size_t *inputs; /* the channel of each, or PLUGIN_MAP_SILENCE */
};

/* `text`: what follows @map=, or NULL. Errors: the channels do not fit (STATUS_USAGE for a wrong
 * `text`), memory. */
MUST_CHECK enum status plugin_map_init(struct plugin_map *map, const struct plugin_info *info,
                                       size_t channels, const char *text);
void plugin_map_free(struct plugin_map *map);

#endif
