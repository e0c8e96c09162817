#include "plugin/plugin_rack.h"

#include "signal/audio.h"

#include <stdlib.h>
#include <string.h>

/* An instance has buffers of its own, at the same place for good: a plugin may write where it
 * should only read, or want memory that is well aligned. */
struct slot {
    struct plugin *plugin;
    struct block in;  /* all audio ports, side chains among them: these stay silent */
    struct block out; /* likewise */
};

struct rack_here {
    struct plugin_rack rack;
    size_t *main_inputs; /* by input of the rack, the plugin's audio input */
    struct slot *slots;
    uint64_t *latencies;
};

static void make_changes(struct rack_here *here, const struct plugin_change **changes,
                         const struct plugin_change *end, size_t before)
{
    for (; *changes < end && (*changes)->frame < before; ++*changes)
        for (size_t i = 0; i < here->rack.instances; i++)
            plugin_set(here->slots[i].plugin, (*changes)->port, (*changes)->value);
}

static void run_slot(struct rack_here *here, size_t index, const float *const *in,
                     float *const *out, size_t at)
{
    struct plugin_rack *rack = &here->rack;
    struct slot *slot = &here->slots[index];
    size_t bytes = rack->block * sizeof(float);
    for (size_t c = 0; c < rack->inputs; c++)
        memcpy(slot->in.data[here->main_inputs[c]], in[index * rack->inputs + c] + at, bytes);
    slot->plugin->kind->process(slot->plugin, (const float *const *)slot->in.data, slot->out.data);
    for (size_t c = 0; c < rack->outputs; c++)
        memcpy(out[index * rack->outputs + c] + at, slot->out.data[c], bytes);
    if (!rack->notice) {
        rack->notice = slot->plugin->complaint;
        slot->plugin->complaint = NULL;
    }
}

static void look_at_latency(struct rack_here *here, size_t block)
{
    uint64_t latency = 0;
    for (size_t i = 0; i < here->rack.instances; i++) {
        uint64_t reported = plugin_latency(here->slots[i].plugin);
        latency = reported > latency ? reported : latency;
    }
    here->rack.latency = here->latencies[block] = latency;
}

static void process(struct plugin_rack *rack, const float *const *in, float *const *out,
                    size_t frames, const struct plugin_change *changes, size_t count)
{
    struct rack_here *here = (struct rack_here *)rack;
    const struct plugin_change *end = changes + count;
    for (size_t at = 0; at < frames; at += rack->block) {
        make_changes(here, &changes, end, at + rack->block);
        for (size_t i = 0; i < rack->instances; i++)
            run_slot(here, i, in, out, at);
        look_at_latency(here, at / rack->block);
    }
}

static void reset(struct plugin_rack *rack)
{
    struct rack_here *here = (struct rack_here *)rack;
    for (size_t i = 0; i < rack->instances; i++) {
        struct slot *slot = &here->slots[i];
        slot->plugin->kind->reset(slot->plugin);
        block_silence(&slot->in, 0, rack->block);
    }
}

static enum status save(struct plugin_rack *rack, const char *folder)
{
    struct plugin *plugin = ((struct rack_here *)rack)->slots[0].plugin;
    return plugin->kind->save ? plugin->kind->save(plugin, folder) : STATUS_OK;
}

static void close_rack(struct plugin_rack *rack)
{
    struct rack_here *here = (struct rack_here *)rack;
    for (size_t i = 0; here->slots && i < rack->instances; i++) {
        plugin_destroy(here->slots[i].plugin);
        block_free(&here->slots[i].in);
        block_free(&here->slots[i].out);
    }
    free(here->slots);
    free(here->latencies);
    free(here->main_inputs);
    free(here);
}

static const struct plugin_rack_kind rack_here_kind = {
    .process = process,
    .reset = reset,
    .save = save,
    .close = close_rack,
};

size_t plugin_rack_inputs(const struct plugin_info *info)
{
    size_t count = 0;
    for (size_t i = 0; i < info->port_count; i++) {
        const struct plugin_port *port = &info->ports[i];
        count += port->type == PLUGIN_AUDIO && port->is_input && !port->is_side_chain;
    }
    return count;
}

size_t plugin_rack_outputs(const struct plugin_info *info)
{
    size_t count = 0;
    for (size_t i = 0; i < info->port_count; i++)
        count += info->ports[i].type == PLUGIN_AUDIO && !info->ports[i].is_input;
    return count;
}

static enum status find_inputs(struct rack_here *here)
{
    const struct plugin_info *info = here->rack.info;
    size_t audio = 0, own = 0;
    here->main_inputs = calloc(here->rack.inputs + 1, sizeof *here->main_inputs);
    if (!here->main_inputs)
        return fail_memory("a plugin");
    for (size_t i = 0; i < info->port_count; i++) {
        const struct plugin_port *port = &info->ports[i];
        if (port->type != PLUGIN_AUDIO || !port->is_input)
            continue;
        if (!port->is_side_chain)
            here->main_inputs[own++] = audio;
        audio++;
    }
    return STATUS_OK;
}

static enum status fill_slot(struct slot *slot, const struct plugin_info *info,
                             const struct plugin_settings *settings)
{
    enum status status = plugin_create(info, settings, &slot->plugin);
    if (status == STATUS_OK)
        status = block_init(&slot->in, slot->plugin->inputs, settings->block, "a plugin");
    if (status == STATUS_OK)
        status = block_init(&slot->out, slot->plugin->outputs, settings->block, "a plugin");
    return status;
}

enum status plugin_rack_open(const struct plugin_info *info, const struct plugin_change *changes,
                             size_t count, const struct plugin_rack_settings *settings,
                             struct plugin_rack **rack)
{
    struct rack_here *here = calloc(1, sizeof *here);
    if (!here)
        return fail_memory("a plugin");
    here->rack = (struct plugin_rack){.kind = &rack_here_kind,
                                      .info = info,
                                      .instances = settings->instances,
                                      .inputs = plugin_rack_inputs(info),
                                      .outputs = plugin_rack_outputs(info),
                                      .block = settings->plugin.block};
    here->slots = calloc(settings->instances, sizeof *here->slots);
    here->latencies = calloc(settings->most / here->rack.block, sizeof *here->latencies);
    enum status status =
        here->slots && here->latencies ? find_inputs(here) : fail_memory("a plugin");
    for (size_t i = 0; status == STATUS_OK && i < settings->instances; i++)
        status = fill_slot(&here->slots[i], info, &settings->plugin);
    if (status != STATUS_OK) {
        close_rack(&here->rack);
        return status;
    }
    make_changes(here, &changes, changes + count, SIZE_MAX);
    reset(&here->rack); /* some make their buffers by a value, and only then */
    const char *trouble = here->slots[0].plugin->trouble;
    if (trouble) {
        status = fail(STATUS_FAILED, "%s", trouble);
        close_rack(&here->rack);
        return status;
    }
    here->rack.values = here->slots[0].plugin->controls;
    here->rack.latencies = here->latencies;
    *rack = &here->rack;
    return STATUS_OK;
}
