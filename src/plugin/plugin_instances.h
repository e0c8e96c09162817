/* A instances: the like instances of one plugin that a stage runs side by side, in this process or
 * in one of their own.
 *
 * A instances takes sound in pieces of any number of its blocks, with the changes of values that
 * fall within. Instance i has the channels i * inputs .. of what comes in; side chains are not
 * among them and read silence.
 *
 *   plugin_rack_open         in this process: what a plugin does to memory it does to halo
 *   plugin_instances_open_isolated   in a child process, over shared memory: a plugin that crashes or
 *                            hangs ends the instances (`failure`), and nothing else
 *
 * Threads: kind->process is real-time in a live instances; in files it waits for the child, and ends
 * early when a signal asks to stop (stop.h). A live isolated instances is given pieces of `most` frames
 * each and hands out the one before, so that nobody waits; `delay` says so. A child that takes
 * longer than `patience` seconds over a block, live one at most, has hung.
 */
#ifndef HALO_PLUGIN_INSTANCES_H
#define HALO_PLUGIN_INSTANCES_H

#include "plugin/plugin.h"

struct plugin_change {
    size_t frame; /* of the piece; taken at the beginning of the block that it is in. Changes
                     lie in the order of their frames */
    size_t port;
    float value;
};

struct plugin_instances_settings {
    struct plugin_settings plugin;
    size_t instances;
    size_t most;     /* frames of the longest piece: a multiple of the block */
    double patience; /* seconds */
};

struct plugin_instances;

struct plugin_instances_kind {
    void (*process)(struct plugin_instances *instances, const float *const *in, float *const *out,
                    size_t frames, const struct plugin_change *changes, size_t count);
    void (*reset)(struct plugin_instances *instances);
    enum status (*save)(struct plugin_instances *instances, const char *folder);
    void (*close)(struct plugin_instances *instances);
};

struct plugin_instances {
    const struct plugin_instances_kind *kind;
    const struct plugin_info *info;
    size_t instances;
    size_t inputs;  /* of one instance, side chains left out */
    size_t outputs; /* likewise */
    size_t block;
    size_t delay;              /* frames that the instances itself adds */
    const float *values;       /* by port, as the first instance has them after its last block */
    uint64_t latency;          /* frames, as the plugin last told; the instances's delay not counted */
    const uint64_t *latencies; /* likewise, by block of the piece that was handed out last */
    const char *failure; /* why it will not run again: "crashed at 1.250 s (segmentation fault)";
                            then it hands out silence */
    uint64_t late; /* pieces for which it handed out silence since the last reset, not being done
                 (live) */
    const char *notice; /* what whoever drives the instances should print once and clear; NULL */
};

/* Audio ports that an instance has in a set of instances. */
size_t plugin_instances_inputs(const struct plugin_info *info);
size_t plugin_instances_outputs(const struct plugin_info *info);

/* `changes`, at frame 0, are made before the first block, over what a preset or a state says.
 * Errors: as for plugin_create; apart also processes and memory. `info` outlives the instances. */
MUST_CHECK enum status plugin_instances_open(const struct plugin_info *info,
                                        const struct plugin_change *changes, size_t count,
                                        const struct plugin_instances_settings *settings,
                                        struct plugin_instances **instances);
MUST_CHECK enum status plugin_instances_open_isolated(const struct plugin_info *info,
                                              const struct plugin_change *changes, size_t count,
                                              const struct plugin_instances_settings *settings,
                                              struct plugin_instances **instances);

static inline void plugin_instances_close(struct plugin_instances *instances)
{
    if (instances)
        instances->kind->close(instances);
}

#endif
