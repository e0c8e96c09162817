/* The identical instances of one plugin that a stage runs side by side, in this process or isolated
 * in a child process.
 *
 * They process sound in pieces. A piece has any number of blocks, and changes of values. The input
 * channels of instance i begin at i * inputs, in the order of its audio ports, which include side
 * chains.
 *
 * If the plugin is exact (plugin.h) and settings.plugin.varied is set, a change takes effect at its
 * frame; otherwise at the start of the block.
 *
 *   plugin_instances_open            in this process: memory errors of a plugin are errors of halo
 *   plugin_instances_open_isolated   in a child process, over shared memory: a plugin that crashes
 *                                    or hangs only ends the instances (`failure`)
 *
 * Isolated instances wait for the child, until the `deadline` if there is one. If the child misses
 * the deadline, the piece is silence and counts as `late`. halo then does not wait again until the
 * child has caught up, so a child that hangs costs one wait. Without a deadline, kind->process
 * returns early when a signal asks to stop (stop.h). A child that takes longer than `patience` for
 * a block, or one second when live, counts as hung.
 *
 * Threads: kind->process is real-time, in a child process if there is a deadline. */
#ifndef HALO_PLUGIN_INSTANCES_H
#define HALO_PLUGIN_INSTANCES_H

#include "plugin/plugin.h"

struct plugin_change {
    size_t frame; /* frame in the piece; changes are sorted by frame */
    size_t port;
    float value;
};

struct plugin_instances_settings {
    struct plugin_settings plugin;
    size_t instances;
    size_t most;     /* frames of the longest piece, a multiple of the block */
    size_t changes;  /* most changes in a piece; see plugin_instances_changes() */
    double patience; /* seconds */
};

/* One call of the plugin's process. */
struct plugin_run {
    size_t frames;
    uint64_t latency; /* frames, as reported after the call */
};

struct plugin_instances;

struct plugin_instances_kind {
    void (*process)(struct plugin_instances *instances, const float *const *in, float *const *out,
                    size_t frames, const struct plugin_change *changes, size_t count);
    void (*reset)(struct plugin_instances *instances);
    /* Check after the last piece that the instances run. Errors: they ended. NULL: no check. */
    enum status (*confirm)(struct plugin_instances *instances);
    enum status (*save)(struct plugin_instances *instances, const char *folder);
    void (*close)(struct plugin_instances *instances);
};

struct plugin_instances {
    const struct plugin_instances_kind *kind;
    const struct plugin_info *info;
    size_t instances;
    size_t inputs;  /* channels into one instance */
    size_t outputs; /* channels out of one instance */
    size_t block;
    int64_t position;              /* frame of the next piece in the sound, set by the caller */
    int64_t deadline;              /* deadline of the next piece (filter.h), set by the caller */
    const float *values;           /* values by port of the first instance, after its last block */
    uint64_t latency;              /* frames, as last reported */
    const struct plugin_run *runs; /* runs of the last piece */
    size_t run_count;
    uint64_t tail; /* frames of tail with the first values, or PLUGIN_TAIL_UNKNOWN */
    /* "crashed at 1.250 s (segmentation fault)": the output is silence. NULL: none */
    const char *failure;
    uint64_t late;      /* pieces replaced by silence since the last reset */
    const char *notice; /* line that the caller prints and clears; NULL: none */
};

/* Audio ports of one instance: inputs without side chains, side chains, outputs. */
size_t plugin_instances_inputs(const struct plugin_info *info);
size_t plugin_instances_side_chains(const struct plugin_info *info);
size_t plugin_instances_outputs(const struct plugin_info *info);

/* `changes`, all at frame 0, are applied before the first block and override preset and state.
 * `info` outlives the instances. Errors: those of plugin_create. Isolated, also: the child process
 * cannot be started, no memory. */
MUST_CHECK enum status plugin_instances_open(const struct plugin_info *info,
                                             const struct plugin_change *changes, size_t count,
                                             const struct plugin_instances_settings *settings,
                                             struct plugin_instances **instances);
MUST_CHECK enum status
plugin_instances_open_isolated(const struct plugin_info *info, const struct plugin_change *changes,
                               size_t count, const struct plugin_instances_settings *settings,
                               struct plugin_instances **instances);

/* Most changes in a piece: at least one for each port. */
static inline size_t plugin_instances_changes(const struct plugin_info *info,
                                              const struct plugin_instances_settings *settings)
{
    return settings->changes > info->port_count ? settings->changes : info->port_count;
}

/* Most runs of a piece: each change may end a run. */
static inline size_t plugin_instances_runs(const struct plugin_info *info,
                                           const struct plugin_instances_settings *settings)
{
    return settings->most / settings->plugin.block + plugin_instances_changes(info, settings);
}

static inline void plugin_instances_close(struct plugin_instances *instances)
{
    if (instances)
        instances->kind->close(instances);
}

#endif
