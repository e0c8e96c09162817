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
#include "signal/audio.h"
#include "sound/port.h"

#define PLUGIN_MAP_SILENCE SIZE_MAX

struct plugin_map {
    size_t instances;
    size_t outputs; /* outputs of all instances, or channels of the sound */
    bool is_beside; /* the plugin has no outputs; the sound passes unchanged */
    size_t count;   /* audio ports of all instances that are inputs, side chains among them */
    size_t *inputs; /* by port: the channel, or PLUGIN_MAP_SILENCE. Those of a file for the side
                       chains follow after those of the sound */
};

struct plugin_map_settings {
    const char *map;        /* text after @map=, or NULL */
    const char *side_chain; /* a list of channels, or NULL */
    size_t side_channels;   /* channels of a file for the side chains; 0: no file */
};

/* Errors: the channels do not fit (STATUS_USAGE for a wrong text), memory. */
MUST_CHECK enum status plugin_map_init(struct plugin_map *map, const struct plugin_info *info,
                                       size_t channels, const struct plugin_map_settings *settings);
void plugin_map_free(struct plugin_map *map);

/* What the side chains of a plugin hear: @sidechain=3:4, channels of the sound, or
 * @sidechain=FILE, a sound of its own.
 *
 * A file is resampled to the rate of the sound, begins with the sound's first frame, and is silence
 * after its end. It is read as the sound goes on, or beforehand into memory where the step must not
 * wait for a file. Threads: the control thread, but for _read.
 */

enum { SIDE_CHAIN_FAILURE = 300 };

/* All zero: none. */
struct plugin_side_chain {
    const char *text; /* text after @sidechain=, not owned */
    size_t channels;  /* channels of a file; 0: the side chains hear the sound */
    struct sink *memory;
    const struct block *sound; /* samples in `memory` */
    struct source *source;
    float **rest;  /* for a read: by channel */
    uint64_t next; /* frame that the source reads next */
    uint64_t end;  /* frames, once it was reached */
    bool has_failed;
    char failure[SIDE_CHAIN_FAILURE];
    void (*read)(struct plugin_side_chain *side, int64_t position, size_t frames, float *const *to);
};

/* Whether the text is a list of channels; else it names a file. */
bool plugin_side_chain_is_list(const char *text);

/* `live`: into memory. Errors: the file cannot be read; memory. plugin_side_chain_close() is
 * required in any case. */
MUST_CHECK enum status plugin_side_chain_open(struct plugin_side_chain *side, const char *text,
                                              uint32_t rate, bool allow_truncated, bool live);
void plugin_side_chain_close(struct plugin_side_chain *side);

/* By the thread of the step; real-time where it is live. Frames of the sound from `position` on;
 * outside of it there is silence. Returns why it cannot be read, or NULL. */
const char *plugin_side_chain_read(struct plugin_side_chain *side, int64_t position, size_t frames,
                                   float *const *to);

#endif
