/* The stage that convolves with a mask, which can be switched live; and masks read from the same
 * specs without a stage. */
#ifndef HALO_STAGE_MASK_H
#define HALO_STAGE_MASK_H

#include "chain/stages.h"

/* Give a stage with has_choices a mask, which it owns; returns the old one, which the caller owns.
 * Either may be NULL. */
struct mask *stage_mask_swap(struct stage *stage, struct mask *mask);

/* A mask from the spec of a mask stage, for a sound of `format`, with the share that @mix= leaves
 * of its input in `dry`; and the file that the spec names, for free(), or NULL for a made mask
 * (design.h). */
MUST_CHECK enum status stage_mask_read(const char *text, const struct stream_format *format,
                                       const struct stage_settings *settings, struct mask **mask);
MUST_CHECK enum status stage_mask_file(const char *text, char **file);

/* A mask from such a spec for inspection, at its own rate: what has none, such as a made mask or an
 * equaliser, is for that of `sound`, or this one if it is 0. Routed for its channels; 0: as many as
 * fit. */
enum { STAGE_MASK_USUAL_RATE = 48000 };
MUST_CHECK enum status stage_mask_study(const char *text, const struct stream_format *sound,
                                        struct mask **mask);

/* A two-dimensional mask from a spec of --spectral for inspection, with no options but its own:
 * "gaussian2d:7x7,sigma=1.5", "edge.mask2d". Errors: usage, the file. */
struct mask2d;
MUST_CHECK enum status stage_spectral_study(const char *text, struct mask2d **mask);

#endif
