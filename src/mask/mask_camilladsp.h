/* A CamillaDSP configuration while it is read. Its YAML nodes are those of libyaml. */
#ifndef HALO_MASK_CAMILLADSP_H
#define HALO_MASK_CAMILLADSP_H

#include "mask/mask_config.h"
#include "mask/mask_matrix.h"
#include "mask/yaml_library.h"

enum { CAMILLADSP_NAME_MOST = 1024 };
#define CAMILLADSP_BYPASS_ADVICE "set bypassed: true on its step, or remove it"

struct camilladsp {
    struct mask_config *config; /* with the matrix */
    yaml_document_t document;
    size_t channels;                        /* of the capture device */
    bool is_selected[MATRIX_CHANNELS_MOST]; /* outputs that the current step filters */
    bool *is_known; /* keys that were asked for, by the number of their node */
};

/* Carry out the merge keys of the document. Errors: a value that cannot be merged, too much. */
MUST_CHECK enum status camilladsp_merge(struct camilladsp *dsp);

/* The value of a key in a mapping; NULL if missing or null (~, null, empty). */
yaml_node_t *camilladsp_get(struct camilladsp *dsp, const yaml_node_t *mapping, const char *key);

/* Refuse a key of a mapping that nothing has asked for, as CamillaDSP does: a misspelt one, one
 * given twice, the rest of a number with a decimal comma. */
MUST_CHECK enum status camilladsp_check_keys(struct camilladsp *dsp, const yaml_node_t *mapping);

/* Ask for keys that do not matter to a mask; the last is NULL. */
void camilladsp_know(struct camilladsp *dsp, const yaml_node_t *mapping, const char *const *keys);

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

/* The same; a missing key is an error. */
MUST_CHECK enum status camilladsp_required(struct camilladsp *dsp, const yaml_node_t *mapping,
                                           const char *key, double *value);

/* A list of numbers; the caller frees the values, also after an error. */
MUST_CHECK enum status camilladsp_numbers(struct camilladsp *dsp, const yaml_node_t *mapping,
                                          const char *key, struct mask_values *values);

/* Refuse the value of `key`, which must be `kind`. */
MUST_CHECK enum status camilladsp_refuse_value(struct camilladsp *dsp, const yaml_node_t *node,
                                               const char *key, const char *kind);

/* gain, scale, inverted and mute of a gain filter or mixer source as one factor. */
MUST_CHECK enum status camilladsp_gain(struct camilladsp *dsp, const yaml_node_t *mapping,
                                       double *factor);

/* A name with $samplerate$ and $channels$ replaced, in CAMILLADSP_NAME_MOST bytes. */
MUST_CHECK enum status camilladsp_expand(struct camilladsp *dsp, const char *from, char *name);

/* ---- filters of the selected outputs ---- */

MUST_CHECK enum status camilladsp_apply(struct camilladsp *dsp, double gain, uint64_t delay,
                                        const double *taps, size_t count);

/* Errors: it does not die out. */
MUST_CHECK enum status camilladsp_apply_recursive(struct camilladsp *dsp,
                                                  const struct recursive *filter);
MUST_CHECK enum status camilladsp_apply_biquads(struct camilladsp *dsp,
                                                const struct biquad *biquads, size_t count);

/* A filter of the configuration by its name. Errors: no such filter, one that is not linear or
 * follows a control. */
MUST_CHECK enum status camilladsp_filter(struct camilladsp *dsp, const yaml_node_t *filter,
                                         const char *name);

/* Filters of one type, from their parameters. */
MUST_CHECK enum status camilladsp_conv(struct camilladsp *dsp, const yaml_node_t *parameters);
MUST_CHECK enum status camilladsp_biquad(struct camilladsp *dsp, const yaml_node_t *parameters);
MUST_CHECK enum status camilladsp_biquad_combo(struct camilladsp *dsp,
                                               const yaml_node_t *parameters);

/* A delay as CamillaDSP makes it, less some frames: whole frames and, with `subsample`, perhaps an
 * allpass filter. A unit of NULL is ms. */
struct camilladsp_delay {
    uint64_t frames;
    bool has_allpass;
    struct biquad allpass;
};
MUST_CHECK enum status camilladsp_delay(struct camilladsp *dsp, const char *unit, double delay,
                                        double less_frames, bool subsample,
                                        struct camilladsp_delay *result);

/* The processor RACE: each of two channels gets the other one, delayed and inverted, in turn. */
MUST_CHECK enum status camilladsp_race(struct camilladsp *dsp, const yaml_node_t *parameters);

#endif
