/* Masks read from the specs of --spectral without a stage:
 *
 *   --spectral gaussian2d:7x7,sigma=1.5,size=4096        --spectral edge.mask2d,mode=gain
 *   --spectral preset=harmonic
 */
#ifndef HALO_STAGE_SPECTRAL_H
#define HALO_STAGE_SPECTRAL_H

#include "base/status.h"
#include "mask/mask2d.h"

/* A mask from such a spec for inspection, with no options but its own. Errors: usage, the file. */
MUST_CHECK enum status stage_spectral_study(const char *text, struct mask2d **mask);

#endif
