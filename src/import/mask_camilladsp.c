/* Configurations of CamillaDSP, versions 0.6 to 4: the pipeline of filters, mixers and processors.
 * All steps are supported that are linear and do not follow a control. Other steps are refused,
 * unless they are bypassed or unused. */
#include "import/mask_camilladsp.h"

#include "base/plural.h"
#include "import/mask_eqapo.h"
#include "import/yaml_depth.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- nodes and values ---- */

const char *camilladsp_text(const yaml_node_t *node)
{
    return node && node->type == YAML_SCALAR_NODE ? (const char *)node->data.scalar.value : NULL;
}

static bool is_null(const yaml_node_t *node)
{
    const char *text = camilladsp_text(node);
    return text && node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
           (!*text || strcmp(text, "~") == 0 || strcasecmp(text, "null") == 0);
}

yaml_node_t *camilladsp_get(struct camilladsp *dsp, const yaml_node_t *mapping, const char *key)
{
    if (!mapping || mapping->type != YAML_MAPPING_NODE)
        return NULL;
    const yaml_node_pair_t *end = mapping->data.mapping.pairs.top;
    for (const yaml_node_pair_t *pair = mapping->data.mapping.pairs.start; pair < end; pair++) {
        const char *text = camilladsp_text(yaml_document_get_node(&dsp->document, pair->key));
        if (text && strcmp(text, key) == 0) {
            dsp->is_known[pair->key - 1] = true;
            yaml_node_t *value = yaml_document_get_node(&dsp->document, pair->value);
            return is_null(value) ? NULL : value;
        }
    }
    return NULL;
}

/* Marks keys as known that do not matter to a mask. The list ends with NULL. */
static void know(struct camilladsp *dsp, const yaml_node_t *mapping, const char *const *keys)
{
    for (; *keys; keys++)
        (void)camilladsp_get(dsp, mapping, *keys);
}

enum status camilladsp_check_keys(struct camilladsp *dsp, const yaml_node_t *mapping)
{
    if (!mapping || mapping->type != YAML_MAPPING_NODE)
        return STATUS_OK;
    (void)camilladsp_get(dsp, mapping, "description");
    const yaml_node_pair_t *end = mapping->data.mapping.pairs.top;
    for (const yaml_node_pair_t *pair = mapping->data.mapping.pairs.start; pair < end; pair++) {
        const yaml_node_t *key = yaml_document_get_node(&dsp->document, pair->key);
        const char *text = camilladsp_text(key);
        if (dsp->is_known[pair->key - 1])
            continue;
        camilladsp_at(dsp, key);
        return camilladsp_refuse(
            dsp, "'%.40s' is no setting that CamillaDSP has here%s", text ? text : "",
            text && strspn(text, "0123456789") == strlen(text) ? "; decimals follow a point" : "");
    }
    return STATUS_OK;
}

static bool is_list(const yaml_node_t *node)
{
    return node && node->type == YAML_SEQUENCE_NODE;
}

static yaml_node_t *item(struct camilladsp *dsp, const yaml_node_t *list, size_t index)
{
    const yaml_node_item_t *items = list->data.sequence.items.start;
    bool is_there = index < (size_t)(list->data.sequence.items.top - items);
    return is_there ? yaml_document_get_node(&dsp->document, items[index]) : NULL;
}

void camilladsp_at(struct camilladsp *dsp, const yaml_node_t *node)
{
    if (node)
        dsp->config->line = node->start_mark.line + 1;
}

static enum status refuse_value(struct camilladsp *dsp, const yaml_node_t *node, const char *key,
                                const char *kind)
{
    const char *text = camilladsp_text(node);
    camilladsp_at(dsp, node);
    return camilladsp_refuse(dsp, "%s: must be %s, not '%.40s'", key, kind, text ? text : "a list");
}

static enum status read_number(struct camilladsp *dsp, const yaml_node_t *mapping, const char *key,
                               double *value)
{
    const yaml_node_t *node = camilladsp_get(dsp, mapping, key);
    const char *text = camilladsp_text(node);
    if (!node || (text && mask_config_number(text, value)))
        return STATUS_OK;
    return refuse_value(dsp, node, key, "a number");
}

enum status camilladsp_required(struct camilladsp *dsp, const yaml_node_t *mapping, const char *key,
                                double *value)
{
    camilladsp_at(dsp, mapping);
    if (!camilladsp_get(dsp, mapping, key))
        return camilladsp_refuse(dsp, "%s: is missing", key);
    return read_number(dsp, mapping, key, value);
}

enum status camilladsp_numbers(struct camilladsp *dsp, const yaml_node_t *mapping, const char *key,
                               struct mask_values *values)
{
    const yaml_node_t *list = camilladsp_get(dsp, mapping, key), *node;
    if (!list)
        return STATUS_OK;
    camilladsp_at(dsp, list);
    if (!is_list(list))
        return refuse_value(dsp, list, key, "a list");
    for (size_t i = 0; (node = item(dsp, list, i)); i++) {
        double value;
        const char *text = camilladsp_text(node);
        if (!text || !mask_config_number(text, &value))
            return refuse_value(dsp, node, key, "a list of numbers");
        TRY(mask_values_add(values, value));
    }
    return STATUS_OK;
}

enum status camilladsp_count(struct camilladsp *dsp, const yaml_node_t *mapping, const char *key,
                             uint64_t *value)
{
    const yaml_node_t *node = camilladsp_get(dsp, mapping, key);
    const char *text = camilladsp_text(node);
    if (!node || (text && mask_config_count(text, value)))
        return STATUS_OK;
    return refuse_value(dsp, node, key, "a whole number");
}

enum status camilladsp_bool(struct camilladsp *dsp, const yaml_node_t *mapping, const char *key,
                            bool *value)
{
    const yaml_node_t *node = camilladsp_get(dsp, mapping, key);
    const char *text = camilladsp_text(node);
    if (!node)
        return STATUS_OK;
    if (!text || (strcasecmp(text, "true") != 0 && strcasecmp(text, "false") != 0))
        return refuse_value(dsp, node, key, "true or false");
    *value = strcasecmp(text, "true") == 0;
    return STATUS_OK;
}

enum status camilladsp_gain(struct camilladsp *dsp, const yaml_node_t *mapping, double *factor)
{
    double gain = 0;
    bool inverted = false, mute = false;
    const yaml_node_t *node = camilladsp_get(dsp, mapping, "scale");
    const char *scale = node ? camilladsp_text(node) : "dB";
    TRY(camilladsp_bool(dsp, mapping, "inverted", &inverted));
    TRY(camilladsp_bool(dsp, mapping, "mute", &mute));
    if (!scale || (strcasecmp(scale, "dB") != 0 && strcasecmp(scale, "linear") != 0))
        return refuse_value(dsp, node, "scale", "dB or linear");
    bool is_linear = strcasecmp(scale, "linear") == 0;
    TRY(read_number(dsp, mapping, "gain", &gain));
    if (fabs(gain) > 1000)
        return camilladsp_refuse(dsp, "a gain of %g", gain);
    *factor = mute ? 0 : (inverted ? -1 : 1) * (is_linear ? gain : audio_from_db(gain));
    return STATUS_OK;
}

enum status camilladsp_expand(struct camilladsp *dsp, const char *from, char *name)
{
    const struct {
        const char *token;
        uint64_t value;
    } tokens[] = {
        {"$samplerate$", dsp->config->rate},
        {"$channels$", dsp->channels},
    };
    size_t length = 0;
    while (*from) {
        char number[24] = {*from};
        size_t skip = 1;
        for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++)
            if (strncmp(from, tokens[i].token, strlen(tokens[i].token)) == 0) {
                snprintf(number, sizeof number, "%llu", (unsigned long long)tokens[i].value);
                skip = strlen(tokens[i].token);
            }
        size_t more = strlen(number);
        if (length + more >= CAMILLADSP_NAME_MOST)
            return camilladsp_refuse(dsp, "a name is too long");
        memcpy(name + length, number, more);
        length += more;
        from += skip;
    }
    name[length] = '\0';
    return STATUS_OK;
}

/* ---- merge keys ----
 *
 * A merge key is `<<: *name`, or `<<:` with a list of these.
 *
 * Before anything is read, the merged pairs are copied into the mapping, unless it has their keys.
 * In a list, the first one counts. Each copied key is a node of its own, since whether a key is
 * known depends on the mapping. */

enum {
    WORK_MOST = 1 << 20, /* keys compared */
    DEPTH_MOST = 64,     /* nested mappings that merge others */
};

enum merge_state { MERGE_NEW, MERGE_OPEN, MERGE_DONE };

struct merging {
    struct camilladsp *dsp;
    unsigned char *states; /* [node number] enum merge_state */
    size_t work, depth;
};

/* The node with this number. Valid until a node is added. */
static yaml_node_t *node_at(struct merging *merging, int index)
{
    return yaml_document_get_node(&merging->dsp->document, index);
}

static size_t count_pairs(const yaml_node_t *mapping)
{
    return (size_t)(mapping->data.mapping.pairs.top - mapping->data.mapping.pairs.start);
}

static bool has_key(struct merging *merging, int mapping, const char *key)
{
    const yaml_node_t *node = node_at(merging, mapping);
    for (size_t i = 0; i < count_pairs(node); i++) {
        const char *text = camilladsp_text(node_at(merging, node->data.mapping.pairs.start[i].key));
        if (text && strcmp(text, key) == 0)
            return true;
    }
    return false;
}

/* Copies a key, with its text and line. 0: no memory. */
static int copy_key(struct merging *merging, int key)
{
    yaml_node_t *old = node_at(merging, key);
    yaml_mark_t mark = old->start_mark;
    int copy = yaml_document_add_scalar(&merging->dsp->document, NULL, old->data.scalar.value,
                                        (int)old->data.scalar.length, old->data.scalar.style);
    if (copy)
        node_at(merging, copy)->start_mark = mark;
    return copy;
}

static enum status copy_pairs(struct merging *merging, int to, int from)
{
    for (size_t i = 0; i < count_pairs(node_at(merging, from)); i++) {
        yaml_node_pair_t pair = node_at(merging, from)->data.mapping.pairs.start[i];
        const char *text = camilladsp_text(node_at(merging, pair.key));
        merging->work += count_pairs(node_at(merging, to)) + 1;
        if (merging->work > WORK_MOST)
            return camilladsp_refuse(merging->dsp, "<<: merges too much");
        if (!text)
            return camilladsp_refuse(merging->dsp, "<<: merges a key that is no text");
        if (has_key(merging, to, text))
            continue;
        int key = copy_key(merging, pair.key);
        if (!key ||
            !yaml_document_append_mapping_pair(&merging->dsp->document, to, key, pair.value))
            return fail_memory("a mask");
    }
    return STATUS_OK;
}

static enum status merge_into(struct merging *merging, int mapping);

static enum status merge_value(struct merging *merging, int to, int value)
{
    const yaml_node_t *from = node_at(merging, value);
    camilladsp_at(merging->dsp, node_at(merging, to));
    if (from->type != YAML_MAPPING_NODE)
        return camilladsp_refuse(merging->dsp,
                                 "<<: must be a mapping such as *name, or a list of them");
    TRY(merge_into(merging, value));
    camilladsp_at(merging->dsp, node_at(merging, to));
    return copy_pairs(merging, to, value);
}

/* Removes the merge key from a mapping. Returns its value; 0: there is none. */
static int take_merge_key(struct merging *merging, int mapping)
{
    yaml_node_t *node = node_at(merging, mapping);
    yaml_node_pair_t *pair = node->data.mapping.pairs.start;
    for (; pair < node->data.mapping.pairs.top; pair++) {
        const yaml_node_t *key = node_at(merging, pair->key);
        const char *text = camilladsp_text(key);
        if (!text || strcmp(text, "<<") != 0 || key->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
            continue;
        int value = pair->value;
        node->data.mapping.pairs.top--;
        memmove(pair, pair + 1, (size_t)(node->data.mapping.pairs.top - pair) * sizeof *pair);
        return value;
    }
    return 0;
}

static enum status merge_all(struct merging *merging, int mapping)
{
    int value;
    while ((value = take_merge_key(merging, mapping))) {
        if (!is_list(node_at(merging, value))) {
            TRY(merge_value(merging, mapping, value));
            continue;
        }
        for (size_t i = 0; item(merging->dsp, node_at(merging, value), i); i++)
            TRY(merge_value(merging, mapping,
                            node_at(merging, value)->data.sequence.items.start[i]));
    }
    return STATUS_OK;
}

static enum status merge_into(struct merging *merging, int mapping)
{
    unsigned char *state = &merging->states[mapping];
    if (*state == MERGE_DONE)
        return STATUS_OK;
    if (*state == MERGE_OPEN || merging->depth == DEPTH_MOST)
        return camilladsp_refuse(merging->dsp, "<<: merges %s",
                                 *state == MERGE_OPEN ? "a mapping into itself" : "too deeply");
    *state = MERGE_OPEN;
    merging->depth++;
    TRY(merge_all(merging, mapping));
    merging->depth--;
    *state = MERGE_DONE;
    return STATUS_OK;
}

static enum status merge(struct camilladsp *dsp)
{
    int count = (int)(dsp->document.nodes.top - dsp->document.nodes.start);
    struct merging merging = {.dsp = dsp, .states = calloc((size_t)count + 1, 1)};
    enum status status = merging.states ? STATUS_OK : fail_memory("a mask");
    for (int i = 1; status == STATUS_OK && i <= count; i++)
        if (node_at(&merging, i)->type == YAML_MAPPING_NODE)
            status = merge_into(&merging, i);
    free(merging.states);
    if (status == STATUS_OK)
        dsp->config->line = 0;
    return status;
}

/* ---- the pipeline ---- */

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
        return camilladsp_refuse(dsp, "a source must be a channel from 0 to %zu", in - 1);
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
        return camilladsp_refuse(dsp, "dest: must be a channel from 0 to %zu", out - 1);
    if (!is_list(sources))
        return camilladsp_refuse(dsp, "a mapping has no sources:");
    if (mute)
        return STATUS_OK;
    for (size_t i = 0; (source = item(dsp, sources, i)); i++)
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
    know(dsp, mixer, others);
    TRY(camilladsp_check_keys(dsp, channels));
    TRY(camilladsp_check_keys(dsp, mixer));
    camilladsp_at(dsp, mixer);
    if (in != outputs)
        return camilladsp_refuse(dsp, "mixer %s has %llu input%s, but there %s %zu channel%s", name,
                                 (unsigned long long)in, plural_s(in), plural_are(outputs), outputs,
                                 plural_s(outputs));
    if (out == 0 || out > MATRIX_CHANNELS_MOST)
        return camilladsp_refuse(dsp, "mixer %s has %llu outputs", name, (unsigned long long)out);
    if (!is_list(mappings))
        return camilladsp_refuse(dsp, "mixer %s has no mapping:", name);
    double *gains = calloc((size_t)(in * out), sizeof *gains);
    enum status status = gains ? STATUS_OK : fail_memory("a mask");
    for (size_t i = 0; status == STATUS_OK && (mapping = item(dsp, mappings, i)); i++)
        status = parse_mapping(dsp, mapping, (size_t)in, (size_t)out, gains);
    if (status == STATUS_OK)
        status = mask_matrix_mix(dsp->config->matrix, (size_t)out, gains);
    free(gains);
    return status;
}

/* Reads `channel: 0` or `channels: [0, 1]`. Without either, all channels are selected. */
static enum status select_channels(struct camilladsp *dsp, const yaml_node_t *step)
{
    size_t count = mask_matrix_outputs(dsp->config->matrix);
    const yaml_node_t *list = camilladsp_get(dsp, step, "channels");
    const yaml_node_t *one = camilladsp_get(dsp, step, "channel");
    for (size_t c = 0; c < count; c++)
        dsp->is_selected[c] = !list && !one;
    if (list && !is_list(list))
        return refuse_value(dsp, list, "channels", "a list");
    size_t items = list ? (size_t)(list->data.sequence.items.top - list->data.sequence.items.start)
                        : one != NULL;
    for (size_t i = 0; i < items; i++) {
        const yaml_node_t *node = list ? item(dsp, list, i) : one;
        const char *text = camilladsp_text(node);
        uint64_t channel;
        if (!text || !mask_config_count(text, &channel))
            return refuse_value(dsp, node, "channel", "a whole number");
        if (channel >= count)
            return camilladsp_refuse(dsp, "channel %llu, but there are only %zu",
                                     (unsigned long long)channel, count);
        dsp->is_selected[channel] = true;
    }
    return STATUS_OK;
}

/* Counts how often a mapping has a key. CamillaDSP accepts no key twice. */
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

/* Finds what a step names: the entry NAME of the section. `what`: its kind, for messages. */
static enum status find_named(struct camilladsp *dsp, const yaml_node_t *name, const char *section,
                              const char *what, struct camilladsp_named *named)
{
    const yaml_node_t *root = yaml_document_get_root_node(&dsp->document);
    camilladsp_at(dsp, name);
    if (!camilladsp_text(name))
        return camilladsp_refuse(dsp, "the name of a %s is missing", what);
    TRY(camilladsp_expand(dsp, camilladsp_text(name), named->name));
    const yaml_node_t *all = camilladsp_get(dsp, root, section);
    named->node = camilladsp_get(dsp, all, named->name);
    if (!named->node)
        return camilladsp_refuse(dsp, "there is no %s %.100s", what, named->name);
    return count_key(dsp, all, named->name) == 1
               ? STATUS_OK
               : camilladsp_refuse(dsp, "there is more than one %s %.100s", what, named->name);
}

static enum status filter_step(struct camilladsp *dsp, const yaml_node_t *step)
{
    const yaml_node_t *names = camilladsp_get(dsp, step, "names"), *name;
    struct camilladsp_named filter;
    if (!is_list(names))
        return camilladsp_refuse(dsp, "a Filter step has no names:");
    TRY(select_channels(dsp, step));
    for (size_t i = 0; (name = item(dsp, names, i)); i++) {
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
    return camilladsp_refuse(
        dsp,
        "processor %.100s: a %.40s is not linear and cannot be a mask; " MASK_CONFIG_SKIP_ADVICE,
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
    return camilladsp_refuse(dsp, "a step of the type %.40s cannot be read as a mask",
                             type ? type : "(none)");
}

static enum status run_pipeline(struct camilladsp *dsp, const yaml_node_t *root)
{
    const yaml_node_t *pipeline = camilladsp_get(dsp, root, "pipeline"), *step;
    if (!pipeline)
        return STATUS_OK;
    if (!is_list(pipeline))
        return refuse_value(dsp, pipeline, "pipeline", "a list of steps");
    if (item(dsp, pipeline, STEPS_MOST))
        return camilladsp_refuse(dsp, "more than %d steps", STEPS_MOST);
    for (size_t i = 0; (step = item(dsp, pipeline, i)); i++)
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
    TRY(read_number(dsp, devices, "volume_limit", &volume));
    if (volume < 0)
        note("mask %s: volume_limit: %g is not applied, since it follows the volume control",
             dsp->config->file, volume);
    know(dsp, devices, others);
    TRY(camilladsp_check_keys(dsp, devices));
    if (!devices && channels == 0)
        return camilladsp_refuse(
            dsp, "it has no devices:, which says how many channels it filters; add one, such as "
                 "devices: {samplerate: 48000, capture: {channels: 2}}");
    if (!devices)
        note("mask %s: it has no devices:; it filters the %zu channel%s of the sound",
             dsp->config->file, (size_t)channels, plural_s((size_t)channels));
    if (rate > MASK_RATE_MOST)
        return camilladsp_refuse(dsp, "samplerate: is at most %d", MASK_RATE_MOST);
    if (channels < 1 || channels > MATRIX_CHANNELS_MOST)
        return camilladsp_refuse(dsp, "channels: of capture: must be 1 to %d",
                                 MATRIX_CHANNELS_MOST);
    dsp->channels = (size_t)channels;
    if (rate)
        TRY(mask_config_rate(dsp->config, (uint32_t)rate));
    return STATUS_OK;
}

/* Refuses playback settings with which CamillaDSP would not start. */
static enum status check_playback(struct camilladsp *dsp, const yaml_node_t *root)
{
    uint64_t outputs = mask_matrix_outputs(dsp->config->matrix), channels = outputs;
    const yaml_node_t *devices = camilladsp_get(dsp, root, "devices");
    const yaml_node_t *playback = camilladsp_get(dsp, devices, "playback");
    camilladsp_at(dsp, playback);
    TRY(camilladsp_count(dsp, playback, "channels", &channels));
    return channels == outputs
               ? STATUS_OK
               : camilladsp_refuse(dsp,
                                   "playback: has %llu channels, but the pipeline ends with %llu",
                                   (unsigned long long)channels, (unsigned long long)outputs);
}

/* Refuses unknown sections. A misspelt section would leave out all its entries. */
static enum status check_sections(struct camilladsp *dsp, const yaml_node_t *root)
{
    static const char *const others[] = {"filters", "mixers", "processors", "title", NULL};
    know(dsp, root, others);
    return camilladsp_check_keys(dsp, root);
}

static enum status read_document(struct camilladsp *dsp, struct mask **mask)
{
    TRY(merge(dsp));
    const yaml_node_t *root = yaml_document_get_root_node(&dsp->document);
    dsp->is_known = calloc((size_t)(dsp->document.nodes.top - dsp->document.nodes.start) + 1,
                           sizeof *dsp->is_known);
    if (!dsp->is_known)
        return fail_memory("a mask");
    dsp->config->second = "."; /* CamillaDSP looks for files in the current folder */
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
    if (yaml_is_too_deep(config->text, strlen(config->text)))
        return camilladsp_refuse(&dsp, "it is nested too deeply");
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
        for (size_t at = 0; parser.error == YAML_READER_ERROR && at < parser.problem_offset; at++)
            config->line += config->text[at] == '\n'; /* the reader's position is in bytes */
        status = mask_config_refuse(config, "not YAML: %s",
                                    parser.problem ? parser.problem : "no memory");
    }
    yaml_parser_delete(&parser);
    return status;
}

/* The first line from `line` on that is neither empty nor a remark. */
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

/* Whether a mapping or a list follows the key of a section, in the same line or below it. */
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

/* Whether the text has a section that is not empty, and no command of Equalizer APO. To that
 * program, the section's line is a remark ("filters: my set"). Names of filters are indented. */
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
