/* Configurations of CamillaDSP, versions 0.6 to 4: the pipeline of filters and mixers.
 *
 * Conv, Gain and Delay filters and mixers are supported; Biquads and others are refused, unless
 * they are bypassed or unused. */
#include "mask/mask_camilladsp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { STEPS_MOST = 1000 };

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
            yaml_node_t *value = yaml_document_get_node(&dsp->document, pair->value);
            return is_null(value) ? NULL : value;
        }
    }
    return NULL;
}

bool camilladsp_is_list(const yaml_node_t *node)
{
    return node && node->type == YAML_SEQUENCE_NODE;
}

yaml_node_t *camilladsp_item(struct camilladsp *dsp, const yaml_node_t *list, size_t index)
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
    return mask_config_refuse(dsp->config, "%s: must be %s, not '%.40s'", key, kind,
                              text ? text : "a list");
}

enum status camilladsp_number(struct camilladsp *dsp, const yaml_node_t *mapping, const char *key,
                              double *value)
{
    const yaml_node_t *node = camilladsp_get(dsp, mapping, key);
    const char *text = camilladsp_text(node);
    if (!node || (text && mask_config_number(text, value)))
        return STATUS_OK;
    return refuse_value(dsp, node, key, "a number");
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
    if (is_linear)
        gain = 1;
    TRY(camilladsp_number(dsp, mapping, "gain", &gain));
    if (fabs(gain) > 1000)
        return mask_config_refuse(dsp->config, "a gain of %g", gain);
    *factor = mute ? 0 : (inverted ? -1 : 1) * (is_linear ? gain : audio_from_db(gain));
    return STATUS_OK;
}

static enum status parse_source(struct camilladsp *dsp, const yaml_node_t *source, size_t in,
                                double *row)
{
    uint64_t channel = UINT64_MAX;
    double factor = 0;
    camilladsp_at(dsp, source);
    TRY(camilladsp_count(dsp, source, "channel", &channel));
    TRY(camilladsp_gain(dsp, source, &factor));
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
    uint64_t in = 0, out = 0;
    size_t outputs = mask_matrix_outputs(dsp->config->matrix);
    const yaml_node_t *channels = camilladsp_get(dsp, mixer, "channels");
    const yaml_node_t *mappings = camilladsp_get(dsp, mixer, "mapping"), *mapping;
    if (!mixer)
        return mask_config_refuse(dsp->config, "there is no mixer %s", name);
    camilladsp_at(dsp, mixer);
    TRY(camilladsp_count(dsp, channels, "in", &in));
    TRY(camilladsp_count(dsp, channels, "out", &out));
    if (in != outputs)
        return mask_config_refuse(dsp->config,
                                  "mixer %s has %llu inputs, but there are %zu channels", name,
                                  (unsigned long long)in, outputs);
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
static enum status parse_channels(struct camilladsp *dsp, const yaml_node_t *step,
                                  bool *is_selected)
{
    size_t count = mask_matrix_outputs(dsp->config->matrix);
    const yaml_node_t *list = camilladsp_get(dsp, step, "channels");
    const yaml_node_t *one = camilladsp_get(dsp, step, "channel");
    for (size_t c = 0; c < count; c++)
        is_selected[c] = !list && !one;
    if (list && !camilladsp_is_list(list))
        return refuse_value(dsp, list, "channels", "a list");
    size_t items = list ? (size_t)(list->data.sequence.items.top - list->data.sequence.items.start)
                        : one != NULL;
    for (size_t i = 0; i < items; i++) {
        const yaml_node_t *node = list ? camilladsp_item(dsp, list, i) : one;
        const char *text = camilladsp_text(node);
        uint64_t channel;
        if (!text || !mask_config_count(text, &channel))
            return refuse_value(dsp, node, "channel", "a whole number");
        if (channel >= count)
            return mask_config_refuse(dsp->config, "channel %llu, but there are only %zu",
                                      (unsigned long long)channel, count);
        is_selected[channel] = true;
    }
    return STATUS_OK;
}

static enum status filter_one(struct camilladsp *dsp, const yaml_node_t *filters,
                              const yaml_node_t *name, const bool *is_selected)
{
    const char *text = camilladsp_text(name);
    camilladsp_at(dsp, name);
    if (!text)
        return mask_config_refuse(dsp->config, "names: must be names of filters");
    const yaml_node_t *filter = camilladsp_get(dsp, filters, text);
    if (!filter)
        return mask_config_refuse(dsp->config, "there is no filter %.100s", text);
    for (size_t c = 0; c < mask_matrix_outputs(dsp->config->matrix); c++)
        if (is_selected[c])
            TRY(camilladsp_filter(dsp, filter, text, c));
    return STATUS_OK;
}

static enum status filter_step(struct camilladsp *dsp, const yaml_node_t *root,
                               const yaml_node_t *step)
{
    bool is_selected[MATRIX_CHANNELS_MOST] = {0};
    const yaml_node_t *filters = camilladsp_get(dsp, root, "filters");
    const yaml_node_t *names = camilladsp_get(dsp, step, "names");
    if (!camilladsp_is_list(names))
        return mask_config_refuse(dsp->config, "a Filter step has no names:");
    TRY(parse_channels(dsp, step, is_selected));
    const yaml_node_t *name;
    for (size_t i = 0; (name = camilladsp_item(dsp, names, i)); i++)
        TRY(filter_one(dsp, filters, name, is_selected));
    return STATUS_OK;
}

static enum status parse_step(struct camilladsp *dsp, const yaml_node_t *root,
                              const yaml_node_t *step)
{
    bool bypassed = false;
    camilladsp_at(dsp, step);
    const char *type = camilladsp_text(camilladsp_get(dsp, step, "type"));
    const char *name = camilladsp_text(camilladsp_get(dsp, step, "name"));
    TRY(camilladsp_bool(dsp, step, "bypassed", &bypassed));
    if (bypassed)
        return STATUS_OK;
    if (type && strcmp(type, "Filter") == 0)
        return filter_step(dsp, root, step);
    if (type && strcmp(type, "Mixer") == 0 && name)
        return mix(dsp, camilladsp_get(dsp, camilladsp_get(dsp, root, "mixers"), name), name);
    return mask_config_refuse(dsp->config, "a step of the type %.40s cannot be read as a mask",
                              type ? type : "(none)");
}

static enum status run_pipeline(struct camilladsp *dsp, const yaml_node_t *root)
{
    const yaml_node_t *pipeline = camilladsp_get(dsp, root, "pipeline"), *step;
    if (!pipeline)
        return STATUS_OK;
    if (!camilladsp_is_list(pipeline))
        return refuse_value(dsp, pipeline, "pipeline", "a list of steps");
    if (camilladsp_item(dsp, pipeline, STEPS_MOST))
        return mask_config_refuse(dsp->config, "more than %d steps", STEPS_MOST);
    for (size_t i = 0; (step = camilladsp_item(dsp, pipeline, i)); i++)
        TRY(parse_step(dsp, root, step));
    return STATUS_OK;
}

static enum status parse_devices(struct camilladsp *dsp, const yaml_node_t *root)
{
    const yaml_node_t *devices = camilladsp_get(dsp, root, "devices");
    const yaml_node_t *capture = camilladsp_get(dsp, devices, "capture");
    uint64_t rate = 0, channels = dsp->config->options->sound.channels;
    camilladsp_at(dsp, devices);
    TRY(camilladsp_count(dsp, devices, "samplerate", &rate));
    TRY(camilladsp_count(dsp, capture, "channels", &channels));
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

static enum status read_document(struct camilladsp *dsp, struct mask **mask)
{
    const yaml_node_t *root = yaml_document_get_root_node(&dsp->document);
    TRY(parse_devices(dsp, root));
    TRY(mask_matrix_create(dsp->config, dsp->channels, dsp->channels, &dsp->config->matrix));
    TRY(mask_matrix_connect(dsp->config->matrix));
    TRY(run_pipeline(dsp, root));
    dsp->config->line = 0;
    return mask_matrix_to_mask(dsp->config->matrix, mask);
}

static enum status read_camilladsp(struct mask_config *config, struct mask **mask)
{
    struct camilladsp dsp = {.config = config};
    yaml_parser_t parser;
    enum status status;
    if (!yaml_parser_initialize(&parser))
        return fail_memory("a mask");
    yaml_parser_set_input_string(&parser, (const unsigned char *)config->text,
                                 strlen(config->text));
    if (yaml_parser_load(&parser, &dsp.document)) {
        status = read_document(&dsp, mask);
        yaml_document_delete(&dsp.document);
    } else {
        config->line = parser.problem_mark.line + 1;
        status = mask_config_refuse(config, "not YAML: %s",
                                    parser.problem ? parser.problem : "no memory");
    }
    yaml_parser_delete(&parser);
    return status;
}

/* A line "pipeline:", "filters:" or "mixers:" with nothing before it. */
static bool is_camilladsp(const struct mask_config *config)
{
    static const char *const keys[] = {"pipeline:", "filters:", "mixers:", "devices:"};
    for (const char *line = config->text; *line; line += *line == '\n') {
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
            if (strncmp(line, keys[i], strlen(keys[i])) == 0)
                return true;
        line += strcspn(line, "\n");
    }
    return false;
}

const struct mask_reader mask_reader_camilladsp = {
    .kind = "CamillaDSP configuration",
    .is_my_config = is_camilladsp,
    .read_config = read_camilladsp,
};
