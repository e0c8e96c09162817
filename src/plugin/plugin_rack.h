/* A rack: the like instances of one plugin that a stage runs side by side, in this process or
 * in one of their own.
 *
 * A rack takes sound in pieces of any number of its blocks, with the changes of values that
 * fall within. Instance i has the channels i * inputs .. of what comes in; side chains are not
 * among them and read silence.
 *
 *   plugin_rack_open         in this process: what a plugin does to memory it does to halo
 *   plugin_rack_open_apart   in a child process, over shared memory: a plugin that crashes or
 *                            hangs ends the rack (`failure`), and nothing else
 *
 * Threads: kind->process is real-time in a live rack; in files it waits for the child, and ends
 * early when a signal asks to stop (stop.h). A live rack apart is given pieces of `most` frames
 * each and hands out the one before, so that nobody waits; `delay` says so. A child that takes
 * longer than `patience` seconds over a block, live one at most, has hung.
 */
#ifndef HALO_PLUGIN_RACK_H
#define HALO_PLUGIN_RACK_H

#include "plugin/plugin.h"

struct plugin_change {
    size_t frame; /* of the piece; taken at the beginning of the block that it is in. Changes
                     lie in the order of their frames */
    size_t port;
    float value;
};

struct plugin_rack_settings {
    struct plugin_settings plugin;
    size_t instances;
    size_t most;     /* frames of the longest piece: a multiple of the block */
    double patience; /* seconds */
};

struct plugin_rack;

struct plugin_rack_kind {
    void (*process)(struct plugin_rack *rack, const float *const *in, float *const *out,
                    size_t frames, const struct plugin_change *changes, size_t count);
    void (*reset)(struct plugin_rack *rack);
    enum status (*save)(struct plugin_rack *rack, const char *folder);
    void (*close)(struct plugin_rack *rack);
};

struct plugin_rack {
    const struct plugin_rack_kind *kind;
    const struct plugin_info *info;
    size_t instances;
    size_t inputs;  /* of one instance, side chains left out */
    size_t outputs; /* likewise */
    size_t block;
    size_t delay;              /* frames that the rack itself adds */
    const float *values;       /* by port, as the first instance has them after its last block */
    uint64_t latency;          /* frames, as the plugin last told; the rack's delay not counted */
    const uint64_t *latencies; /* likewise, by block of the piece that was handed out last */
    const char *failure; /* why it will not run again: "crashed at 1.250 s (segmentation fault)";
                            then it hands out silence */
    uint64_t late; /* pieces for which it handed out silence since the last reset, not being done
                 (live) */
    const char *notice; /* what whoever drives the rack should print once and clear; NULL */
};

/* Audio ports that an instance has in a rack. */
size_t plugin_rack_inputs(const struct plugin_info *info);
size_t plugin_rack_outputs(const struct plugin_info *info);

/* `changes`, at frame 0, are made before the first block, over what a preset or a state says.
 * Errors: as for plugin_create; apart also processes and memory. `info` outlives the rack. */
MUST_CHECK enum status plugin_rack_open(const struct plugin_info *info,
                                        const struct plugin_change *changes, size_t count,
                                        const struct plugin_rack_settings *settings,
                                        struct plugin_rack **rack);
MUST_CHECK enum status plugin_rack_open_apart(const struct plugin_info *info,
                                              const struct plugin_change *changes, size_t count,
                                              const struct plugin_rack_settings *settings,
                                              struct plugin_rack **rack);

static inline void plugin_rack_close(struct plugin_rack *rack)
{
    if (rack)
        rack->kind->close(rack);
}

#endif
