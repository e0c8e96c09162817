#include "plugin/plugin_instances.h"

#include "base/realtime.h"
#include "signal/audio.h"

#include <stdlib.h>
#include <string.h>

/* An instance with its own buffers: a plugin may write to its inputs or need aligned memory. */
struct slot {
    struct plugin *plugin;
    struct block in;
    struct block out;
};

struct local_instances {
    struct plugin_instances instances;
    bool splits; /* blocks are split where a value changes */
    struct slot *slots;
    struct plugin_run *runs;
};

/* Make the changes before the frame `before`. */
HALO_REALTIME static void make_changes(const struct local_instances *here,
                                       const struct plugin_change **changes,
                                       const struct plugin_change *end, size_t before)
{
    for (; *changes < end && (*changes)->frame < before; ++*changes)
        for (size_t i = 0; i < here->instances.instances; i++)
            plugin_set(here->slots[i].plugin, (*changes)->port, (*changes)->value);
}

HALO_REALTIME static void run_slot(struct local_instances *here, size_t index,
                                   const float *const *in, float *const *out, size_t at,
                                   size_t frames)
{
    struct plugin_instances *instances = &here->instances;
    struct slot *slot = &here->slots[index];
    size_t bytes = frames * sizeof(float);
    for (size_t c = 0; c < instances->inputs; c++)
        memcpy(slot->in.data[c], in[index * instances->inputs + c] + at, bytes);
    slot->plugin->position = instances->position + (int64_t)at;
    slot->plugin->kind->process(slot->plugin, (const float *const *)slot->in.data, slot->out.data,
                                frames);
    for (size_t c = 0; c < instances->outputs; c++)
        memcpy(out[index * instances->outputs + c] + at, slot->out.data[c], bytes);
    if (!instances->notice) {
        instances->notice = slot->plugin->complaint;
        slot->plugin->complaint = NULL;
    }
}

HALO_REALTIME static void run(struct local_instances *here, const float *const *in,
                              float *const *out, size_t at, size_t frames)
{
    struct plugin_instances *instances = &here->instances;
    instances->latency = 0;
    for (size_t i = 0; i < instances->instances; i++) {
        run_slot(here, i, in, out, at, frames);
        uint64_t latency = plugin_latency(here->slots[i].plugin);
        if (latency > instances->latency)
            instances->latency = latency;
    }
    here->runs[instances->run_count++] =
        (struct plugin_run){.frames = frames, .latency = instances->latency};
}

/* The end of the changes. NULL if there are none, since adding to NULL is undefined. */
HALO_REALTIME static const struct plugin_change *end_of(const struct plugin_change *changes,
                                                        size_t count)
{
    return count > 0 ? changes + count : changes;
}

HALO_REALTIME static void process(struct plugin_instances *instances, const float *const *in,
                                  float *const *out, size_t frames,
                                  const struct plugin_change *changes, size_t count)
{
    struct local_instances *here = (struct local_instances *)instances;
    const struct plugin_change *end = end_of(changes, count);
    instances->run_count = 0;
    for (size_t at = 0, to; at < frames; at = to) {
        to = (at / instances->block + 1) * instances->block;
        make_changes(here, &changes, end, here->splits ? at + 1 : to);
        if (changes < end && changes->frame < to)
            to = changes->frame;
        run(here, in, out, at, to - at);
    }
}

static void reset(struct plugin_instances *instances)
{
    struct local_instances *here = (struct local_instances *)instances;
    for (size_t i = 0; i < instances->instances; i++)
        here->slots[i].plugin->kind->reset(here->slots[i].plugin);
}

static enum status save(struct plugin_instances *instances, const char *folder)
{
    struct plugin *plugin = ((struct local_instances *)instances)->slots[0].plugin;
    return plugin->kind->save ? plugin->kind->save(plugin, folder) : STATUS_OK;
}

static void close_instances(struct plugin_instances *instances)
{
    struct local_instances *here = (struct local_instances *)instances;
    for (size_t i = 0; here->slots && i < instances->instances; i++) {
        plugin_destroy(here->slots[i].plugin);
        block_free(&here->slots[i].in);
        block_free(&here->slots[i].out);
    }
    free(here->slots);
    free(here->runs);
    free(here);
}

static const struct plugin_instances_kind local_instances_kind = {
    .process = process,
    .reset = reset,
    .save = save,
    .close = close_instances,
};

static size_t count_inputs(const struct plugin_info *info, bool side_chains)
{
    size_t count = 0;
    for (size_t i = 0; i < info->port_count; i++) {
        const struct plugin_port *port = &info->ports[i];
        count += port->type == PLUGIN_AUDIO && port->is_input && port->is_side_chain == side_chains;
    }
    return count;
}

size_t plugin_instances_inputs(const struct plugin_info *info)
{
    return count_inputs(info, false);
}

size_t plugin_instances_side_chains(const struct plugin_info *info)
{
    return count_inputs(info, true);
}

size_t plugin_instances_outputs(const struct plugin_info *info)
{
    size_t count = 0;
    for (size_t i = 0; i < info->port_count; i++)
        count += info->ports[i].type == PLUGIN_AUDIO && !info->ports[i].is_input;
    return count;
}

static enum status fill_slot(struct slot *slot, const struct plugin_info *info,
                             const struct plugin_settings *settings)
{
    TRY(plugin_create(info, settings, &slot->plugin));
    TRY(block_init(&slot->in, slot->plugin->inputs, settings->block, "a plugin"));
    return block_init(&slot->out, slot->plugin->outputs, settings->block, "a plugin");
}

enum status plugin_instances_open(const struct plugin_info *info,
                                  const struct plugin_change *changes, size_t count,
                                  const struct plugin_instances_settings *settings,
                                  struct plugin_instances **instances)
{
    struct local_instances *here = calloc(1, sizeof *here);
    if (!here)
        return fail_memory("a plugin");
    here->instances = (struct plugin_instances){.kind = &local_instances_kind,
                                                .info = info,
                                                .instances = settings->instances,
                                                .inputs = plugin_instances_inputs(info) +
                                                          plugin_instances_side_chains(info),
                                                .outputs = plugin_instances_outputs(info),
                                                .block = settings->plugin.block};
    here->slots = calloc(settings->instances, sizeof *here->slots);
    here->splits = settings->plugin.varied && plugin_is_exact(info);
    here->runs = calloc(plugin_instances_runs(info, settings), sizeof *here->runs);
    enum status status = here->slots && here->runs ? STATUS_OK : fail_memory("a plugin");
    for (size_t i = 0; status == STATUS_OK && i < settings->instances; i++)
        status = fill_slot(&here->slots[i], info, &settings->plugin);
    if (status != STATUS_OK)
        goto fail;
    make_changes(here, &changes, end_of(changes, count), SIZE_MAX);
    reset(&here->instances); /* see plugin_kind.reset */
    if (here->slots[0].plugin->trouble) {
        status = fail(CAUSE_OTHER, "%s", here->slots[0].plugin->trouble);
        goto fail;
    }
    struct plugin *first = here->slots[0].plugin;
    here->instances.tail = first->kind->tail ? first->kind->tail(first) : PLUGIN_TAIL_UNKNOWN;
    here->instances.values = here->slots[0].plugin->controls;
    here->instances.runs = here->runs;
    *instances = &here->instances;
    return STATUS_OK;
fail:
    close_instances(&here->instances);
    return status;
}
