/* A CamillaDSP configuration that is being read. Its YAML nodes are libyaml's. */
#ifndef HALO_MASK_CAMILLADSP_H
#define HALO_MASK_CAMILLADSP_H

#include "import/mask_config.h"
#include "import/mask_matrix.h"
#include "import/yaml_library.h"

enum { CAMILLADSP_NAME_MOST = 1024 };

struct camilladsp {
    struct mask_config *config; /* has the matrix */
    yaml_document_t document;
    size_t channels;                        /* channels of the capture device */
    bool is_selected[MATRIX_CHANNELS_MOST]; /* outputs that the current step filters */
    bool *is_known;                         /* [node number] the key was asked for */
};

#define camilladsp_refuse(dsp, ...) mask_config_refuse((dsp)->config, __VA_ARGS__)

/* The value of a key in a mapping; NULL if missing or null (~, null, empty). */
yaml_node_t *camilladsp_get(struct camilladsp *dsp, const yaml_node_t *mapping, const char *key);

/* Refuses a key of a mapping that no call has asked for, as CamillaDSP does. It is a misspelt key,
 * one given twice, or the rest of a number with a decimal comma. */
MUST_CHECK enum status camilladsp_check_keys(struct camilladsp *dsp, const yaml_node_t *mapping);

/* The text of a scalar; NULL for other nodes. */
const char *camilladsp_text(const yaml_node_t *node);

/* Sets the line of later messages to the node's. NULL: the line stays. */
void camilladsp_at(struct camilladsp *dsp, const yaml_node_t *node);

/* Reads the value of a key. If the key is missing, *value stays. Errors: another type. */
MUST_CHECK enum status camilladsp_count(struct camilladsp *dsp, const yaml_node_t *mapping,
                                        const char *key, uint64_t *value);
MUST_CHECK enum status camilladsp_bool(struct camilladsp *dsp, const yaml_node_t *mapping,
                                       const char *key, bool *value);

/* Reads a number. Errors: the key is missing. */
MUST_CHECK enum status camilladsp_required(struct camilladsp *dsp, const yaml_node_t *mapping,
                                           const char *key, double *value);

/* Reads a list of numbers. The caller frees the values, even after an error. */
MUST_CHECK enum status camilladsp_numbers(struct camilladsp *dsp, const yaml_node_t *mapping,
                                          const char *key, struct mask_values *values);

/* The factor by the keys gain, scale, inverted and mute of a gain filter or a mixer's source. */
MUST_CHECK enum status camilladsp_gain(struct camilladsp *dsp, const yaml_node_t *mapping,
                                       double *factor);

/* Copies a name and replaces $samplerate$ and $channels$. `name` has CAMILLADSP_NAME_MOST bytes. */
MUST_CHECK enum status camilladsp_expand(struct camilladsp *dsp, const char *from, char *name);

/* Applies a filter to the selected outputs. Errors: unknown name, not linear, controlled. */
MUST_CHECK enum status camilladsp_filter(struct camilladsp *dsp, const yaml_node_t *filter,
                                         const char *name);

/* The processor RACE: two channels get each other, delayed and inverted, again and again. */
MUST_CHECK enum status camilladsp_race(struct camilladsp *dsp, const yaml_node_t *parameters);

#endif
