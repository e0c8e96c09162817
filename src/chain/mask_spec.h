/* Masks from the words of a spec (spec.h): hall.wav gain=-6, lowpass:1000 taps=255. */
#ifndef HALO_MASK_SPEC_H
#define HALO_MASK_SPEC_H

#include "chain/mask_options.h"

/* Read or make the mask, and parse its options: those of a made mask are removed from `spec`, the
 * others are in `options`, for mask_options_apply. Errors: usage, those of design_load. */
MUST_CHECK enum status mask_spec_load(char **spec, struct mask_options *options,
                                      struct mask **mask);

#endif
