/* The stages that are plugins: --lv2, --ladspa, --clap and --vst3. */
#include "base/json_text.h"
#include "base/plural.h"
#include "chain/stage_paths.h"
#include "chain/stages.h"
#include "plugin/isolation/plugin_isolated.h"
#include "plugin/isolation/plugin_reads.h"
#include "plugin/plugin_map.h"
#include "plugin/scan/plugin_catalog.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct stage_plugin {
    struct plugin_info *info;
    struct plugin_spec spec;
    struct plugin_map map;
    struct plugin_side_chain side;
    bool isolated;
    bool allow_loud;
};

static const char SIDE[] = "@sidechain=";

static enum status parse_args(struct stage *stage, char **spec, const struct stream_format *format)
{
    struct stage_plugin *plugin = stage->data;
    struct plugin_map_settings map = {0};
    for (char **word = spec; *word; word++) {
        if (strncmp(*word, "@map=", 5) == 0)
            map.map = *word + 5;
        else if (strncmp(*word, SIDE, strlen(SIDE)) == 0)
            TRY(plugin_side_chain_open(&plugin->side, *word + strlen(SIDE), format->rate,
                                       stage->settings.allow_truncated,
                                       stage->settings.convolver.live));
        else if (strcmp(*word, "@allow-loud") == 0)
            plugin->allow_loud = true;
        else if (**word == '@' && strncmp(*word, "@state=", 7) != 0 &&
                 strncmp(*word, "@reads=", 7) != 0)
            return fail(CAUSE_USAGE,
                        "a plugin has the options @mix=, @wet=, @bypass, @map=, @sidechain=, "
                        "@allow-loud, @state= and @reads=, not '%s'",
                        *word);
        else
            TRY(plugin_spec_take(&plugin->spec, plugin->info, stage_time(stage), *word));
    }
    stage->automated |= plugin_spec_is_automated(&plugin->spec);
    map.side_chain = plugin->side.channels ? NULL : plugin->side.text;
    map.side_channels = plugin->side.channels;
    return plugin_map_init(&plugin->map, plugin->info, format->channels, &map);
}

/* The paths that the user named for the plugin, with `state` instead of the spec's state. */
static enum status named_with(const struct stage_plugin *plugin, const char *state, char ***named)
{
    const struct plugin_spec *spec = &plugin->spec;
    const struct plugin_settings settings = {.preset = spec->preset,
                                             .state = state,
                                             .setting_count = spec->setting_count,
                                             .settings = spec->settings,
                                             .read_count = spec->read_count,
                                             .reads = spec->reads};
    return isolated_named_make(plugin->info->id, &settings, named);
}

static enum status check_state(const struct stage_plugin *plugin)
{
    char **named;
    TRY(named_with(plugin, plugin->spec.state, &named));
    enum status status = plugin_spec_check_state(&plugin->spec, named);
    isolated_named_free(named);
    return status;
}

static bool has_map(char *const *spec)
{
    while (*spec && strncmp(*spec, "@map=", 5) != 0)
        spec++;
    return *spec;
}

/* Describe the plugin. If the sound has another number of channels, the plugin may take as many.
 * One channel goes to both sides of a stereo plugin, as with the other kinds. */
static enum status describe(const struct plugin_kind *kind, char *const *spec, size_t channels,
                            struct plugin_info **info)
{
    struct plugin_info *wider = NULL;
    char *id;
    TRY(plugin_describe_isolated(kind, spec[0], info));
    size_t inputs = plugin_instances_inputs(*info);
    if (!kind->adapts || inputs < 2 || channels == inputs || (inputs == 2 && channels == 1) ||
        has_map(spec))
        return STATUS_OK;
    if (asprintf(&id, "%s#%zu", spec[0], channels) < 0)
        return fail_memory("a plugin");
    enum status status = plugin_describe_isolated(kind, id, &wider);
    free(id);
    TRY(status);
    if (plugin_instances_inputs(wider) == channels) {
        plugin_info_destroy(*info);
        *info = wider;
    } else {
        plugin_info_destroy(wider);
    }
    return STATUS_OK;
}

/* Load the spec. The option of the stage is the name of the plugin's kind. */
static enum status stage_plugin_load(struct stage *stage, char **spec,
                                     const struct stream_format *format)
{
    const struct plugin_kind *kind = plugin_kind_named(stage->ops->option);
    struct stage_plugin *plugin = stage->data = calloc(1, sizeof *plugin);
    if (!plugin)
        return fail_memory("a plugin");
    plugin->isolated = stage->settings.isolate == ISOLATE_ON;
    if (!plugin->isolated)
        plugin_sandbox_hide_display();
    TRY(describe(kind, spec, format->channels, &plugin->info));
    TRY(plugin_usable(plugin->info));
    TRY(parse_args(stage, spec + 1, format));
    TRY(check_state(plugin));
    stage->outputs = plugin->map.outputs;
    return STATUS_OK;
}

static void stage_plugin_destroy(void *data)
{
    struct stage_plugin *plugin = data;
    if (!plugin)
        return;
    plugin_spec_free(&plugin->spec);
    plugin_map_free(&plugin->map);
    plugin_side_chain_close(&plugin->side);
    plugin_info_destroy(plugin->info);
    free(plugin);
}

static enum status stage_plugin_create(struct stage *stage, size_t block, struct workers *workers,
                                       struct filter **filter)
{
    (void)workers;
    struct stage_plugin *plugin = stage->data;
    struct plugin_filter_settings settings = {
        .info = plugin->info,
        .map = &plugin->map,
        .spec = &plugin->spec,
        .side = plugin->side.channels ? &plugin->side : NULL,
        .tempo = stage->settings.tempo,
        .rate = stage->rate,
        .channels = stage->inputs,
        .block = block,
        .live = stage->settings.convolver.live,
        .streamed = stage->settings.streamed,
        .isolated = plugin->isolated,
        .allow_loud = plugin->allow_loud,
        .before = stage->before,
        .latency = stage->latency,
        .replayed = stage->settings.replayed,
    };
    TRY(plugin_filter_create(&settings, filter));
    struct plugin_filter_info stats = plugin_filter_info(*filter);
    note_detail("%s %s: %zu instance%s, blocks of %zu frames, latency %llu frames%s",
                stage->ops->option, plugin->info->id, stats.instances, plural_s(stats.instances),
                stats.block, (unsigned long long)(*filter)->latency,
                stats.isolated ? ", in a separate process" : "");
    return STATUS_OK;
}

static void stage_plugin_describe(const struct stage *stage, struct stage_info *info)
{
    const struct stage_plugin *plugin = stage->data;
    info->id = plugin->info->id;
    info->name = plugin->info->name;
    info->gain = NAN;
    info->keeps_state = plugin->info->keeps_state;
}

/* Note if the user has lessened the plugin's isolation. */
static void report_containment(const struct stage_plugin *plugin)
{
    if (!plugin->isolated)
        note("%s ran in halo's own process (--no-isolate): nothing contained it", plugin->info->id);
    else if (plugin->isolated && plugin_sandbox_is_off())
        note("%s ran without a sandbox (--no-sandbox)", plugin->info->id);
}

/* The parts of the sandbox in which the plugin ran. */
static json_t *containment_json(const struct stage_plugin *plugin)
{
    json_t *names = json_array();
    unsigned part, parts = plugin->isolated ? plugin_sandbox_parts() : 0;
    const char *name;
    for (size_t i = 0; (name = plugin_sandbox_part_name(i, &part)) != NULL; i++)
        if (parts & part)
            json_array_append_new(names, json_string(name));
    return names;
}

static void stage_plugin_report(const struct stage *stage)
{
    const struct stage_plugin *plugin = stage->data;
    struct plugin_filter_info stats = plugin_filter_info(stage->filter);
    const char *id = plugin->info->id;
    report_containment(plugin);
    if (stats.bad > 0)
        warning("%s: %llu invalid sample%s (NaN or infinite) silenced", id,
                (unsigned long long)stats.bad, plural_s(stats.bad));
    if (plugin->spec.automation.count > 0 && !plugin_is_exact(plugin->info))
        note("%s: its values changed every %zu frames, since the plugin needs blocks of one length",
             id, stats.block);
    if (stats.missed > 0)
        warning("%s: %llu block%s late: the dry sound was heard", id,
                (unsigned long long)stats.missed, plural_s(stats.missed));
}

static json_t *stage_plugin_report_json(const struct stage *stage)
{
    const struct stage_plugin *plugin = stage->data;
    const struct filter *filter = stage->filter;
    struct plugin_filter_info stats = plugin_filter_info(filter);
    return json_pack("{s:o, s:I, s:I, s:b, s:o, s:I, s:I, s:I, s:o?}", "name",
                     json_text(plugin->info->name), "instances", (json_int_t)stats.instances,
                     "block", (json_int_t)stats.block, "isolated", stats.isolated, "sandbox",
                     containment_json(plugin), "late", (json_int_t)filter->late, "bad_samples",
                     (json_int_t)stats.bad, "missed_blocks", (json_int_t)stats.missed, "failure",
                     filter->failure ? json_text(filter->failure) : NULL);
}

static void stage_plugin_keep_latency(struct stage *stage)
{
    const struct stage_plugin *plugin = stage->data;
    stage->latency = plugin_filter_info(stage->filter).latency;
    if (stage->filter->late > 0)
        note("%s reports a latency of %llu frames late in the file: rendering again from the start",
             plugin->info->id, (unsigned long long)stage->latency.most);
}

/* Find the path of a side chain. A file with a name like a list of channels needs its folder. */
static bool side_path_in(const char *word, struct stage_path *path)
{
    if (plugin_side_chain_is_list(word + strlen(SIDE)) ||
        !stage_path_rest(path, word, strlen(SIDE), STAGE_PATH_FILE))
        return false;
    path->slashed = strchr(word, '/') != NULL;
    return true;
}

/* Paths are in @state=FOLDER, @reads=PATH, @sidechain=FILE, and perhaps in param:URI=PATH. */
static bool stage_plugin_path_in(char *const *spec, size_t word, size_t from,
                                 struct stage_path *path)
{
    const char *text = spec[word],
               *value = strncmp(text, "param:", 6) == 0 ? strchr(text, '=') : NULL;
    if (from > 0 || word == 0)
        return false;
    if (strncmp(text, "@state=", 7) == 0)
        return stage_path_rest(path, text, 7, STAGE_PATH_STATE);
    if (strncmp(text, "@reads=", 7) == 0)
        return stage_path_rest(path, text, 7, STAGE_PATH_FILE);
    if (strncmp(text, SIDE, strlen(SIDE)) == 0)
        return side_path_in(text, path);
    if (!value || !stage_path_rest(path, text, (size_t)(value + 1 - text), STAGE_PATH_FILE))
        return false;
    path->perhaps = true;
    return true;
}

/* In LIBRARY:LABEL, a library with a folder is a path. */
static bool stage_ladspa_path_in(char *const *spec, size_t word, size_t from,
                                 struct stage_path *path)
{
    if (from > 0 || word > 0)
        return stage_plugin_path_in(spec, word, from, path);
    const char *end = spec[0];
    while (*end && *end != ':')
        end += end[0] == '\\' && end[1] == ':' ? 2 : 1;
    *path = (struct stage_path){
        .length = (size_t)(end - spec[0]), .use = STAGE_PATH_LIBRARY, .quoted = ':'};
    return *end && memchr(spec[0], '/', path->length);
}

/* Find the path in preset=FILE, which needs a slash; names of presets do not. */
static bool preset_path_in(const char *word, struct stage_path *path)
{
    static const char name[] = "preset=";
    if (strncmp(word, name, sizeof name - 1) != 0)
        return false;
    size_t start, length = plugin_spec_preset_path(word + sizeof name - 1, &start);
    *path = (struct stage_path){.start = sizeof name - 1 + start,
                                .length = length,
                                .use = STAGE_PATH_FILE,
                                .perhaps = true,
                                .slashed = true};
    return memchr(word + path->start, '/', length) != NULL;
}

/* In LIBRARY.clap:ID and BUNDLE.vst3, a library with a folder is a path. It ends `ending` bytes
 * behind the beginning of `mark`. */
static bool library_path_in(char *const *spec, size_t word, size_t from, const char *mark,
                            size_t ending, struct stage_path *path)
{
    if (from == 0 && word > 0 && preset_path_in(spec[word], path))
        return true;
    if (from > 0 || word > 0)
        return stage_plugin_path_in(spec, word, from, path);
    const char *end = strstr(spec[0], mark);
    *path = (struct stage_path){.length = end ? (size_t)(end - spec[0]) + ending : 0,
                                .use = STAGE_PATH_LIBRARY,
                                .slashed = true};
    return memchr(spec[0], '/', path->length);
}

static bool stage_clap_path_in(char *const *spec, size_t word, size_t from, struct stage_path *path)
{
    return library_path_in(spec, word, from, ".clap:", strlen(".clap"), path);
}

static bool stage_vst3_path_in(char *const *spec, size_t word, size_t from, struct stage_path *path)
{
    return library_path_in(spec, word, from, ".vst3", strlen(".vst3"), path);
}

static enum status stage_plugin_links(const struct stage *stage, const char *folder,
                                      enum status (*found)(void *context, const char *link,
                                                           const char *target),
                                      void *context)
{
    struct plugin_reads reads;
    char **named;
    TRY(named_with(stage->data, folder, &named));
    enum status status = plugin_reads_init(&reads, named);
    isolated_named_free(named);
    TRY(status);
    status = plugin_state_links(folder, &reads, found, context);
    plugin_reads_free(&reads);
    return status;
}

static const struct plugin_info *stage_plugin_ports(const struct stage *stage)
{
    return ((const struct stage_plugin *)stage->data)->info;
}

static const struct stage_control_ops controls = {
    .ports = stage_plugin_ports, .value = plugin_filter_value, .set = plugin_filter_set};

#define FILES(PATH_IN)                                                                             \
    .files = &(const struct stage_file_ops)                                                        \
    {                                                                                              \
        .path_in = PATH_IN, .save = plugin_filter_save, .links = stage_plugin_links                \
    }

#define PLUGIN_OPS                                                                                 \
    .may_fail = true, .one_at_a_time = true, .grain = PLUGIN_FILTER_BLOCK,                         \
    .load = stage_plugin_load, .destroy = stage_plugin_destroy, .create = stage_plugin_create,     \
    .describe = stage_plugin_describe, .report = stage_plugin_report,                              \
    .report_json = stage_plugin_report_json, .keep_latency = stage_plugin_keep_latency,            \
    .confirm = plugin_filter_confirm, .controls = &controls

const struct stage_ops stage_lv2_ops = {
    .option = "lv2",
    .argument = "URI",
    .help = "an LV2 plugin (see halo plugins list). Options follow after\n"
            "commas: SYMBOL=VALUE of a control (-6dB, 1kHz, a label, on),\n"
            "preset=URI, param:URI=VALUE of a parameter or a path,\n"
            "@state=FOLDER saved by --save-chain, @reads=PATH that it may read,\n"
            "at=12.5s:SYMBOL=VALUE and at=10s-12.5s:SYMBOL=VALUE, a step and\n"
            "a ramp in a file; @map=each or 1:2:0, the channels of its\n"
            "inputs; @sidechain=3:4 or FILE; @allow-loud: output that is\n"
            "absurd does not end it. For all stages: @mix=0..1 (a share),\n"
            "@wet=DB (beside all of the input) and @bypass",
    FILES(stage_plugin_path_in),
    PLUGIN_OPS,
};

const struct stage_ops stage_ladspa_ops = {
    .option = "ladspa",
    .argument = "LIBRARY:LABEL",
    .help = "a LADSPA plugin; options as for --lv2, without presets and\n"
            "parameters",
    FILES(stage_ladspa_path_in),
    PLUGIN_OPS,
};

const struct stage_ops stage_clap_ops = {
    .option = "clap",
    .argument = "ID",
    .help = "a CLAP plugin, or LIBRARY.clap:ID; options as for --lv2, without\n"
            "parameters",
    FILES(stage_clap_path_in),
    PLUGIN_OPS,
};

const struct stage_ops stage_vst3_ops = {
    .option = "vst3",
    .argument = "NAME",
    .help = "a VST3 plugin: NAME of its bundle, or PATH.vst3, with :CLASS behind\n"
            "if the bundle has several; options as for --lv2, without\n"
            "parameters; preset=FILE.vstpreset",
    FILES(stage_vst3_path_in),
    PLUGIN_OPS,
};
