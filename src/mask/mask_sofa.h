/* Masks from SOFA files (AES69): head-related and room responses, measured from many directions.
 *
 * A direction makes a mask of one input, a layout of loudspeakers one with an input for each; a
 * file that measured several sources at once (data type FIR-E) has an input for each of these.
 * Outputs are the receivers: for a head the left ear, then the right one.
 *
 * Without the options the sound's channels are the loudspeakers, or the front is taken. Threads:
 * any. Not real-time. */
#ifndef HALO_MASK_SOFA_H
#define HALO_MASK_SOFA_H

#include "mask/mask.h"
#include "mask/sofa_file.h"

/* A mask of what a file holds, which may be damaged; *mask is to be destroyed also after a failure.
 * Errors: other data than impulse responses, damage, options that do not fit, memory. */
MUST_CHECK enum status mask_sofa_make(const char *name, const struct sofa_file *file,
                                      const struct mask_load_options *options, struct mask **mask);

#endif
