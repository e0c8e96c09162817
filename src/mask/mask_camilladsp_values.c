/* The nodes and values of a CamillaDSP configuration. */
#include "mask/mask_camilladsp.h"

#include <math.h>
#include <string.h>
#include <strings.h>

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

void camilladsp_know(struct camilladsp *dsp, const yaml_node_t *mapping, const char *const *keys)
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
        return mask_config_refuse(
            dsp->config, "'%.40s' is no setting that CamillaDSP has here%s", text ? text : "",
            text && strspn(text, "0123456789") == strlen(text) ? "; decimals follow a point" : "");
    }
    return STATUS_OK;
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

enum status camilladsp_refuse_value(struct camilladsp *dsp, const yaml_node_t *node,
                                    const char *key, const char *kind)
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
    return camilladsp_refuse_value(dsp, node, key, "a number");
}

enum status camilladsp_required(struct camilladsp *dsp, const yaml_node_t *mapping, const char *key,
                                double *value)
{
    camilladsp_at(dsp, mapping);
    if (!camilladsp_get(dsp, mapping, key))
        return mask_config_refuse(dsp->config, "%s: is missing", key);
    return camilladsp_number(dsp, mapping, key, value);
}

enum status camilladsp_numbers(struct camilladsp *dsp, const yaml_node_t *mapping, const char *key,
                               struct mask_values *values)
{
    const yaml_node_t *list = camilladsp_get(dsp, mapping, key), *node;
    if (!list)
        return STATUS_OK;
    camilladsp_at(dsp, list);
    if (!camilladsp_is_list(list))
        return camilladsp_refuse_value(dsp, list, key, "a list");
    for (size_t i = 0; (node = camilladsp_item(dsp, list, i)); i++) {
        double value;
        const char *text = camilladsp_text(node);
        if (!text || !mask_config_number(text, &value))
            return camilladsp_refuse_value(dsp, node, key, "a list of numbers");
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
    return camilladsp_refuse_value(dsp, node, key, "a whole number");
}

enum status camilladsp_bool(struct camilladsp *dsp, const yaml_node_t *mapping, const char *key,
                            bool *value)
{
    const yaml_node_t *node = camilladsp_get(dsp, mapping, key);
    const char *text = camilladsp_text(node);
    if (!node)
        return STATUS_OK;
    if (!text || (strcasecmp(text, "true") != 0 && strcasecmp(text, "false") != 0))
        return camilladsp_refuse_value(dsp, node, key, "true or false");
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
        return camilladsp_refuse_value(dsp, node, "scale", "dB or linear");
    bool is_linear = strcasecmp(scale, "linear") == 0;
    TRY(camilladsp_number(dsp, mapping, "gain", &gain));
    if (fabs(gain) > 1000)
        return mask_config_refuse(dsp->config, "a gain of %g", gain);
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
            return mask_config_refuse(dsp->config, "a name is too long");
        memcpy(name + length, number, more);
        length += more;
        from += skip;
    }
    name[length] = '\0';
    return STATUS_OK;
}
