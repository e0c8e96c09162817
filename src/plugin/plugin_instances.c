#include "plugin/plugin_instances.h"

#include "base/realtime.h"
#include "signal/audio.h"

#include <stdlib.h>
#include <string.h>

/* With separate buffers, since a plugin may write to its inputs, or need aligned memory. */
struct slot {
    struct plugin *plugin;
    struct block in;  /* all audio ports, including side chains, which stay silent */
    struct block out; /* all audio ports */
};

struct local_instances {
    struct plugin_instances instances;
    size_t *main_inputs; /* by input without side chains: the audio input of the plugin */
    struct slot *slots;
    uint64_t *latencies;
};

HALO_REALTIME static void make_changes(struct local_instances *here,
                                       const struct plugin_change **changes,
                                       const struct plugin_change *end, size_t before)
{
    for (; *changes < end && (*changes)->frame < before; ++*changes)
        for (size_t i = 0; i < here->instances.instances; i++)
            plugin_set(here->slots[i].plugin, (*changes)->port, (*changes)->value);
}

HALO_REALTIME static void run_slot(struct local_instances *here, size_t index,
                                   const float *const *in, float *const *out, size_t at)
{
    struct plugin_instances *instances = &here->instances;
    struct slot *slot = &here->slots[index];
    size_t bytes = instances->block * sizeof(float);
    for (size_t c = 0; c < instances->inputs; c++)
        memcpy(slot->in.data[here->main_inputs[c]], in[index * instances->inputs + c] + at, bytes);
    slot->plugin->kind->process(slot->plugin, (const float *const *)slot->in.data, slot->out.data);
    for (size_t c = 0; c < instances->outputs; c++)
        memcpy(out[index * instances->outputs + c] + at, slot->out.data[c], bytes);
    if (!instances->notice) {
        instances->notice = slot->plugin->complaint;
        slot->plugin->complaint = NULL;
    }
}

HALO_REALTIME static void process(struct plugin_instances *instances, const float *const *in,
                                  float *const *out, size_t frames,
                                  const struct plugin_change *changes, size_t count)
{
    struct local_instances *here = (struct local_instances *)instances;
    const struct plugin_change *end = changes + count;
    for (size_t at = 0; at < frames; at += instances->block) {
        make_changes(here, &changes, end, at + instances->block);
        instances->latency = 0;
        for (size_t i = 0; i < instances->instances; i++) {
            run_slot(here, i, in, out, at);
            uint64_t latency = plugin_latency(here->slots[i].plugin);
            if (latency > instances->latency)
                instances->latency = latency;
        }
        here->latencies[at / instances->block] = instances->latency;
    }
}

static void reset(struct plugin_instances *instances)
{
    struct local_instances *here = (struct local_instances *)instances;
    for (size_t i = 0; i < instances->instances; i++) {
        struct slot *slot = &here->slots[i];
        slot->plugin->kind->reset(slot->plugin);
        block_silence(&slot->in, 0, instances->block);
    }
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
    free(here->latencies);
    free(here->main_inputs);
    free(here);
}

static const struct plugin_instances_kind local_instances_kind = {
    .process = process,
    .reset = reset,
    .save = save,
    .close = close_instances,
};

size_t plugin_instances_inputs(const struct plugin_info *info)
{
    size_t count = 0;
    for (size_t i = 0; i < info->port_count; i++) {
        const struct plugin_port *port = &info->ports[i];
        count += port->type == PLUGIN_AUDIO && port->is_input && !port->is_side_chain;
    }
    return count;
}

size_t plugin_instances_outputs(const struct plugin_info *info)
{
    size_t count = 0;
    for (size_t i = 0; i < info->port_count; i++)
        count += info->ports[i].type == PLUGIN_AUDIO && !info->ports[i].is_input;
    return count;
}

static enum status find_inputs(struct local_instances *here)
{
    const struct plugin *plugin = here->slots[0].plugin;
    size_t count = 0;
    here->main_inputs = calloc(here->instances.inputs + 1, sizeof *here->main_inputs);
    if (!here->main_inputs)
        return fail_memory("a plugin");
    for (size_t i = 0; i < plugin->inputs; i++)
        if (!plugin->info->ports[plugin->in_ports[i]].is_side_chain)
            here->main_inputs[count++] = i;
    return STATUS_OK;
}

static enum status fill_slot(struct slot *slot, const struct plugin_info *info,
                             const struct plugin_settings *settings)
{
    TRY(plugin_create(info, settings, &slot->plugin));
    TRY(block_init(&slot->in, slot->plugin->inputs, settings->block, "a plugin"));
    return block_init(&slot->out, slot->plugin->outputs, settings->block, "a plugin");
}

static uint64_t tail_of(struct plugin *plugin)
{
    return plugin->kind->tail ? plugin->kind->tail(plugin) : PLUGIN_TAIL_UNKNOWN;
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
                                                .inputs = plugin_instances_inputs(info),
                                                .outputs = plugin_instances_outputs(info),
                                                .block = settings->plugin.block};
    here->slots = calloc(settings->instances, sizeof *here->slots);
    here->latencies = calloc(settings->most / here->instances.block, sizeof *here->latencies);
    enum status status = here->slots && here->latencies ? STATUS_OK : fail_memory("a plugin");
    for (size_t i = 0; status == STATUS_OK && i < settings->instances; i++)
        status = fill_slot(&here->slots[i], info, &settings->plugin);
    if (status == STATUS_OK)
        status = find_inputs(here);
    if (status != STATUS_OK)
        goto fail;
    make_changes(here, &changes, changes + count, SIZE_MAX);
    reset(&here->instances); /* see plugin_kind.reset */
    if (here->slots[0].plugin->trouble) {
        status = fail(STATUS_FAILED, "%s", here->slots[0].plugin->trouble);
        goto fail;
    }
    here->instances.tail = tail_of(here->slots[0].plugin);
    here->instances.values = here->slots[0].plugin->controls;
    here->instances.latencies = here->latencies;
    *instances = &here->instances;
    return STATUS_OK;
fail:
    close_instances(&here->instances);
    return status;
}
