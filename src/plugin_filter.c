#include "plugin_filter.h"

#include "plugin_filter_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    BLOCK_MOST = 8192, /* frames of a plugin's block */
    BLOCK_LEAST = 16,  /* of one that is a divisor only */
    PIECE_MOST = 8192, /* frames that a rack gets at a time, in files */
    PROBE_BLOCKS = 8,  /* of silence, before a latency is believed */
    PROBE_POINTS = 64, /* of automation that are tried */
};
static const double PROBE_SECONDS = 0.25;
static const double PATIENCE = 10; /* seconds */

/* ---- blocks ---- */

static bool wants_power_of_two(const struct plugin_info *info)
{
    for (size_t i = 0; i < info->feature_count; i++)
        if (strcmp(info->features[i], "http://lv2plug.in/ns/ext/buf-size#powerOf2BlockLength") == 0)
            return true;
    return false;
}

/* Frames of the plugin's block. */
static size_t cut(const struct plugin_filter_settings *settings)
{
    size_t block = settings->block, divisor = block & -block;
    size_t most = settings->streamed ? BLOCK_MOST : PLUGIN_FILTER_BLOCK;
    if (divisor < BLOCK_LEAST && divisor < block && !wants_power_of_two(settings->info))
        return block;
    return divisor < most ? divisor : most;
}

static size_t piece_of(const struct plugin_filter_settings *settings, size_t block)
{
    if (settings->live || settings->block < PIECE_MOST)
        return settings->block;
    return block < PIECE_MOST ? PIECE_MOST / block * block : block;
}

/* ---- racks ---- */

/* The one place where it is chosen where a plugin runs. */
static enum status open_rack(const struct plugin_filter *plugin, size_t block, bool live,
                             struct plugin_rack **rack)
{
    const struct plugin_filter_settings *settings = &plugin->settings;
    const struct plugin_words *words = settings->words;
    struct plugin_rack_settings wish = {
        .plugin = {.rate = settings->rate,
                   .block = block,
                   .live = live,
                   .preset = words->preset,
                   .setting_count = words->setting_count,
                   .settings = words->settings},
        .instances = settings->map->instances,
        .most = plugin->piece,
        .patience = PATIENCE,
    };
    struct plugin_change *changes = calloc(words->value_count + 1, sizeof *changes);
    if (!changes)
        return fail_memory("a plugin");
    for (size_t i = 0; i < words->value_count; i++)
        changes[i] =
            (struct plugin_change){.port = words->values[i].port, .value = words->values[i].value};
    enum status status = (settings->isolated ? plugin_rack_open_apart : plugin_rack_open)(
        settings->info, changes, words->value_count, &wish, rack);
    free(changes);
    return status;
}

/* ---- latency ---- */

static bool tells_latency(const struct plugin_info *info)
{
    for (size_t i = 0; i < info->port_count; i++)
        if (info->ports[i].is_latency)
            return true;
    return false;
}

struct probe {
    struct plugin_rack *rack;
    size_t piece;
    const float **in;
    struct block out;
    uint64_t most;
    uint64_t last;
    size_t blocks;  /* heard */
    size_t settled; /* after how many of them the latency changed last */
};

static void look(struct probe *probe, uint64_t told)
{
    if (probe->blocks > 0 && told != probe->last)
        probe->settled = probe->blocks;
    probe->last = told;
    probe->most = told > probe->most ? told : probe->most;
    probe->blocks++;
}

static void hear_silence(struct probe *probe, size_t frames, const struct plugin_change *first)
{
    for (size_t at = 0; at < frames && !probe->rack->failure; at += probe->piece) {
        probe->rack->kind->process(probe->rack, probe->in, probe->out.data, probe->piece, first,
                                   at == 0 && first ? 1 : 0);
        for (size_t i = 0; i < probe->piece / probe->rack->block; i++)
            look(probe, probe->rack->latencies[i]);
    }
}

static void try_values(struct probe *probe, struct plugin_filter *plugin)
{
    const struct plugin_filter_settings *settings = &plugin->settings;
    const struct automation *automation = &settings->words->automation;
    struct plugin_latency *latency = &plugin->latency;
    size_t few = PROBE_BLOCKS * probe->rack->block;
    size_t many = (size_t)(PROBE_SECONDS * settings->rate);
    hear_silence(probe, many > few ? many : few, NULL);
    if (latency->settled < probe->last)
        latency->settled = probe->last;
    if (probe->settled > 0 && !settings->live)
        plugin->prelude = (probe->settled + 1) * probe->rack->block;
    for (size_t i = 0; i < automation->count && i < PROBE_POINTS; i++) {
        struct plugin_change value = {.port = automation->points[i].target,
                                      .value = automation->points[i].value};
        hear_silence(probe, few, &value);
    }
    if (latency->most < probe->most)
        latency->most = probe->most;
}

/* What the plugin will tell. It runs as in a file, whose plugins are waited for. */
static enum status find_latency(struct plugin_filter *plugin, size_t block)
{
    const struct plugin_map *map = plugin->settings.map;
    struct probe probe = {.piece = plugin->piece};
    enum status status = open_rack(plugin, block, false, &probe.rack);
    if (status == STATUS_OK)
        status = block_init(&probe.out, map->outputs, probe.piece, "a plugin");
    probe.in = calloc(map->count + 1, sizeof *probe.in);
    if (status == STATUS_OK && !probe.in)
        status = fail_memory("a plugin");
    if (status == STATUS_OK) {
        for (size_t i = 0; i < map->count; i++)
            probe.in[i] = plugin->nothing.data[0];
        try_values(&probe, plugin);
        if (probe.rack->failure)
            status = fail(STATUS_FAILED, "cannot run %s: it %s while its latency was looked for",
                          plugin->settings.info->id, probe.rack->failure);
    }
    plugin_rack_close(probe.rack);
    block_free(&probe.out);
    free(probe.in);
    return status;
}

/* ---- the filter ---- */

static void begin(struct plugin_filter *plugin)
{
    size_t points = plugin->settings.words->automation.count;
    plugin_filter_play_prelude(plugin);
    plugin->position = 0;
    plugin->next = 0;
    plugin->settled = plugin->changed = false;
    memset(plugin->begun, 0, points * sizeof *plugin->begun);
    memset(plugin->done, 0, points * sizeof *plugin->done);
}

static void plugin_filter_reset(struct filter *filter)
{
    struct plugin_filter *plugin = (struct plugin_filter *)filter;
    plugin->rack->kind->reset(plugin->rack);
    plugin_align_reset(&plugin->align);
    atomic_store(&plugin->asked, true); /* what automation has changed goes back */
    begin(plugin);
}

static void plugin_filter_destroy(struct filter *filter)
{
    struct plugin_filter *plugin = (struct plugin_filter *)filter;
    plugin_rack_close(plugin->rack);
    plugin_align_free(&plugin->align);
    block_free(&plugin->nothing);
    block_free(&plugin->aside);
    free(plugin->in);
    free(plugin->out);
    free(plugin->values);
    free(plugin->changes);
    free(plugin->begun);
    free(plugin->done);
    free(plugin->from);
    free(plugin->wanted);
    free(plugin);
}

static const struct filter_kind plugin_filter_kind = {
    .name = "plugin",
    .process = plugin_filter_process,
    .reset = plugin_filter_reset,
    .destroy = plugin_filter_destroy,
};

/* What the step writes into. A step of automation is one change, a ramp one for each block. */
static enum status make_room(struct plugin_filter *plugin, size_t block)
{
    const struct plugin_filter_settings *settings = &plugin->settings;
    const struct automation *automation = &settings->words->automation;
    size_t ports = settings->info->port_count, points = automation->count, changes = ports;
    for (size_t i = 0; i < points; i++)
        changes += automation->points[i].over ? plugin->piece / block : 1;
    plugin->in = calloc(settings->map->count + 1, sizeof *plugin->in);
    plugin->out = calloc(settings->map->outputs, sizeof *plugin->out);
    plugin->values = calloc(ports + 1, sizeof *plugin->values);
    plugin->changes = calloc(changes + 1, sizeof *plugin->changes);
    plugin->begun = calloc(points + 1, sizeof *plugin->begun);
    plugin->done = calloc(points + 1, sizeof *plugin->done);
    plugin->from = calloc(points + 1, sizeof *plugin->from);
    plugin->wanted = calloc(ports + 1, sizeof *plugin->wanted);
    if (!plugin->in || !plugin->out || !plugin->values || !plugin->changes || !plugin->begun ||
        !plugin->done || !plugin->from || !plugin->wanted)
        return fail_memory("a plugin");
    return block_init(&plugin->nothing, 1, plugin->piece, "a plugin");
}

static enum status set_latency(struct plugin_filter *plugin, size_t block)
{
    enum status status = STATUS_OK;
    plugin->latency = plugin->settings.latency;
    if (plugin->tells_latency)
        status = find_latency(plugin, block);
    if (status == STATUS_OK)
        status = plugin_align_init(&plugin->align, plugin->filter.outputs,
                                   (size_t)plugin->latency.most, block);
    if (status == STATUS_OK && plugin->prelude > 0)
        status = block_init(&plugin->aside, plugin->filter.outputs, plugin->piece, "a plugin");
    plugin->filter.latency = plugin->latency.most;
    return status;
}

static void take_values(struct plugin_filter *plugin)
{
    for (size_t i = 0; i < plugin->settings.info->port_count; i++) {
        plugin->values[i] = plugin->rack->values[i];
        atomic_init(&plugin->wanted[i], plugin->rack->values[i]);
    }
}

enum status plugin_filter_create(const struct plugin_filter_settings *settings,
                                 struct filter **result)
{
    struct plugin_filter *plugin = calloc(1, sizeof *plugin);
    if (!plugin)
        return fail_memory("a plugin");
    size_t block = cut(settings);
    plugin->filter = (struct filter){.kind = &plugin_filter_kind,
                                     .inputs = settings->channels,
                                     .outputs = settings->map->outputs,
                                     .block = settings->block,
                                     .tail_unknown = !settings->map->is_beside};
    plugin->settings = *settings;
    plugin->piece = piece_of(settings, block);
    plugin->tells_latency = !settings->map->is_beside && tells_latency(settings->info);
    enum status status = make_room(plugin, block);
    if (status == STATUS_OK)
        status = set_latency(plugin, block);
    if (status == STATUS_OK)
        status = open_rack(plugin, block, settings->live, &plugin->rack);
    if (status != STATUS_OK) {
        plugin_filter_destroy(&plugin->filter);
        return status;
    }
    plugin->filter.latency += plugin->rack->delay;
    take_values(plugin);
    begin(plugin);
    *result = &plugin->filter;
    return STATUS_OK;
}

struct plugin_filter_facts plugin_filter_facts(const struct filter *filter)
{
    const struct plugin_filter *plugin = (const struct plugin_filter *)filter;
    return (struct plugin_filter_facts){.instances = plugin->rack->instances,
                                        .block = plugin->rack->block,
                                        .isolated = plugin->settings.isolated,
                                        .bad = plugin->bad,
                                        .latency = plugin->latency};
}

void plugin_filter_set(struct filter *filter, size_t port, float value)
{
    struct plugin_filter *plugin = (struct plugin_filter *)filter;
    struct plugin_range range =
        plugin_port_range(&plugin->settings.info->ports[port], plugin->settings.rate);
    atomic_store(&plugin->wanted[port], fmaxf(range.minimum, fminf(range.maximum, value)));
    atomic_store(&plugin->asked, true);
}

float plugin_filter_value(const struct filter *filter, size_t port)
{
    return atomic_load(&((const struct plugin_filter *)filter)->wanted[port]);
}

enum status plugin_filter_save(struct filter *filter, const char *folder)
{
    struct plugin_rack *rack = ((struct plugin_filter *)filter)->rack;
    return rack->kind->save(rack, folder);
}
