/* A stage that convolves with a mask, switched live. Reads masks of specs also without a stage. */
#ifndef HALO_STAGE_MASK_H
#define HALO_STAGE_MASK_H

#include "chain/stages.h"

/* Give a stage with has_choices a mask, which the stage then owns. Returns the old mask, which the
 * caller owns. Either may be NULL. */
struct mask *stage_mask_swap(struct stage *stage, struct mask *mask);

/* The mask of a stage. NULL: the stage has none. */
const struct mask *stage_mask_of(const struct stage *stage);

/* stage_mask_read() reads the mask in the spec of a mask stage, for a sound of `format`. mask->dry
 * is the share of the input that @mix= leaves. stage_mask_file() gets the file that the spec names,
 * which the caller frees, or NULL for a made mask (design.h). */
MUST_CHECK enum status stage_mask_read(const char *text, const struct stream_format *format,
                                       const struct stage_settings *settings, struct mask **mask);
MUST_CHECK enum status stage_mask_file(const char *text, char **file);

/* Read a mask from such a spec for inspection, at its own rate. If the mask has none, as made masks
 * and equalisers, it is made for the rate of `sound`, or if that is 0 for MASK_USUAL_RATE. Its paths
 * are for the channels of `sound`; 0: as many as fit. */
MUST_CHECK enum status stage_mask_study(const char *text, const struct stream_format *sound,
                                        struct mask **mask);

/* Read a two-dimensional mask from a spec of --spectral for inspection: "gaussian2d:7x7,sigma=1.5",
 * "edge.mask2d". Only options of the mask are allowed. Errors: usage, the file. */
struct mask2d;
MUST_CHECK enum status stage_spectral_study(const char *text, struct mask2d **mask);

#endif
