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
 * Automation. A point takes effect at the first block of the plugin at or after its time, counted
 * in the input of the filter; ramps change with each block, by equal steps, or equal factors for
 * logarithmic ports.
 *
 * Tail. What the plugin reports, if it reports one and no value changes by automation; else
 * unknown.
 *
 * NaN and infinity become zero and are counted. A plugin that fails outputs silence, and
 * filter->failure says why. Threads: plugin_filter_set and _value belong to one control thread
 * while the step runs, or to the step itself; all else but process to that thread while the step
 * does not run.
 */
#ifndef HALO_PLUGIN_FILTER_H
#define HALO_PLUGIN_FILTER_H

#include "plugin/plugin.h"
#include "plugin/plugin_map.h"
#include "plugin/plugin_spec.h"
#include "sound/filter.h"

/* Frames: automation steps of 5 ms at 48 kHz; longer blocks make plugins no faster. */
enum { PLUGIN_FILTER_BLOCK = 256 };

struct plugin_filter_settings {
    const struct plugin_info *info; /* outlives the filter, as do the next two */
    const struct plugin_map *map;   /* for a sound of `channels` */
    const struct plugin_spec *spec;
    uint32_t rate;
    size_t channels;
    size_t block;
    bool live;       /* blocks have a deadline */
    bool streamed;   /* the block is the period of a device, even if it is replayed */
    bool replayed;   /* a recorded live session: no silence before the sound */
    bool isolated;   /* in a child process */
    size_t delay;    /* frames of additional latency */
    uint64_t before; /* frames of latency before this filter: automation counts from there */
    struct plugin_latency {
        uint64_t most;    /* frames */
        uint64_t settled; /* with the initial values */
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
    uint64_t bad;    /* samples that were NaN or infinite */
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

#endif
