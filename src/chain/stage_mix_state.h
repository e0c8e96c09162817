/* The part of a mix filter that its controls change, common to both precisions. Private to
 * stage_mix.c and stage_mix_step.c. */
#ifndef HALO_STAGE_MIX_STATE_H
#define HALO_STAGE_MIX_STATE_H

#include "chain/stage_mix.h"

#include <stdatomic.h>

struct stage_mix_state {
    struct filter filter;
    bool absent; /* the current block is, or was when this was recorded */
    bool was_absent;
    _Atomic bool left_out;
    bool keeps_dry;       /* @wet= */
    _Atomic double value; /* share, or dB */
    _Atomic bool bypass;
};

#endif
