/* How the channels of a sound map to the inputs of a plugin, and to how many instances.
 *
 *   (default)        as many inputs as channels: one instance. One input and one output: an
 *                    instance for each channel. Two inputs, one channel: both receive it. No
 *                    input: one instance, the sound is discarded. All else is refused
 *   @map=each        an instance for each group of channels as wide as the inputs of the plugin
 *   @map=1:2:0       the inputs of all instances in order: channels from 1; 0 is silence
 *
 * Side chains do not count as inputs. They read silence, or the channels that @sidechain= names: a
 * list as above, or all channels of a file. The channels are repeated until each side chain of each
 * instance has one. Inputs do not get the channels of the sound that @sidechain= names, unless
 * @map= names them, too.
 *
 * The result has the outputs of all instances. A plugin without outputs (a meter, a MIDI processor)
 * gets a copy of the sound, which passes unchanged. */
#ifndef HALO_PLUGIN_MAP_H
#define HALO_PLUGIN_MAP_H

#include "plugin/plugin.h"
#include "signal/audio.h"
#include "sound/port.h"

#define PLUGIN_MAP_SILENCE SIZE_MAX

struct plugin_map {
    size_t instances;
    size_t outputs;      /* outputs of all instances, or channels of the sound */
    bool has_side_chain; /* side chains have a sound */
    bool is_beside;      /* the plugin has no outputs; the sound passes unchanged */
    size_t count;        /* audio inputs of all instances, including side chains */
    /* channel of each audio input, or PLUGIN_MAP_SILENCE. Channels of the side chains' file are
     * numbered after the channels of the sound */
    size_t *inputs;
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

/* The sound that the side chains of a plugin read: channels of the sound (@sidechain=3:4), or a
 * file (@sidechain=FILE).
 *
 * A file is resampled to the rate of the sound, begins with the sound's first frame, and is silence
 * after its end. If the step must not wait for a file, the file is read into memory beforehand,
 * else as the sound goes on. Threads: the control thread; plugin_side_chain_read: the step's. */

enum { SIDE_CHAIN_FAILURE = 300 };

/* A zeroed struct means that nothing is connected. */
struct plugin_side_chain {
    const char *text;    /* text after @sidechain=, not owned */
    size_t channels;     /* channels of the file; 0: no file */
    struct sink *memory; /* live: holds the whole file; NULL: the file is read from `source` */
    const struct block *sound; /* samples in `memory` */
    struct source *source;
    float **rest;  /* scratch for plugin_side_chain_read: a pointer for each channel */
    uint64_t next; /* frame that the source's next read begins at */
    uint64_t end;  /* frames of the file, once its end was reached; UINT64_MAX before */
    bool has_failed;
    char failure[SIDE_CHAIN_FAILURE];
    void (*read)(struct plugin_side_chain *side, int64_t position, size_t frames, float *const *to);
};

/* Whether the text is a list of channels; else it names a file. */
bool plugin_side_chain_is_list(const char *text);

/* Open the file; `live`: read it into memory. Errors: the file cannot be read; memory. Call
 * plugin_side_chain_close() also after an error. */
MUST_CHECK enum status plugin_side_chain_open(struct plugin_side_chain *side, const char *text,
                                              uint32_t rate, bool allow_truncated, bool live);
void plugin_side_chain_close(struct plugin_side_chain *side);

/* On the step's thread; real-time if opened live. Read frames of the file from `position` on,
 * silence before its first and after its last. Returns why it cannot be read, or NULL. */
const char *plugin_side_chain_read(struct plugin_side_chain *side, int64_t position, size_t frames,
                                   float *const *to);

#endif
