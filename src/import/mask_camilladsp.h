/* A CamillaDSP configuration while it is read. Its YAML nodes are those of libyaml. */
#ifndef HALO_MASK_CAMILLADSP_H
#define HALO_MASK_CAMILLADSP_H

#include "import/mask_config.h"
#include "import/mask_matrix.h"
#include "import/yaml_library.h"

enum { CAMILLADSP_NAME_MOST = 1024 };

struct camilladsp {
    struct mask_config *config; /* with the matrix */
    yaml_document_t document;
    size_t channels;                        /* of the capture device */
    bool is_selected[MATRIX_CHANNELS_MOST]; /* outputs that the current step filters */
    bool *is_known; /* keys that were asked for, by the number of their node */
};

#define camilladsp_refuse(dsp, ...) mask_config_refuse((dsp)->config, __VA_ARGS__)

/* The value of a key in a mapping; NULL if missing or null (~, null, empty). */
yaml_node_t *camilladsp_get(struct camilladsp *dsp, const yaml_node_t *mapping, const char *key);

/* Refuse a key of a mapping that nothing has asked for, as CamillaDSP does: a misspelt one, one
 * given twice, the rest of a number with a decimal comma. */
MUST_CHECK enum status camilladsp_check_keys(struct camilladsp *dsp, const yaml_node_t *mapping);

/* The text of a scalar; NULL for other nodes. */
const char *camilladsp_text(const yaml_node_t *node);

/* Set the line of later messages to that of a node, unless it is NULL. */
void camilladsp_at(struct camilladsp *dsp, const yaml_node_t *node);

/* The value of a key; unchanged if the key is missing. Errors: another type. */
MUST_CHECK enum status camilladsp_count(struct camilladsp *dsp, const yaml_node_t *mapping,
                                        const char *key, uint64_t *value);
MUST_CHECK enum status camilladsp_bool(struct camilladsp *dsp, const yaml_node_t *mapping,
                                       const char *key, bool *value);

/* A number; a missing key is an error. */
MUST_CHECK enum status camilladsp_required(struct camilladsp *dsp, const yaml_node_t *mapping,
                                           const char *key, double *value);

/* A list of numbers; the caller frees the values, also after an error. */
MUST_CHECK enum status camilladsp_numbers(struct camilladsp *dsp, const yaml_node_t *mapping,
                                          const char *key, struct mask_values *values);

/* gain, scale, inverted and mute of a gain filter or mixer source as one factor. */
MUST_CHECK enum status camilladsp_gain(struct camilladsp *dsp, const yaml_node_t *mapping,
                                       double *factor);

/* A name with $samplerate$ and $channels$ replaced, in CAMILLADSP_NAME_MOST bytes. */
MUST_CHECK enum status camilladsp_expand(struct camilladsp *dsp, const char *from, char *name);

/* Filter the selected outputs with a filter of the configuration. Errors: no such filter, one that
 * is not linear or follows a control. */
MUST_CHECK enum status camilladsp_filter(struct camilladsp *dsp, const yaml_node_t *filter,
                                         const char *name);

/* The processor RACE: each of two channels gets the other one, delayed and inverted, in turn. */
MUST_CHECK enum status camilladsp_race(struct camilladsp *dsp, const yaml_node_t *parameters);

#endif
