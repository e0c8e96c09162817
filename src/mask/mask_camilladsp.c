/* Configurations of CamillaDSP, versions 0.6 to 4: the pipeline of filters, mixers and processors.
 *
 * All that is linear and does not follow a control is supported; the rest is refused, unless it is
 * bypassed or unused. */
#include "mask/mask_camilladsp.h"

#include "base/plural.h"
#include "mask/mask_eqapo.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { STEPS_MOST = 1000 };

struct camilladsp_named {
    char name[CAMILLADSP_NAME_MOST];
    const yaml_node_t *node;
};

static enum status parse_source(struct camilladsp *dsp, const yaml_node_t *source, size_t in,
                                double *row)
{
    uint64_t channel = UINT64_MAX;
    double factor = 0;
    camilladsp_at(dsp, source);
    TRY(camilladsp_count(dsp, source, "channel", &channel));
    TRY(camilladsp_gain(dsp, source, &factor));
    TRY(camilladsp_check_keys(dsp, source));
    if (channel >= in)
        return mask_config_refuse(dsp->config, "a source must be a channel from 0 to %zu", in - 1);
    row[channel] += factor;
    return STATUS_OK;
}

static enum status parse_mapping(struct camilladsp *dsp, const yaml_node_t *mapping, size_t in,
                                 size_t out, double *gains)
{
    uint64_t dest = UINT64_MAX;
    bool mute = false;
    const yaml_node_t *source;
    camilladsp_at(dsp, mapping);
    TRY(camilladsp_count(dsp, mapping, "dest", &dest));
    TRY(camilladsp_bool(dsp, mapping, "mute", &mute));
    const yaml_node_t *sources = camilladsp_get(dsp, mapping, "sources");
    TRY(camilladsp_check_keys(dsp, mapping));
    if (dest >= out)
        return mask_config_refuse(dsp->config, "dest: must be a channel from 0 to %zu", out - 1);
    if (!camilladsp_is_list(sources))
        return mask_config_refuse(dsp->config, "a mapping has no sources:");
    if (mute)
        return STATUS_OK;
    for (size_t i = 0; (source = camilladsp_item(dsp, sources, i)); i++)
        TRY(parse_source(dsp, source, in, gains + dest * in));
    return STATUS_OK;
}

static enum status mix(struct camilladsp *dsp, const yaml_node_t *mixer, const char *name)
{
    static const char *const others[] = {"labels", NULL};
    uint64_t in = 0, out = 0;
    size_t outputs = mask_matrix_outputs(dsp->config->matrix);
    const yaml_node_t *channels = camilladsp_get(dsp, mixer, "channels");
    const yaml_node_t *mappings = camilladsp_get(dsp, mixer, "mapping"), *mapping;
    camilladsp_at(dsp, mixer);
    TRY(camilladsp_count(dsp, channels, "in", &in));
    TRY(camilladsp_count(dsp, channels, "out", &out));
    camilladsp_know(dsp, mixer, others);
    TRY(camilladsp_check_keys(dsp, channels));
    TRY(camilladsp_check_keys(dsp, mixer));
    camilladsp_at(dsp, mixer);
    if (in != outputs)
        return mask_config_refuse(
            dsp->config, "mixer %s has %llu input%s, but there %s %zu channel%s", name,
            (unsigned long long)in, plural_s(in), plural_are(outputs), outputs, plural_s(outputs));
    if (out == 0 || out > MATRIX_CHANNELS_MOST)
        return mask_config_refuse(dsp->config, "mixer %s has %llu outputs", name,
                                  (unsigned long long)out);
    if (!camilladsp_is_list(mappings))
        return mask_config_refuse(dsp->config, "mixer %s has no mapping:", name);
    double *gains = calloc((size_t)(in * out), sizeof *gains);
    enum status status = gains ? STATUS_OK : fail_memory("a mask");
    for (size_t i = 0; status == STATUS_OK && (mapping = camilladsp_item(dsp, mappings, i)); i++)
        status = parse_mapping(dsp, mapping, (size_t)in, (size_t)out, gains);
    if (status == STATUS_OK)
        status = mask_matrix_mix(dsp->config->matrix, (size_t)out, gains);
    free(gains);
    return status;
}

/* channel: 0, channels: [0, 1], or neither: all. */
static enum status select_channels(struct camilladsp *dsp, const yaml_node_t *step)
{
    size_t count = mask_matrix_outputs(dsp->config->matrix);
    const yaml_node_t *list = camilladsp_get(dsp, step, "channels");
    const yaml_node_t *one = camilladsp_get(dsp, step, "channel");
    for (size_t c = 0; c < count; c++)
        dsp->is_selected[c] = !list && !one;
    if (list && !camilladsp_is_list(list))
        return camilladsp_refuse_value(dsp, list, "channels", "a list");
    size_t items = list ? (size_t)(list->data.sequence.items.top - list->data.sequence.items.start)
                        : one != NULL;
    for (size_t i = 0; i < items; i++) {
        const yaml_node_t *node = list ? camilladsp_item(dsp, list, i) : one;
        const char *text = camilladsp_text(node);
        uint64_t channel;
        if (!text || !mask_config_count(text, &channel))
            return camilladsp_refuse_value(dsp, node, "channel", "a whole number");
        if (channel >= count)
            return mask_config_refuse(dsp->config, "channel %llu, but there are only %zu",
                                      (unsigned long long)channel, count);
        dsp->is_selected[channel] = true;
    }
    return STATUS_OK;
}

/* How often a mapping has a key; CamillaDSP takes none twice. */
static size_t count_key(struct camilladsp *dsp, const yaml_node_t *mapping, const char *key)
{
    size_t count = 0;
    const yaml_node_pair_t *end = mapping->data.mapping.pairs.top;
    for (const yaml_node_pair_t *pair = mapping->data.mapping.pairs.start; pair < end; pair++) {
        const char *text = camilladsp_text(yaml_document_get_node(&dsp->document, pair->key));
        count += text && strcmp(text, key) == 0;
    }
    return count;
}

/* What a step names: NAME, in the section of that key; `what` it is. */
static enum status find_named(struct camilladsp *dsp, const yaml_node_t *name, const char *section,
                              const char *what, struct camilladsp_named *named)
{
    const yaml_node_t *root = yaml_document_get_root_node(&dsp->document);
    camilladsp_at(dsp, name);
    if (!camilladsp_text(name))
        return mask_config_refuse(dsp->config, "the name of a %s is missing", what);
    TRY(camilladsp_expand(dsp, camilladsp_text(name), named->name));
    const yaml_node_t *all = camilladsp_get(dsp, root, section);
    named->node = camilladsp_get(dsp, all, named->name);
    if (!named->node)
        return mask_config_refuse(dsp->config, "there is no %s %.100s", what, named->name);
    return count_key(dsp, all, named->name) == 1
               ? STATUS_OK
               : mask_config_refuse(dsp->config, "there is more than one %s %.100s", what,
                                    named->name);
}

static enum status filter_step(struct camilladsp *dsp, const yaml_node_t *step)
{
    const yaml_node_t *names = camilladsp_get(dsp, step, "names"), *name;
    struct camilladsp_named filter;
    if (!camilladsp_is_list(names))
        return mask_config_refuse(dsp->config, "a Filter step has no names:");
    TRY(select_channels(dsp, step));
    for (size_t i = 0; (name = camilladsp_item(dsp, names, i)); i++) {
        TRY(find_named(dsp, name, "filters", "filter", &filter));
        TRY(camilladsp_filter(dsp, filter.node, filter.name));
    }
    return STATUS_OK;
}

static enum status mixer_step(struct camilladsp *dsp, const yaml_node_t *step)
{
    struct camilladsp_named mixer;
    TRY(find_named(dsp, camilladsp_get(dsp, step, "name"), "mixers", "mixer", &mixer));
    return mix(dsp, mixer.node, mixer.name);
}

static enum status processor_step(struct camilladsp *dsp, const yaml_node_t *step)
{
    struct camilladsp_named processor;
    TRY(find_named(dsp, camilladsp_get(dsp, step, "name"), "processors", "processor", &processor));
    const char *type = camilladsp_text(camilladsp_get(dsp, processor.node, "type"));
    camilladsp_at(dsp, processor.node);
    if (type && strcmp(type, "RACE") == 0) {
        TRY(camilladsp_race(dsp, camilladsp_get(dsp, processor.node, "parameters")));
        return camilladsp_check_keys(dsp, processor.node);
    }
    char stage[CAMILLADSP_NAME_MOST + 64];
    snprintf(stage, sizeof stage, "processor %.100s, a %.40s,", processor.name, type ? type : "");
    if (type && mask_config_skips(dsp->config, stage))
        return STATUS_OK;
    return mask_config_refuse(dsp->config,
                              "processor %.100s: a %.40s is not linear and cannot be a "
                              "mask; " MASK_CONFIG_SKIP_ADVICE,
                              processor.name, type ? type : "(none)");
}

static enum status parse_step(struct camilladsp *dsp, const yaml_node_t *step)
{
    static const struct {
        const char *type;
        enum status (*parse)(struct camilladsp *dsp, const yaml_node_t *step);
    } steps[] = {{"Filter", filter_step}, {"Mixer", mixer_step}, {"Processor", processor_step}};
    bool bypassed = false;
    camilladsp_at(dsp, step);
    const char *type = camilladsp_text(camilladsp_get(dsp, step, "type"));
    TRY(camilladsp_bool(dsp, step, "bypassed", &bypassed));
    if (bypassed)
        return STATUS_OK;
    for (size_t i = 0; type && i < sizeof steps / sizeof *steps; i++)
        if (strcmp(type, steps[i].type) == 0) {
            TRY(steps[i].parse(dsp, step));
            return camilladsp_check_keys(dsp, step);
        }
    return mask_config_refuse(dsp->config, "a step of the type %.40s cannot be read as a mask",
                              type ? type : "(none)");
}

static enum status run_pipeline(struct camilladsp *dsp, const yaml_node_t *root)
{
    const yaml_node_t *pipeline = camilladsp_get(dsp, root, "pipeline"), *step;
    if (!pipeline)
        return STATUS_OK;
    if (!camilladsp_is_list(pipeline))
        return camilladsp_refuse_value(dsp, pipeline, "pipeline", "a list of steps");
    if (camilladsp_item(dsp, pipeline, STEPS_MOST))
        return mask_config_refuse(dsp->config, "more than %d steps", STEPS_MOST);
    for (size_t i = 0; (step = camilladsp_item(dsp, pipeline, i)); i++)
        TRY(parse_step(dsp, step));
    return STATUS_OK;
}

static enum status parse_devices(struct camilladsp *dsp, const yaml_node_t *root)
{
    const yaml_node_t *devices = camilladsp_get(dsp, root, "devices");
    const yaml_node_t *capture = camilladsp_get(dsp, devices, "capture");
    static const char *const others[] = {"chunksize",
                                         "queuelimit",
                                         "silence_threshold",
                                         "silence_timeout",
                                         "playback",
                                         "target_level",
                                         "enable_rate_adjust",
                                         "adjust_period",
                                         "resampler",
                                         "capture_samplerate",
                                         "stop_on_rate_change",
                                         "rate_measure_interval",
                                         "volume_ramp_time",
                                         "multithreaded",
                                         "worker_threads",
                                         "enable_resampling",
                                         "resampler_type",
                                         NULL};
    uint64_t rate = 0, channels = dsp->config->options->sound.channels;
    double volume = 0;
    camilladsp_at(dsp, devices);
    TRY(camilladsp_count(dsp, devices, "samplerate", &rate));
    TRY(camilladsp_count(dsp, capture, "channels", &channels));
    TRY(camilladsp_number(dsp, devices, "volume_limit", &volume));
    if (volume < 0)
        note("mask %s: volume_limit: %g is not applied, since it follows the volume control",
             dsp->config->file, volume);
    camilladsp_know(dsp, devices, others);
    TRY(camilladsp_check_keys(dsp, devices));
    if (!devices && channels == 0)
        return mask_config_refuse(
            dsp->config, "it has no devices:, which says how many channels it filters; add one, "
                         "such as devices: {samplerate: 48000, capture: {channels: 2}}");
    if (!devices)
        note("mask %s: it has no devices:; it filters the %zu channel%s of the sound",
             dsp->config->file, (size_t)channels, plural_s((size_t)channels));
    if (rate > MASK_RATE_MOST)
        return mask_config_refuse(dsp->config, "samplerate: is at most %d", MASK_RATE_MOST);
    if (channels < 1 || channels > MATRIX_CHANNELS_MOST)
        return mask_config_refuse(dsp->config, "channels: of capture: must be 1 to %d",
                                  MATRIX_CHANNELS_MOST);
    dsp->channels = (size_t)channels;
    if (rate)
        TRY(mask_config_rate(dsp->config, (uint32_t)rate));
    return STATUS_OK;
}

/* CamillaDSP does not start with others. */
static enum status check_playback(struct camilladsp *dsp, const yaml_node_t *root)
{
    uint64_t outputs = mask_matrix_outputs(dsp->config->matrix), channels = outputs;
    const yaml_node_t *devices = camilladsp_get(dsp, root, "devices");
    const yaml_node_t *playback = camilladsp_get(dsp, devices, "playback");
    camilladsp_at(dsp, playback);
    TRY(camilladsp_count(dsp, playback, "channels", &channels));
    return channels == outputs
               ? STATUS_OK
               : mask_config_refuse(dsp->config,
                                    "playback: has %llu channels, but the pipeline ends with %llu",
                                    (unsigned long long)channels, (unsigned long long)outputs);
}

/* A misspelt section would leave out all that is in it. */
static enum status check_sections(struct camilladsp *dsp, const yaml_node_t *root)
{
    static const char *const others[] = {"filters", "mixers", "processors", "title", NULL};
    camilladsp_know(dsp, root, others);
    return camilladsp_check_keys(dsp, root);
}

static enum status read_document(struct camilladsp *dsp, struct mask **mask)
{
    TRY(camilladsp_merge(dsp));
    const yaml_node_t *root = yaml_document_get_root_node(&dsp->document);
    dsp->is_known = calloc((size_t)(dsp->document.nodes.top - dsp->document.nodes.start) + 1,
                           sizeof *dsp->is_known);
    if (!dsp->is_known)
        return fail_memory("a mask");
    dsp->config->second = "."; /* as CamillaDSP has it */
    TRY(parse_devices(dsp, root));
    TRY(mask_matrix_create(dsp->config, dsp->channels, dsp->channels, &dsp->config->matrix));
    TRY(mask_matrix_connect(dsp->config->matrix));
    TRY(run_pipeline(dsp, root));
    TRY(check_sections(dsp, root));
    TRY(check_playback(dsp, root));
    dsp->config->line = 0;
    return mask_matrix_to_mask(dsp->config->matrix, mask);
}

static enum status read_camilladsp(struct mask_config *config, struct mask **mask)
{
    struct camilladsp dsp = {.config = config};
    yaml_parser_t parser;
    enum status status;
    TRY(library_open(&yaml_library));
    if (!yaml_parser_initialize(&parser))
        return fail_memory("a mask");
    yaml_parser_set_input_string(&parser, (const unsigned char *)config->text,
                                 strlen(config->text));
    if (yaml_parser_load(&parser, &dsp.document)) {
        status = read_document(&dsp, mask);
        free(dsp.is_known);
        yaml_document_delete(&dsp.document);
    } else {
        config->line = parser.problem_mark.line + 1;
        status = mask_config_refuse(config, "not YAML: %s",
                                    parser.problem ? parser.problem : "no memory");
    }
    yaml_parser_delete(&parser);
    return status;
}

/* The first line from here that is neither empty nor a remark. */
static const char *skip_remarks(const char *line)
{
    for (;;) {
        const char *word = line + strspn(line, " \t\r");
        if (*word != '#' && *word != '\n')
            return line;
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
}

/* Whether what follows the key of a section is a mapping or a list, in the line or below it. */
static bool holds_items(const char *after)
{
    after += strspn(after, " \t");
    if (*after && strchr("{[&*!", *after))
        return true;
    if (!strchr("#\r\n", *after))
        return false;
    const char *below = skip_remarks(after);
    return strchr(" -", *below) && *below && !eqapo_is_command(below);
}

/* A section with something in it, and no command of Equalizer APO, of which the section's line is
 * a remark ("filters: my set"); names of filters are indented. */
static bool is_camilladsp(const struct mask_config *config)
{
    static const char *const keys[] = {"pipeline:", "filters:", "mixers:", "devices:"};
    bool has_section = false;
    for (const char *line = config->text; *line; line += *line == '\n') {
        if (!strchr(" \t", *line) && eqapo_is_command(line))
            return false;
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
            if (strncmp(line, keys[i], strlen(keys[i])) == 0)
                has_section |= holds_items(line + strlen(keys[i]));
        line += strcspn(line, "\n");
    }
    return has_section;
}

const struct mask_reader mask_reader_camilladsp = {
    .kind = "CamillaDSP configuration",
    .is_my_config = is_camilladsp,
    .read_config = read_camilladsp,
};
