/* Configurations of CamillaDSP, versions 0.6 to 4: the pipeline of filters and mixers.
 *
 * Conv, Gain and Delay filters and mixers are followed; Biquads and whatever else is more
 * than that are refused, unless they are bypassed or no step of the pipeline uses them.
 * YAML is libyaml's: its nodes know their lines, and its names of filters need no schema. */
#include "mask/mask_camilladsp.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { STEPS_MOST = 1000 };

/* ---- nodes ---- */

static yaml_node_t *node_at(struct camilladsp *camilladsp, int index)
{
    return yaml_document_get_node(&camilladsp->document, index);
}

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

yaml_node_t *camilladsp_get(struct camilladsp *camilladsp, const yaml_node_t *mapping,
                            const char *key)
{
    if (!mapping || mapping->type != YAML_MAPPING_NODE)
        return NULL;
    const yaml_node_pair_t *end = mapping->data.mapping.pairs.top;
    for (const yaml_node_pair_t *pair = mapping->data.mapping.pairs.start; pair < end; pair++) {
        const char *text = camilladsp_text(node_at(camilladsp, pair->key));
        if (text && strcmp(text, key) == 0) {
            yaml_node_t *value = node_at(camilladsp, pair->value);
            return is_null(value) ? NULL : value;
        }
    }
    return NULL;
}

bool camilladsp_is_list(const yaml_node_t *node)
{
    return node && node->type == YAML_SEQUENCE_NODE;
}

yaml_node_t *camilladsp_item(struct camilladsp *camilladsp, const yaml_node_t *list, size_t index)
{
    const yaml_node_item_t *items = list->data.sequence.items.start;
    bool is_there = index < (size_t)(list->data.sequence.items.top - items);
    return is_there ? node_at(camilladsp, items[index]) : NULL;
}

void camilladsp_at(struct camilladsp *camilladsp, const yaml_node_t *node)
{
    if (node)
        camilladsp->config->line = node->start_mark.line + 1;
}

static enum status refuse_value(struct camilladsp *camilladsp, const yaml_node_t *node,
                                const char *key, const char *kind)
{
    const char *text = camilladsp_text(node);
    camilladsp_at(camilladsp, node);
    return mask_config_refuse(camilladsp->config, "%s: must be %s, not '%.40s'", key, kind,
                              text ? text : "a list");
}

enum status camilladsp_number(struct camilladsp *camilladsp, const yaml_node_t *mapping,
                              const char *key, double *value)
{
    const yaml_node_t *node = camilladsp_get(camilladsp, mapping, key);
    const char *text = camilladsp_text(node);
    if (!node || (text && mask_config_number(text, value)))
        return STATUS_OK;
    return refuse_value(camilladsp, node, key, "a number");
}

enum status camilladsp_count(struct camilladsp *camilladsp, const yaml_node_t *mapping,
                             const char *key, uint64_t *value)
{
    const yaml_node_t *node = camilladsp_get(camilladsp, mapping, key);
    const char *text = camilladsp_text(node);
    if (!node || (text && mask_config_count(text, value)))
        return STATUS_OK;
    return refuse_value(camilladsp, node, key, "a whole number from 0 on");
}

enum status camilladsp_bool(struct camilladsp *camilladsp, const yaml_node_t *mapping,
                            const char *key, bool *value)
{
    const yaml_node_t *node = camilladsp_get(camilladsp, mapping, key);
    const char *text = camilladsp_text(node);
    if (!node)
        return STATUS_OK;
    if (!text || (strcasecmp(text, "true") != 0 && strcasecmp(text, "false") != 0))
        return refuse_value(camilladsp, node, key, "true or false");
    *value = strcasecmp(text, "true") == 0;
    return STATUS_OK;
}

enum status camilladsp_gain(struct camilladsp *camilladsp, const yaml_node_t *mapping,
                            double *factor)
{
    double gain = 0;
    bool inverted = false, mute = false;
    const yaml_node_t *node = camilladsp_get(camilladsp, mapping, "scale");
    const char *scale = node ? camilladsp_text(node) : "dB";
    TRY(camilladsp_bool(camilladsp, mapping, "inverted", &inverted));
    TRY(camilladsp_bool(camilladsp, mapping, "mute", &mute));
    if (!scale || (strcasecmp(scale, "dB") != 0 && strcasecmp(scale, "linear") != 0))
        return refuse_value(camilladsp, node, "scale", "dB or linear");
    bool is_linear = strcasecmp(scale, "linear") == 0;
    if (is_linear)
        gain = 1;
    TRY(camilladsp_number(camilladsp, mapping, "gain", &gain));
    if (fabs(gain) > 1000)
        return mask_config_refuse(camilladsp->config, "a gain of %g", gain);
    *factor = mute ? 0 : (inverted ? -1 : 1) * (is_linear ? gain : audio_from_db(gain));
    return STATUS_OK;
}

/* ---- mixers ---- */

static enum status take_source(struct camilladsp *camilladsp, const yaml_node_t *source, size_t in,
                               double *row)
{
    uint64_t channel = UINT64_MAX;
    double factor = 0;
    camilladsp_at(camilladsp, source);
    TRY(camilladsp_count(camilladsp, source, "channel", &channel));
    TRY(camilladsp_gain(camilladsp, source, &factor));
    if (channel >= in)
        return mask_config_refuse(camilladsp->config, "a source must be a channel from 0 to %zu",
                                  in - 1);
    row[channel] += factor;
    return STATUS_OK;
}

static enum status parse_mapping(struct camilladsp *camilladsp, const yaml_node_t *mapping,
                                size_t in, size_t out, double *gains)
{
    uint64_t dest = UINT64_MAX;
    bool mute = false;
    const yaml_node_t *source;
    camilladsp_at(camilladsp, mapping);
    TRY(camilladsp_count(camilladsp, mapping, "dest", &dest));
    TRY(camilladsp_bool(camilladsp, mapping, "mute", &mute));
    const yaml_node_t *sources = camilladsp_get(camilladsp, mapping, "sources");
    if (dest >= out)
        return mask_config_refuse(camilladsp->config, "dest: must be a channel from 0 to %zu",
                                  out - 1);
    if (!camilladsp_is_list(sources))
        return mask_config_refuse(camilladsp->config, "a mapping without sources:");
    if (mute)
        return STATUS_OK;
    for (size_t i = 0; (source = camilladsp_item(camilladsp, sources, i)); i++)
        TRY(take_source(camilladsp, source, in, gains + dest * in));
    return STATUS_OK;
}

static enum status mix(struct camilladsp *camilladsp, const yaml_node_t *mixer, const char *name)
{
    uint64_t in = 0, out = 0;
    size_t outputs = mask_matrix_outputs(camilladsp->matrix);
    const yaml_node_t *channels = camilladsp_get(camilladsp, mixer, "channels");
    const yaml_node_t *mappings = camilladsp_get(camilladsp, mixer, "mapping"), *mapping;
    if (!mixer)
        return mask_config_refuse(camilladsp->config, "there is no mixer %s", name);
    camilladsp_at(camilladsp, mixer);
    TRY(camilladsp_count(camilladsp, channels, "in", &in));
    TRY(camilladsp_count(camilladsp, channels, "out", &out));
    if (in != outputs)
        return mask_config_refuse(camilladsp->config,
                                  "mixer %s takes %llu channels, but there are %zu", name,
                                  (unsigned long long)in, outputs);
    if (out == 0 || out > MATRIX_CHANNELS_MOST)
        return mask_config_refuse(camilladsp->config, "mixer %s gives %llu channels", name,
                                  (unsigned long long)out);
    if (!camilladsp_is_list(mappings))
        return mask_config_refuse(camilladsp->config, "mixer %s has no mapping:", name);
    double *gains = calloc((size_t)(in * out), sizeof *gains);
    enum status status = gains ? STATUS_OK : fail_memory("a mask");
    for (size_t i = 0; status == STATUS_OK && (mapping = camilladsp_item(camilladsp, mappings, i));
         i++)
        status = parse_mapping(camilladsp, mapping, (size_t)in, (size_t)out, gains);
    if (status == STATUS_OK)
        status = mask_matrix_mix(camilladsp->matrix, (size_t)out, gains);
    free(gains);
    return status;
}

/* ---- the pipeline ---- */

/* channel: 0, channels: [0, 1], or neither: all. */
static enum status parse_channels(struct camilladsp *camilladsp, const yaml_node_t *step,
                                 bool *is_selected)
{
    size_t count = mask_matrix_outputs(camilladsp->matrix);
    const yaml_node_t *list = camilladsp_get(camilladsp, step, "channels");
    const yaml_node_t *one = camilladsp_get(camilladsp, step, "channel");
    for (size_t c = 0; c < count; c++)
        is_selected[c] = !list && !one;
    if (list && !camilladsp_is_list(list))
        return refuse_value(camilladsp, list, "channels", "a list");
    const yaml_node_t *node;
    for (size_t i = 0; (node = list     ? camilladsp_item(camilladsp, list, i)
                               : i == 0 ? one
                                        : NULL);
         i++) {
        const char *text = camilladsp_text(node);
        uint64_t channel;
        if (!text || !mask_config_count(text, &channel))
            return refuse_value(camilladsp, node, "channel", "a whole number");
        if (channel >= count)
            return mask_config_refuse(camilladsp->config, "channel %llu, but there are only %zu",
                                      (unsigned long long)channel, count);
        is_selected[channel] = true;
    }
    return STATUS_OK;
}

static enum status filter_one(struct camilladsp *camilladsp, const yaml_node_t *filters,
                              const yaml_node_t *name, const bool *is_selected)
{
    const char *text = camilladsp_text(name);
    camilladsp_at(camilladsp, name);
    if (!text)
        return mask_config_refuse(camilladsp->config, "names: must be names of filters");
    const yaml_node_t *filter = camilladsp_get(camilladsp, filters, text);
    if (!filter)
        return mask_config_refuse(camilladsp->config, "there is no filter %.100s", text);
    for (size_t c = 0; c < mask_matrix_outputs(camilladsp->matrix); c++)
        if (is_selected[c])
            TRY(camilladsp_filter(camilladsp, filter, text, c));
    return STATUS_OK;
}

static enum status filter_step(struct camilladsp *camilladsp, const yaml_node_t *root,
                               const yaml_node_t *step)
{
    bool is_selected[MATRIX_CHANNELS_MOST] = {0};
    const yaml_node_t *filters = camilladsp_get(camilladsp, root, "filters");
    const yaml_node_t *names = camilladsp_get(camilladsp, step, "names");
    if (!camilladsp_is_list(names))
        return mask_config_refuse(camilladsp->config, "a Filter step without names:");
    TRY(parse_channels(camilladsp, step, is_selected));
    const yaml_node_t *name;
    for (size_t i = 0; (name = camilladsp_item(camilladsp, names, i)); i++)
        TRY(filter_one(camilladsp, filters, name, is_selected));
    return STATUS_OK;
}

static enum status take_step(struct camilladsp *camilladsp, const yaml_node_t *root,
                             const yaml_node_t *step)
{
    bool bypassed = false;
    camilladsp_at(camilladsp, step);
    const char *type = camilladsp_text(camilladsp_get(camilladsp, step, "type"));
    const char *name = camilladsp_text(camilladsp_get(camilladsp, step, "name"));
    TRY(camilladsp_bool(camilladsp, step, "bypassed", &bypassed));
    if (bypassed)
        return STATUS_OK;
    if (type && strcmp(type, "Filter") == 0)
        return filter_step(camilladsp, root, step);
    if (type && strcmp(type, "Mixer") == 0 && name)
        return mix(camilladsp,
                   camilladsp_get(camilladsp, camilladsp_get(camilladsp, root, "mixers"), name),
                   name);
    return mask_config_refuse(camilladsp->config,
                              "a step of the type %.40s cannot be read as a mask",
                              type ? type : "(none)");
}

static enum status run_pipeline(struct camilladsp *camilladsp, const yaml_node_t *root)
{
    const yaml_node_t *pipeline = camilladsp_get(camilladsp, root, "pipeline"), *step;
    if (!pipeline)
        return STATUS_OK;
    if (!camilladsp_is_list(pipeline))
        return refuse_value(camilladsp, pipeline, "pipeline", "a list of steps");
    if (camilladsp_item(camilladsp, pipeline, STEPS_MOST))
        return mask_config_refuse(camilladsp->config, "more than %d steps", STEPS_MOST);
    for (size_t i = 0; (step = camilladsp_item(camilladsp, pipeline, i)); i++)
        TRY(take_step(camilladsp, root, step));
    return STATUS_OK;
}

/* ---- the whole ---- */

static enum status parse_devices(struct camilladsp *camilladsp, const yaml_node_t *root)
{
    const yaml_node_t *devices = camilladsp_get(camilladsp, root, "devices");
    const yaml_node_t *capture = camilladsp_get(camilladsp, devices, "capture");
    uint64_t rate = 0, channels = camilladsp->config->options->sound.channels;
    camilladsp_at(camilladsp, devices);
    TRY(camilladsp_count(camilladsp, devices, "samplerate", &rate));
    TRY(camilladsp_count(camilladsp, capture, "channels", &channels));
    if (rate > MASK_RATE_MOST)
        return mask_config_refuse(camilladsp->config, "samplerate: is at most %d", MASK_RATE_MOST);
    if (channels < 1 || channels > MATRIX_CHANNELS_MOST)
        return mask_config_refuse(camilladsp->config, "channels: of capture: must be 1 to %d",
                                  MATRIX_CHANNELS_MOST);
    camilladsp->channels = (size_t)channels;
    if (rate)
        TRY(mask_config_rate(camilladsp->config, (uint32_t)rate));
    return STATUS_OK;
}

static enum status read_document(struct camilladsp *camilladsp, struct mask **mask)
{
    const yaml_node_t *root = yaml_document_get_root_node(&camilladsp->document);
    TRY(parse_devices(camilladsp, root));
    TRY(mask_matrix_create(camilladsp->config, camilladsp->channels, camilladsp->channels,
                           &camilladsp->matrix));
    TRY(mask_matrix_connect(camilladsp->matrix));
    TRY(run_pipeline(camilladsp, root));
    camilladsp->config->line = 0;
    return mask_matrix_to_mask(camilladsp->matrix, mask);
}

static enum status read_all(struct camilladsp *camilladsp, struct mask **mask)
{
    yaml_parser_t parser;
    const char *text = camilladsp->config->text;
    enum status status;
    if (!yaml_parser_initialize(&parser))
        return fail_memory("a mask");
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, strlen(text));
    if (yaml_parser_load(&parser, &camilladsp->document)) {
        status = read_document(camilladsp, mask);
        yaml_document_delete(&camilladsp->document);
    } else {
        camilladsp->config->line = parser.problem_mark.line + 1;
        status = mask_config_refuse(camilladsp->config, "not YAML: %s",
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

static enum status read_camilladsp(struct mask_config *config, struct mask **mask)
{
    struct camilladsp camilladsp = {.config = config};
    enum status status = read_all(&camilladsp, mask);
    mask_matrix_destroy(camilladsp.matrix);
    return status;
}

const struct mask_reader mask_reader_camilladsp = {
    .kind = "CamillaDSP configuration",
    .is_my_config = is_camilladsp,
    .read_config = read_camilladsp,
};
