/* A CamillaDSP configuration while it is read. */
#ifndef HALO_MASK_CAMILLADSP_H
#define HALO_MASK_CAMILLADSP_H

#include "mask/mask_config.h"
#include "mask/mask_matrix.h"

#include <yaml.h>

struct camilladsp {
    struct mask_config *config;
    yaml_document_t document;
    size_t channels; /* of what is captured */
    struct mask_matrix *matrix;
};

/* The value of a key in a mapping, or NULL; also NULL where it is null (~, null, nothing). */
yaml_node_t *camilladsp_get(struct camilladsp *camilladsp, const yaml_node_t *mapping,
                            const char *key);

/* Text of a scalar, or NULL: it is no scalar. */
const char *camilladsp_text(const yaml_node_t *node);

/* Of a list the element at an index, or NULL past the last. */
bool camilladsp_is_list(const yaml_node_t *node);
yaml_node_t *camilladsp_item(struct camilladsp *camilladsp, const yaml_node_t *list, size_t index);

/* Later messages are about the line of this node (NULL: the one before). */
void camilladsp_at(struct camilladsp *camilladsp, const yaml_node_t *node);

/* What stands at a key, left as it is where the key is missing. Errors: another kind. */
MUST_CHECK enum status camilladsp_number(struct camilladsp *camilladsp, const yaml_node_t *mapping,
                                         const char *key, double *value);
MUST_CHECK enum status camilladsp_count(struct camilladsp *camilladsp, const yaml_node_t *mapping,
                                        const char *key, uint64_t *value);
MUST_CHECK enum status camilladsp_bool(struct camilladsp *camilladsp, const yaml_node_t *mapping,
                                       const char *key, bool *value);

/* gain, scale, inverted and mute, as gain filters and mixers have them, as one factor. */
MUST_CHECK enum status camilladsp_gain(struct camilladsp *camilladsp, const yaml_node_t *mapping,
                                       double *factor);

/* A filter of the configuration on an output of the matrix. Errors: no such filter, one that
 * is more than convolution, gain and delay. */
MUST_CHECK enum status camilladsp_filter(struct camilladsp *camilladsp, const yaml_node_t *filter,
                                         const char *name, size_t output);

#endif
