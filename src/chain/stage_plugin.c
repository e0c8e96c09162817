#include "chain/stage_plugin.h"

#include "plugin/plugin_filter.h"
#include "plugin/plugin_scanner.h"

#include <stdlib.h>
#include <string.h>

static enum status parse_spec(struct stage_plugin *plugin, char **spec,
                              const struct stream_format *format, bool streamed)
{
    const char *map = NULL;
    enum status status = STATUS_OK;
    for (char **word = spec; *word && status == STATUS_OK; word++) {
        if (strncmp(*word, "@map=", 5) == 0)
            map = *word + 5;
        else if (**word == '@' && strncmp(*word, "@state=", 7) != 0)
            status = fail(STATUS_USAGE,
                          "a plugin's stage has the options @mix=, @bypass, @map= and @state=, not "
                          "'%s'",
                          *word);
        else
            status = plugin_spec_take(&plugin->spec, plugin->info, format->rate, *word);
    }
    if (status == STATUS_OK && streamed && plugin->spec.automation.count > 0)
        status = fail(STATUS_USAGE, "at= is for files: a stream has no beginning to count from");
    if (status == STATUS_OK)
        status = plugin_map_init(&plugin->map, plugin->info, format->channels, map);
    return status;
}

enum status stage_plugin_load(struct stage *stage, char **spec, const struct stream_format *format,
                              const struct stage_settings *settings)
{
    const struct plugin_kind *kind = plugin_kind_named(stage->kind->option);
    struct stage_plugin *plugin = calloc(1, sizeof *plugin);
    if (!plugin)
        return fail_memory("a plugin");
    stage->plugin = plugin;
    bool live = settings->convolver.live;
    plugin->isolated = settings->isolate == ISOLATE_AUTO ? !live : settings->isolate == ISOLATE_ON;
    /* Where it may not harm halo, it may not while it is described either. */
    enum status status = plugin->isolated && kind->describing_runs_code
                             ? plugin_describe_isolated(kind, spec[0], &plugin->info)
                             : kind->describe(spec[0], &plugin->info);
    if (status == STATUS_OK)
        status = parse_spec(plugin, spec + 1, format, settings->streamed);
    stage->outputs = plugin->map.outputs;
    return status;
}

static void note_plugin(const struct stage *stage, const struct filter *filter)
{
    struct plugin_filter_info stats = plugin_filter_info(filter);
    note_detail("%s %s: %zu instance%s, blocks of %zu frames, latency %llu frames%s",
                stage->kind->option, stage->plugin->info->id, stats.instances,
                stats.instances == 1 ? "" : "s", stats.block, (unsigned long long)filter->latency,
                stats.isolated ? ", in a process of its own" : "");
}

enum status stage_plugin_create(struct stage *stage, size_t block, struct workers *workers,
                                struct filter **filter)
{
    (void)workers;
    struct plugin_filter_settings settings = {
        .info = stage->plugin->info,
        .map = &stage->plugin->map,
        .spec = &stage->plugin->spec,
        .rate = stage->rate,
        .channels = stage->inputs,
        .block = block,
        .live = stage->live,
        .streamed = stage->streamed,
        .isolated = stage->plugin->isolated,
        .before = stage->before,
        .latency = stage->latency,
        .replayed = stage->replayed,
        .delay = stage->held_back ? block : 0,
    };
    enum status status = plugin_filter_create(&settings, filter);
    if (status == STATUS_OK)
        note_plugin(stage, *filter);
    return status;
}

void stage_plugin_destroy(struct stage_plugin *plugin)
{
    if (!plugin)
        return;
    plugin_spec_free(&plugin->spec);
    plugin_map_free(&plugin->map);
    plugin_info_destroy(plugin->info);
    free(plugin);
}
