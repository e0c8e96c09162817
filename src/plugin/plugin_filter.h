/* A filter that is a plugin: a set of instances of it for the channels of the sound, at one latency for good.
 *
 * Blocks. A filter's block is cut into the plugin's: in files a power of two, PLUGIN_FILTER_BLOCK
 * where that divides it, else the largest that does; streamed, the block itself where it is a power
 * of two up to 8192. A block with no such divisor from 16 on goes to the plugin whole.
 *
 * Latency. A first instance hears silence for a while, with all values that are to come, and
 * tells its latency, since many know it only after some blocks; the longest is the filter's. Later
 * the sound keeps it, whatever else the plugin tells (plugin_align.h). While no value has changed,
 * a latency that is told late has held from the beginning. One that then tells more than was found
 * has its sound late: filter->late says by how much, and filter->notice says so, once. In files
 * an instance whose latency came only after some blocks hears as many of silence before the sound:
 * it may fade from a latency of its own to the one it is set to.
 *
 * Automation. A point takes effect at the first block of the plugin's that begins at its time or
 * after it, counted in what the filter hears of the sound; ramps have a new value for each block,
 * by equal steps, or by equal factors where the port is logarithmic.
 *
 * NaN and infinity become zero and are counted. A plugin that fails hands out silence, and
 * filter->failure says why.
 * Threads: plugin_filter_set and _value are for one control thread while the step runs, or for
 * the step itself; what else
 * is not the filter's process is for that thread while it does not.
 */
#ifndef HALO_PLUGIN_FILTER_H
#define HALO_PLUGIN_FILTER_H

#include "plugin/plugin.h"
#include "plugin/plugin_map.h"
#include "plugin/plugin_spec.h"
#include "sound/filter.h"

/* Frames: fine enough steps for automation (5 ms at 48 kHz); longer ones make plugins no faster. */
enum { PLUGIN_FILTER_BLOCK = 256 };

struct plugin_filter_settings {
    const struct plugin_info *info; /* outlives the filter, as do the next two */
    const struct plugin_map *map;   /* for a sound of `channels` */
    const struct plugin_spec *spec;
    uint32_t rate;
    size_t channels;
    size_t block;
    bool live;       /* blocks are waited for */
    bool streamed;   /* the block is a device's period, also where it is replayed */
    bool replayed;   /* it was live once: no silence goes before the sound */
    bool isolated;   /* in a process of its own */
    size_t delay;    /* frames that the sound is to come later still */
    uint64_t before; /* frames that the sound comes late already: automation counts from there */
    struct plugin_latency {
        uint64_t most;    /* frames */
        uint64_t settled; /* with the values at the beginning */
    } latency;            /* known from an earlier run; more may be found */
};

/* Errors: as for plugin_create, and memory. */
MUST_CHECK enum status plugin_filter_create(const struct plugin_filter_settings *settings,
                                            struct filter **filter);

/* What became of it; for reports. */
struct plugin_filter_info {
    size_t instances;
    size_t block; /* frames of the plugin's */
    bool isolated;
    uint64_t bad;                  /* samples that were NaN or infinite */
    uint64_t missed;               /* blocks that were not done in time, and silence */
    struct plugin_latency latency; /* as it turned out */
};
struct plugin_filter_info plugin_filter_info(const struct filter *filter);

/* A control input's value while the sound goes on: taken at the beginning of the next block,
 * brought into the port's range; and what was asked for last, or the plugin began with. */
void plugin_filter_set(struct filter *filter, size_t port, float value);
float plugin_filter_value(const struct filter *filter, size_t port);

/* Keep all that the plugin is set to, see plugin_kind.save. Not while the step runs. */
MUST_CHECK enum status plugin_filter_save(struct filter *filter, const char *folder);

#endif
