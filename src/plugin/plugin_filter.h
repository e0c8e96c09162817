/* A plugin as a filter: instances for the channels of the sound, with a fixed latency.
 *
 * Blocks. The filter divides its block into blocks of the plugin. In files these have
 * PLUGIN_FILTER_BLOCK frames if that divides the filter's block, else the largest power of two that
 * does. When streamed, the plugin gets the whole block if that is a power of two up to 8192. If no
 * power of two from 16 on divides the block, the plugin gets the whole block.
 *
 * Latency. Many plugins report their latency only after some blocks, so a separate instance first
 * runs on silence with all values that the automation will set. The longest latency found is the
 * latency of the filter. If the plugin later reports another latency, the sound keeps its place. A
 * latency that is reported late counts from the beginning as long as no value has changed. A
 * latency longer than the filter's delays the sound: filter->late has the frames, and
 * filter->notice says so once. In files, an instance whose latency settles after some blocks first
 * runs on as many blocks of silence, since it may fade from its first latency to the new one.
 *
 * Automation. A point takes effect at its frame, counted in the input of the filter; ramps change
 * every PLUGIN_FILTER_STEP frames of the sound, by equal steps, or equal factors for logarithmic
 * ports. If a plugin is not exact (plugin.h), points and ramps change values at its next block.
 *
 * Tail. The length that the plugin reports. Unknown if it reports none or if automation changes a
 * value.
 *
 * Bad samples. NaN, infinity and samples beyond PLUGIN_FILTER_LOUDEST are failures. With
 * settings.allow_loud NaN and infinity become zero and are counted instead. After a failure the
 * output is silence, and filter->failure says why. Threads: while the step runs, one control thread
 * or the step itself may call plugin_filter_set and _value. All other functions but process belong
 * to the control thread while the step does not run. */
#ifndef HALO_PLUGIN_FILTER_H
#define HALO_PLUGIN_FILTER_H

#include "plugin/plugin.h"
#include "plugin/plugin_map.h"
#include "plugin/plugin_spec.h"
#include "signal/audio.h"
#include "sound/filter.h"

/* Frames of a plugin's block in files: longer blocks make no plugin faster. Frames of a ramp's
 * step: shorter steps cost time and make no audible difference. */
enum { PLUGIN_FILTER_BLOCK = 256, PLUGIN_FILTER_STEP = 32 };

#define PLUGIN_FILTER_LOUDEST 1000.0F /* +60 dBFS */

struct plugin_filter_settings {
    const struct plugin_info *info; /* outlives the filter */
    const struct plugin_map *map;   /* for a sound of `channels`; outlives the filter */
    const struct plugin_spec *spec; /* outlives the filter */
    /* side chains' file or NULL; outlives the filter. Its channels follow the sound's */
    struct plugin_side_chain *side;
    uint32_t rate;
    size_t channels;
    size_t block;
    bool live;       /* blocks have a deadline */
    bool streamed;   /* the block is the period of a device, even if it is replayed */
    bool replayed;   /* replay of a recorded live session: no silence before the sound */
    bool isolated;   /* runs in a child process */
    bool allow_loud; /* any number is a valid sample */
    struct plugin_tempo tempo;
    uint64_t before; /* frames of latency before this filter: automation counts from there */
    struct plugin_latency {
        uint64_t most;    /* frames */
        uint64_t settled; /* frames with the initial values */
    } latency;            /* known from an earlier run; the filter may find a longer one */
};

/* Errors: as for plugin_create, and memory. */
MUST_CHECK enum status plugin_filter_create(const struct plugin_filter_settings *settings,
                                            struct filter **filter);

/* Statistics for reports. */
struct plugin_filter_info {
    size_t instances;
    size_t block; /* frames of the plugin's block */
    bool isolated;
    uint64_t bad;    /* NaN and infinite samples, with allow_loud */
    uint64_t missed; /* blocks that came too late and were silenced */
    struct plugin_latency latency;
};
struct plugin_filter_info plugin_filter_info(const struct filter *filter);

/* Set a control input from the next block on, clamped to the range of the port. plugin_filter_value
 * returns the value that was requested last, or the initial value. */
void plugin_filter_set(struct filter *filter, size_t port, float value);
float plugin_filter_value(const struct filter *filter, size_t port);

/* Save the state of the plugin, see plugin_kind.save. Not while the step runs. */
MUST_CHECK enum status plugin_filter_save(struct filter *filter, const char *folder);

/* After the last block of a file: check that the plugin's process runs. Errors: it has ended. */
MUST_CHECK enum status plugin_filter_confirm(struct filter *filter);

#endif
