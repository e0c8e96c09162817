/* How the channels of a sound map to the inputs of a plugin, and to how many instances.
 *
 *   (default)        as many inputs as channels: one instance. One input and one output: an
 *                    instance for each channel. Two inputs, one channel: both receive it. No
 *                    input: one instance, the sound is discarded. All else is refused
 *   @map=each        an instance for each group of channels as wide as the inputs of the plugin
 *   @map=1:2:0       the inputs of all instances in order: channels from 1; 0 is silence
 *
 * Side chains do not count as inputs. They read silence, or what @sidechain= names: a list of
 * channels as above, or those of a file. The list is repeated for as many side chains as all
 * instances have. Channels of the sound that it names are not given to the inputs, unless @map=
 * does.
 *
 * The result has the outputs of all instances. A plugin without outputs (a meter, a MIDI processor)
 * gets a copy of the sound, which passes unchanged.
 */
#ifndef HALO_PLUGIN_MAP_H
#define HALO_PLUGIN_MAP_H

#include "plugin/plugin.h"

#define PLUGIN_MAP_SILENCE SIZE_MAX

struct plugin_map {
    size_t instances;
    size_t outputs; /* of all instances, or the channels of the sound */
    bool is_beside; /* the plugin has no outputs; the sound passes unchanged */
    size_t count;   /* audio ports of all instances that are inputs, side chains among them */
    size_t *inputs; /* by port: the channel, or PLUGIN_MAP_SILENCE. Those of a file for the side
                       chains follow after those of the sound */
};

struct plugin_map_settings {
    const char *map;        /* what follows @map=, or NULL */
    const char *side_chain; /* a list of channels, or NULL */
    size_t side_channels;   /* of a file for the side chains; 0: none */
};

/* Errors: the channels do not fit (STATUS_USAGE for a wrong text), memory. */
MUST_CHECK enum status plugin_map_init(struct plugin_map *map, const struct plugin_info *info,
                                       size_t channels, const struct plugin_map_settings *settings);
void plugin_map_free(struct plugin_map *map);

#endif
