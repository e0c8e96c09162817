#include "plugin/plugin_filter.h"

#include "plugin/plugin_filter_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    BLOCK_MOST = 8192, /* frames of a plugin's block */
    BLOCK_LEAST = 16,  /* where it divides the block of the filter */
    PIECE_MOST = 8192, /* frames that the instances get at a time, in files */
};
static const double PATIENCE = 10, PATIENCE_LIVE = 2; /* seconds */

static const uint64_t TAIL_MOST = INT32_MAX; /* frames; longer ones are endless */

enum {
    PROBE_BLOCKS = 8,  /* of silence, before a latency counts */
    PROBE_POINTS = 64, /* points of automation that are tried */
};
static const double PROBE_SECONDS = 0.25;

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

/* ---- instances ---- */

/* In a piece: those asked for, the first and last of each point, and the steps of ramps, of which
 * those of one port do not overlap. */
static size_t changes_most(const struct plugin_filter *plugin)
{
    const struct automation *automation = &plugin->settings.spec->automation;
    size_t ports = plugin->settings.info->port_count, ramps = 0;
    for (size_t i = 0; i < automation->count; i++)
        ramps += automation->points[i].over > 0;
    return ports + 2 * automation->count +
           (ramps < ports ? ramps : ports) * (plugin->piece / PLUGIN_FILTER_STEP + 1);
}

/* The only place that knows where the plugin runs. */
static enum status open_instances(const struct plugin_filter *plugin, size_t block, bool live,
                                  struct plugin_instances **instances)
{
    const struct plugin_filter_settings *settings = &plugin->settings;
    const struct plugin_spec *spec = settings->spec;
    struct plugin_instances_settings request = {
        .plugin = {.rate = settings->rate,
                   .block = block,
                   .live = live,
                   .tempo = settings->tempo,
                   .varied = plugin->exact && spec->automation.count > 0,
                   .preset = spec->preset,
                   .state = spec->state,
                   .setting_count = spec->setting_count,
                   .settings = spec->settings,
                   .read_count = spec->read_count,
                   .reads = spec->reads},
        .instances = settings->map->instances,
        .most = plugin->piece,
        .changes = changes_most(plugin),
        .patience = live ? PATIENCE_LIVE : PATIENCE,
    };
    struct plugin_change *changes = calloc(spec->value_count + 1, sizeof *changes);
    if (!changes)
        return fail_memory("a plugin");
    for (size_t i = 0; i < spec->value_count; i++)
        changes[i] =
            (struct plugin_change){.port = spec->values[i].port, .value = spec->values[i].value};
    enum status status =
        (settings->isolated ? plugin_instances_open_isolated : plugin_instances_open)(
            settings->info, changes, spec->value_count, &request, instances);
    free(changes);
    return status;
}

/* ---- latency, found with a separate instance ---- */

struct latency_probe {
    struct plugin_instances *instances;
    size_t piece;
    const float **in;
    struct block out;
    uint64_t most;
    uint64_t last;
    size_t blocks;  /* done */
    size_t settled; /* blocks before the last change of the latency */
};

static void note_latency(struct latency_probe *probe, uint64_t reported)
{
    if (probe->blocks > 0 && reported != probe->last)
        probe->settled = probe->blocks;
    probe->last = reported;
    probe->most = reported > probe->most ? reported : probe->most;
    probe->blocks++;
}

static void feed_silence(struct latency_probe *probe, size_t frames,
                         const struct plugin_change *first)
{
    probe->instances->position = -(int64_t)probe->piece; /* before the sound */
    for (size_t at = 0; at < frames && !probe->instances->failure; at += probe->piece) {
        probe->instances->kind->process(probe->instances, probe->in, probe->out.data, probe->piece,
                                        first, at == 0 && first ? 1 : 0);
        for (size_t i = 0; i < probe->instances->run_count; i++)
            note_latency(probe, probe->instances->runs[i].latency);
    }
}

static void try_values(struct latency_probe *probe, struct plugin_filter *plugin)
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
                                      .value = (float)automation->points[i].value};
        feed_silence(probe, few, &value);
    }
    if (latency->most < probe->most)
        latency->most = probe->most;
}

/* Not live, so that the plugin is waited for. */
static enum status find_latency(struct plugin_filter *plugin, size_t block)
{
    const struct plugin_map *map = plugin->settings.map;
    struct latency_probe probe = {.piece = plugin->piece, .in = plugin->in};
    plugin->latency = plugin->settings.latency;
    for (size_t i = 0; i < plugin->settings.info->port_count; i++)
        plugin->reports_latency |= !map->is_beside && plugin->settings.info->ports[i].is_latency;
    if (!plugin->reports_latency)
        return STATUS_OK;
    enum status status;
    if (!(status = open_instances(plugin, block, false, &probe.instances)) &&
        !(status = block_init(&probe.out, map->outputs, probe.piece, "a plugin"))) {
        for (size_t i = 0; i < map->count; i++)
            plugin->in[i] = plugin->nothing.data[0];
        try_values(&probe, plugin);
        if (probe.instances->failure)
            status = fail(CAUSE_OTHER, "cannot run %s: it %s while its latency was measured",
                          plugin->settings.info->id, probe.instances->failure);
    }
    plugin_instances_close(probe.instances);
    block_free(&probe.out);
    return status;
}

/* ---- the filter ---- */

static void begin(struct plugin_filter *plugin)
{
    size_t points = plugin->settings.spec->automation.count;
    plugin_filter_play_prelude(plugin);
    plugin->position = 0;
    plugin->next = 0;
    plugin->settled = plugin->changed = false;
    memset(plugin->points, 0, points * sizeof *plugin->points);
}

static void plugin_filter_reset(struct filter *filter)
{
    struct plugin_filter *plugin = (struct plugin_filter *)filter;
    plugin->instances->kind->reset(plugin->instances);
    block_silence(&plugin->align.ring, 0, plugin->align.ring.frames);
    plugin->align.at = 0;
    atomic_store(&plugin->has_request, true); /* undo the automation */
    begin(plugin);
}

static void plugin_filter_destroy(struct filter *filter)
{
    struct plugin_filter *plugin = (struct plugin_filter *)filter;
    plugin_instances_close(plugin->instances);
    block_free(&plugin->align.ring);
    block_free(&plugin->nothing);
    block_free(&plugin->side);
    block_free(&plugin->aside);
    free(plugin->in);
    free(plugin->out);
    free(plugin->values);
    free(plugin->changes);
    free(plugin->points);
    free(plugin->requested);
    free(plugin);
}

static const struct filter_kind plugin_filter_kind = {
    .name = "plugin",
    .process = plugin_filter_process,
    .reset = plugin_filter_reset,
    .destroy = plugin_filter_destroy,
};

/* The buffers of the step. */
static enum status make_buffers(struct plugin_filter *plugin)
{
    const struct plugin_filter_settings *settings = &plugin->settings;
    const struct automation *automation = &settings->spec->automation;
    size_t ports = settings->info->port_count, points = automation->count;
    plugin->in = calloc(settings->map->count + 1, sizeof *plugin->in);
    plugin->out = calloc(settings->map->outputs, sizeof *plugin->out);
    plugin->values = calloc(ports + 1, sizeof *plugin->values);
    plugin->changes = calloc(changes_most(plugin) + 1, sizeof *plugin->changes);
    plugin->points = calloc(points + 1, sizeof *plugin->points);
    plugin->requested = calloc(ports + 1, sizeof *plugin->requested);
    if (!plugin->in || !plugin->out || !plugin->values || !plugin->changes || !plugin->points ||
        !plugin->requested)
        return fail_memory("a plugin");
    if (settings->side)
        TRY(block_init(&plugin->side, settings->side->channels, plugin->piece, "a plugin"));
    return block_init(&plugin->nothing, 1, plugin->piece, "a plugin");
}

static enum status set_latency(struct plugin_filter *plugin, size_t block)
{
    TRY(find_latency(plugin, block));
    size_t latency = plugin->align.latency = (size_t)plugin->latency.most;
    if (latency > 0)
        TRY(block_init(&plugin->align.ring, plugin->filter.outputs, latency + block, "a plugin"));
    if (plugin->prelude > 0)
        TRY(block_init(&plugin->aside, plugin->filter.outputs, plugin->piece, "a plugin"));
    plugin->filter.latency = plugin->align.latency;
    return STATUS_OK;
}

/* A reported tail is exact, as long as no value changes. One of 0 is no promise: many plugins
 * answer 0 where they have not thought of it. */
static void set_tail_length(struct plugin_filter *plugin)
{
    uint64_t tail = plugin->instances->tail;
    if (plugin->settings.map->is_beside || tail == 0 || tail > TAIL_MOST)
        return;
    plugin->filter.tail = tail;
    plugin->filter.tail_unknown = plugin->settings.spec->automation.count > 0;
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
    plugin->exact = plugin_is_exact(settings->info);
    enum status status;
    if ((status = make_buffers(plugin)) || (status = set_latency(plugin, block)) ||
        (status = open_instances(plugin, block, settings->live, &plugin->instances))) {
        plugin_filter_destroy(&plugin->filter);
        return status;
    }
    set_tail_length(plugin);
    for (size_t i = 0; i < settings->info->port_count; i++) {
        plugin->values[i] = plugin->instances->values[i];
        atomic_init(&plugin->requested[i], plugin->instances->values[i]);
    }
    begin(plugin);
    *result = &plugin->filter;
    return STATUS_OK;
}

struct plugin_filter_info plugin_filter_info(const struct filter *filter)
{
    const struct plugin_filter *plugin = (const struct plugin_filter *)filter;
    return (struct plugin_filter_info){.instances = plugin->instances->instances,
                                       .block = plugin->instances->block,
                                       .isolated = plugin->settings.isolated,
                                       .bad = plugin->bad,
                                       .missed = plugin->instances->late,
                                       .latency = plugin->latency};
}

void plugin_filter_set(struct filter *filter, size_t port, float value)
{
    struct plugin_filter *plugin = (struct plugin_filter *)filter;
    struct plugin_range range =
        plugin_port_range(&plugin->settings.info->ports[port], plugin->settings.rate);
    atomic_store(&plugin->requested[port], fmaxf(range.minimum, fminf(range.maximum, value)));
    atomic_store(&plugin->has_request, true);
}

float plugin_filter_value(const struct filter *filter, size_t port)
{
    return atomic_load(&((const struct plugin_filter *)filter)->requested[port]);
}

enum status plugin_filter_confirm(struct filter *filter)
{
    struct plugin_instances *instances = ((struct plugin_filter *)filter)->instances;
    return instances->kind->confirm ? instances->kind->confirm(instances) : STATUS_OK;
}

enum status plugin_filter_save(struct filter *filter, const char *folder)
{
    struct plugin_instances *instances = ((struct plugin_filter *)filter)->instances;
    return instances->kind->save(instances, folder);
}
