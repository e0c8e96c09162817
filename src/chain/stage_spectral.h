/* The stage that convolves a spectrogram: from the user's words to its filter (spectral.h).
 *
 *   --spectral gaussian2d:7x7,sigma=1.5,size=4096        --spectral edge.mask2d,mode=gain
 *   --spectral preset=harmonic
 */
#ifndef HALO_STAGE_SPECTRAL_H
#define HALO_STAGE_SPECTRAL_H

#include "chain/specs.h"
#include "convolve/spectral.h"
#include "mask/mask2d.h"

#include <jansson.h>

struct stage_spectral {
    struct mask2d *mask; /* NULL with a preset */
    struct spectral_settings settings;
};

/* See struct stage_kind. */
MUST_CHECK enum status stage_spectral_load(struct stage *stage, char **spec,
                                           const struct stream_format *format,
                                           const struct stage_settings *settings);
MUST_CHECK enum status stage_spectral_create(struct stage *stage, size_t block,
                                             struct workers *workers, struct filter **filter);
size_t stage_spectral_preferred_block(const struct stage *stage, struct workers *workers, size_t most);

void stage_spectral_destroy(struct stage_spectral *spectral);

/* A mask of two dimensions from such words, to look at: there may be none but its own. */
MUST_CHECK enum status stage_spectral_study(const char *text, struct mask2d **mask);

/* What a report says of a stage that has been created. */
void stage_spectral_json(const struct stage *stage, json_t *object);

#endif
