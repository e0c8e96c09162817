/* A preset of EasyEffects while it is read: plugins in series, which filter two channels. */
#ifndef HALO_MASK_EASYEFFECTS_H
#define HALO_MASK_EASYEFFECTS_H

#include "mask/mask_json.h"
#include "mask/mask_matrix.h"

struct easyeffects {
    struct mask_config *config; /* with the matrix, of two inputs and outputs */
    struct mask_json json;      /* of the current plugin */
    bool is_preparing;          /* kernels are loaded; nothing is filtered yet */
};

/* A number; missing: *value stays. Errors: it is beyond these limits, those of EasyEffects. */
MUST_CHECK enum status easyeffects_number(struct easyeffects *preset, const json_t *object,
                                          const char *key, double least, double most,
                                          double *value);

/* A gain in dB as a factor; missing: 0 dB. */
MUST_CHECK enum status easyeffects_gain(struct easyeffects *preset, const json_t *object,
                                        const char *key, double *factor);

/* Say that a setting which is not in `known` has no effect, as in EasyEffects. */
void easyeffects_note_unknown(const struct easyeffects *preset, const json_t *settings,
                              const char *const *known);

/* The kernel of a convolver, owned by the configuration, whose rate it sets. */
MUST_CHECK enum status easyeffects_kernel(struct easyeffects *preset, const json_t *plugin,
                                          const struct mask **kernel);

MUST_CHECK enum status easyeffects_convolver(struct easyeffects *preset, const json_t *plugin);
MUST_CHECK enum status easyeffects_equalizer(struct easyeffects *preset, const json_t *plugin);

#endif
