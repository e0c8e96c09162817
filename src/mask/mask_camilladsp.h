/* A CamillaDSP configuration while it is read. Its YAML nodes are those of libyaml. */
#ifndef HALO_MASK_CAMILLADSP_H
#define HALO_MASK_CAMILLADSP_H

#include "mask/mask_config.h"
#include "mask/mask_matrix.h"

#include <yaml.h>

struct camilladsp {
    struct mask_config *config; /* with the matrix */
    yaml_document_t document;
    size_t channels; /* of the capture device */
};

/* The value of a key in a mapping; NULL if missing or null (~, null, empty). */
yaml_node_t *camilladsp_get(struct camilladsp *dsp, const yaml_node_t *mapping, const char *key);

/* The text of a scalar; NULL for other nodes. */
const char *camilladsp_text(const yaml_node_t *node);

/* Elements of a list; NULL past the last. */
bool camilladsp_is_list(const yaml_node_t *node);
yaml_node_t *camilladsp_item(struct camilladsp *dsp, const yaml_node_t *list, size_t index);

/* Set the line of later messages to that of a node, unless it is NULL. */
void camilladsp_at(struct camilladsp *dsp, const yaml_node_t *node);

/* The value of a key; unchanged if the key is missing. Errors: another type. */
MUST_CHECK enum status camilladsp_number(struct camilladsp *dsp, const yaml_node_t *mapping,
                                         const char *key, double *value);
MUST_CHECK enum status camilladsp_count(struct camilladsp *dsp, const yaml_node_t *mapping,
                                        const char *key, uint64_t *value);
MUST_CHECK enum status camilladsp_bool(struct camilladsp *dsp, const yaml_node_t *mapping,
                                       const char *key, bool *value);

/* gain, scale, inverted and mute of a gain filter or mixer source as one factor. */
MUST_CHECK enum status camilladsp_gain(struct camilladsp *dsp, const yaml_node_t *mapping,
                                       double *factor);

/* Apply a filter to an output of the matrix. Errors: no such filter, one that is not convolution,
 * gain or delay. */
MUST_CHECK enum status camilladsp_filter(struct camilladsp *dsp, const yaml_node_t *filter,
                                         const char *name, size_t output);

#endif
