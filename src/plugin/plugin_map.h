/* Which channels of a sound which inputs of a plugin hear, and in how many instances.
 *
 *   (nothing said)   as many inputs as channels: one instance. One input and one output: an
 *                    instance for each channel. Two inputs, one channel: both hear it. No input:
 *                    one instance, and the sound is not heard. All else is refused
 *   @map=each        an instance for each group of channels as wide as the plugin's inputs
 *   @map=1:2:0       what the inputs hear, one instance after the other: channels, counted from
 *                    1; 0 is silence
 *
 * Side chains are not among the inputs. The sound has all outputs of all instances afterwards. A
 * plugin without an output (a meter, one that handles MIDI alone) runs beside the sound, which
 * goes on as it came.
 */
#ifndef HALO_PLUGIN_MAP_H
#define HALO_PLUGIN_MAP_H

#include "plugin/plugin.h"

#define PLUGIN_MAP_SILENCE SIZE_MAX

struct plugin_map {
    size_t instances;
    size_t outputs; /* of all, or the sound's channels */
    bool is_beside; /* the sound goes by */
    size_t count;   /* inputs of all */
    size_t *inputs; /* the channel of each, or PLUGIN_MAP_SILENCE */
};

/* `text`: what follows @map=, or NULL. Errors (usage for the words): the counts do not go
 * together, saying them; memory. */
MUST_CHECK enum status plugin_map_init(struct plugin_map *map, const struct plugin_info *info,
                                       size_t channels, const char *text);
void plugin_map_free(struct plugin_map *map);

#endif
