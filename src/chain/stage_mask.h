/* The stage that convolves by a mask: from the user's words to a convolver. specs.c's row leads
 * here; others read masks by such words without a stage.
 */
#ifndef HALO_STAGE_MASK_H
#define HALO_STAGE_MASK_H

#include "chain/specs.h"

/* See struct stage_kind. */
MUST_CHECK enum status stage_mask_load(struct stage *stage, char **spec,
                                       const struct stream_format *format,
                                       const struct stage_settings *settings);
size_t stage_mask_preferred_block(const struct stage *stage, struct workers *workers, size_t most);
MUST_CHECK enum status stage_mask_create(struct stage *stage, size_t block, struct workers *workers,
                                         struct filter **filter);

/* A mask from words as a mask stage has them, for a sound of `format`; the file among them,
 * for free(), or NULL where the mask is made (design.h). */
MUST_CHECK enum status stage_mask_read(const char *text, const struct stream_format *format,
                                       const struct stage_settings *settings, struct mask **mask);
MUST_CHECK enum status stage_mask_file(const char *text, char **file);

/* A mask from such words to look at, at its own rate, routed for a sound of `channels`; 0: for one
 * that goes with it. A mask that names no rate counts in this one. */
enum { STAGE_MASK_USUAL_RATE = 48000 };
MUST_CHECK enum status stage_mask_study(const char *text, size_t channels, struct mask **mask);

#endif
