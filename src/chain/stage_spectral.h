/* What others than the stage read by the specs of --spectral:
 *
 *   --spectral gaussian2d:7x7,sigma=1.5,size=4096        --spectral edge.mask2d,mode=gain
 *   --spectral preset=harmonic
 */
#ifndef HALO_STAGE_SPECTRAL_H
#define HALO_STAGE_SPECTRAL_H

#include "base/status.h"
#include "mask/mask2d.h"

/* A mask of two dimensions from such a spec, to look at: there may be no options but its own. */
MUST_CHECK enum status stage_spectral_study(const char *text, struct mask2d **mask);

#endif
