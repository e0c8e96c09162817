/* The stage that convolves by a mask, whose masks can be switched live; and masks read by the same
 * specs without a stage.
 */
#ifndef HALO_STAGE_MASK_H
#define HALO_STAGE_MASK_H

#include "chain/stages.h"

/* A stage with has_choices convolves by `mask` from here on, and owns it; the one that it had is
 * the caller's. Either may be NULL. */
struct mask *stage_mask_swap(struct stage *stage, struct mask *mask);

/* A mask from a spec as a mask stage has it, for a sound of `format`; the file it names, for
 * free(), or NULL where the mask is made (design.h). */
MUST_CHECK enum status stage_mask_read(const char *text, const struct stream_format *format,
                                       const struct stage_settings *settings, struct mask **mask);
MUST_CHECK enum status stage_mask_file(const char *text, char **file);

/* A mask from such a spec to look at, at its own rate, routed for a sound of `channels`; 0: for one
 * that goes with it. A mask that names no rate counts in this one. */
enum { STAGE_MASK_USUAL_RATE = 48000 };
MUST_CHECK enum status stage_mask_study(const char *text, size_t channels, struct mask **mask);

#endif
