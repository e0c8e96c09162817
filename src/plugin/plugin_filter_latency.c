/* What latency a plugin will tell: found out by an instance of its own. */
#include "plugin/plugin_filter_state.h"

#include <stdlib.h>

enum {
    PROBE_BLOCKS = 8,  /* of silence, before a latency is believed */
    PROBE_POINTS = 64, /* of automation that are tried */
};
static const double PROBE_SECONDS = 0.25;

static bool reports_latency(const struct plugin_info *info)
{
    for (size_t i = 0; i < info->port_count; i++)
        if (info->ports[i].is_latency)
            return true;
    return false;
}

struct probe {
    struct plugin_instances *instances;
    size_t piece;
    const float **in;
    struct block out;
    uint64_t most;
    uint64_t last;
    size_t blocks;  /* heard */
    size_t settled; /* after how many of them the latency changed last */
};

static void look(struct probe *probe, uint64_t reported)
{
    if (probe->blocks > 0 && reported != probe->last)
        probe->settled = probe->blocks;
    probe->last = reported;
    probe->most = reported > probe->most ? reported : probe->most;
    probe->blocks++;
}

static void feed_silence(struct probe *probe, size_t frames, const struct plugin_change *first)
{
    for (size_t at = 0; at < frames && !probe->instances->failure; at += probe->piece) {
        probe->instances->kind->process(probe->instances, probe->in, probe->out.data, probe->piece, first,
                                   at == 0 && first ? 1 : 0);
        for (size_t i = 0; i < probe->piece / probe->instances->block; i++)
            look(probe, probe->instances->latencies[i]);
    }
}

static void try_values(struct probe *probe, struct plugin_filter *plugin)
{
    const struct plugin_filter_settings *settings = &plugin->settings;
    const struct automation *automation = &settings->spec->automation;
    struct plugin_latency *latency = &plugin->latency;
    size_t few = PROBE_BLOCKS * probe->instances->block;
    size_t many = (size_t)(PROBE_SECONDS * settings->rate);
    feed_silence(probe, many > few ? many : few, NULL);
    if (latency->settled < probe->last)
        latency->settled = probe->last;
    if (probe->settled > 0 && !settings->live && !settings->replayed)
        plugin->prelude = (probe->settled + 1) * probe->instances->block;
    for (size_t i = 0; i < automation->count && i < PROBE_POINTS; i++) {
        struct plugin_change value = {.port = automation->points[i].target,
                                      .value = automation->points[i].value};
        feed_silence(probe, few, &value);
    }
    if (latency->most < probe->most)
        latency->most = probe->most;
}

/* It runs as in a file, whose plugins are waited for. */
enum status plugin_filter_find_latency(struct plugin_filter *plugin, size_t block)
{
    const struct plugin_map *map = plugin->settings.map;
    struct probe probe = {.piece = plugin->piece};
    plugin->latency = plugin->settings.latency;
    plugin->reports_latency =
        !plugin->settings.map->is_beside && reports_latency(plugin->settings.info);
    if (!plugin->reports_latency)
        return STATUS_OK;
    enum status status = plugin_filter_open_instances(plugin, block, false, &probe.instances);
    if (status == STATUS_OK)
        status = block_init(&probe.out, map->outputs, probe.piece, "a plugin");
    probe.in = calloc(map->count + 1, sizeof *probe.in);
    if (status == STATUS_OK && !probe.in)
        status = fail_memory("a plugin");
    if (status == STATUS_OK) {
        for (size_t i = 0; i < map->count; i++)
            probe.in[i] = plugin->nothing.data[0];
        try_values(&probe, plugin);
        if (probe.instances->failure)
            status = fail(STATUS_FAILED, "cannot run %s: it %s while its latency was looked for",
                          plugin->settings.info->id, probe.instances->failure);
    }
    plugin_instances_close(probe.instances);
    block_free(&probe.out);
    free(probe.in);
    return status;
}
