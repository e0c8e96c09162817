/* The merge keys of YAML in a CamillaDSP configuration: `<<: *name`, or a list of those.
 *
 * The pairs of what is merged are copied into the mapping before anything is read, unless it has
 * their keys; of a list the first counts. Each copied key is a node of its own, since whether a key
 * is known depends on where it stands. */
#include "mask/mask_camilladsp.h"

#include <stdlib.h>
#include <string.h>

enum {
    WORK_MOST = 1 << 20, /* keys compared */
    DEPTH_MOST = 64,     /* of mappings that merge those after them */
};

enum merge_state { MERGE_NEW, MERGE_OPEN, MERGE_DONE };

struct merging {
    struct camilladsp *dsp;
    unsigned char *states; /* enum merge_state, by the number of the node */
    size_t work, depth;
};

/* Valid until a node is added. */
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

/* A key of the same text and line; 0: no memory. */
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
            return mask_config_refuse(merging->dsp->config, "<<: merges too much");
        if (!text)
            return mask_config_refuse(merging->dsp->config, "<<: merges a key that is no text");
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
        return mask_config_refuse(merging->dsp->config,
                                  "<<: must be a mapping such as *name, or a list of them");
    TRY(merge_into(merging, value));
    camilladsp_at(merging->dsp, node_at(merging, to));
    return copy_pairs(merging, to, value);
}

/* Take the merge key out of a mapping. Returns its value; 0: there is none. */
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
        if (!camilladsp_is_list(node_at(merging, value))) {
            TRY(merge_value(merging, mapping, value));
            continue;
        }
        for (size_t i = 0; camilladsp_item(merging->dsp, node_at(merging, value), i); i++)
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
        return mask_config_refuse(merging->dsp->config, "<<: merges %s",
                                  *state == MERGE_OPEN ? "a mapping into itself" : "too deeply");
    *state = MERGE_OPEN;
    merging->depth++;
    TRY(merge_all(merging, mapping));
    merging->depth--;
    *state = MERGE_DONE;
    return STATUS_OK;
}

enum status camilladsp_merge(struct camilladsp *dsp)
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
