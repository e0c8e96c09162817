/* A plugin as a filter: instances for the channels of the sound, with a fixed latency.
 *
 * Blocks. A block of the filter is divided into blocks of the plugin: in files PLUGIN_FILTER_BLOCK
 * frames where that divides it, else the largest power of two that does; streamed, the whole block
 * where it is a power of two up to 8192. A block without such a divisor of 16 or more is passed
 * whole.
 *
 * Latency. Many plugins report their latency only after some blocks, so a separate instance first
 * runs on silence with all values to come; the longest latency is that of the filter. The sound
 * keeps its place when the plugin reports another latency later. A latency that is reported late
 * counts from the beginning as long as no value has changed. One that exceeds the found latency
 * delays the sound: filter->late says by how much, filter->notice once. In files an instance whose
 * latency settles after some blocks first runs on as many of silence, since it may fade from its
 * first latency to the new one.
 *
 * Automation. A point takes effect at its frame, counted in the input of the filter; ramps change
 * every PLUGIN_FILTER_STEP frames of the sound, by equal steps, or equal factors for logarithmic
 * ports. Where a plugin is not exact (plugin.h), both happen at the next block of the plugin.
 *
 * Tail. What the plugin reports, if it reports one and no value changes by automation; else
 * unknown.
 *
 * A sample that is no number, or beyond PLUGIN_FILTER_LOUDEST, is a failure, unless
 * settings.allow_loud: then NaN and infinity become zero and are counted. A plugin that fails
 * outputs silence, and filter->failure says why. Threads: plugin_filter_set and _value belong to
 * one control thread while the step runs, or to the step itself; all else but process to that
 * thread while the step does not run.
 */
#ifndef HALO_PLUGIN_FILTER_H
#define HALO_PLUGIN_FILTER_H

#include "plugin/plugin.h"
#include "plugin/plugin_map.h"
#include "plugin/plugin_spec.h"
#include "signal/audio.h"
#include "sound/filter.h"

/* Frames: of a plugin's block in files, as longer ones make no plugin faster; and of a ramp's
 * steps, as blocks shorter than these cost more time than what they change can be heard. */
enum { PLUGIN_FILTER_BLOCK = 256, PLUGIN_FILTER_STEP = 32 };

#define PLUGIN_FILTER_LOUDEST 1000.0F /* +60 dBFS */

struct plugin_filter_settings {
    const struct plugin_info *info; /* outlives the filter, as do the next two */
    const struct plugin_map *map;   /* for a sound of `channels` */
    const struct plugin_spec *spec;
    struct plugin_side_chain *side; /* a file for side chains, whose channels the map has after
                                       those of the sound; NULL: none. Outlives the filter */
    uint32_t rate;
    size_t channels;
    size_t block;
    bool live;       /* blocks have a deadline */
    bool streamed;   /* the block is the period of a device, even if it is replayed */
    bool replayed;   /* a recorded live session: no silence before the sound */
    bool isolated;   /* runs in a child process */
    bool allow_loud; /* any number is a valid sample */
    struct plugin_tempo tempo;
    uint64_t before; /* frames of latency before this filter: automation counts from there */
    struct plugin_latency {
        uint64_t most;    /* frames */
        uint64_t settled; /* frames with the initial values */
    } latency;            /* known from an earlier run; a longer one may be found */
};

/* Errors: as for plugin_create, and memory. */
MUST_CHECK enum status plugin_filter_create(const struct plugin_filter_settings *settings,
                                            struct filter **filter);

/* Statistics for reports. */
struct plugin_filter_info {
    size_t instances;
    size_t block; /* frames of the plugin's */
    bool isolated;
    uint64_t bad;    /* samples that were NaN or infinite, where that is allowed */
    uint64_t missed; /* blocks that came too late and were silenced */
    struct plugin_latency latency;
};
struct plugin_filter_info plugin_filter_info(const struct filter *filter);

/* Set a control input from the next block on, clamped to the range of the port; get the value that
 * was requested last, or the initial one. */
void plugin_filter_set(struct filter *filter, size_t port, float value);
float plugin_filter_value(const struct filter *filter, size_t port);

/* Save the state of the plugin, see plugin_kind.save. Not while the step runs. */
MUST_CHECK enum status plugin_filter_save(struct filter *filter, const char *folder);

/* After the last block of a file: whether the plugin's process did not end with it. Errors: it did.
 */
MUST_CHECK enum status plugin_filter_confirm(struct filter *filter);

#endif
