/* The weights of the old and the new sound at a frame of a switch (convolver.h). Real-time. */
#ifndef HALO_SWITCH_WEIGHTS_H
#define HALO_SWITCH_WEIGHTS_H

#include "base/realtime.h"
#include "convolve/convolver.h"
#include "signal/real.h"

#include <math.h>

/* Linear factors. */
struct switch_weights {
    real old;
    real new;
};

HALO_REALTIME static inline struct switch_weights
switch_weights_at(const struct convolver_switch *change, uint64_t frame)
{
    if (frame < change->at)
        return (struct switch_weights){1, 0};
    if (frame - change->at >= change->frames)
        return (struct switch_weights){0, 1};
    double t = (double)(frame - change->at) / (double)change->frames;
    double steep = change->shape == SWITCH_DUCK ? 2 : 4;
    if (change->shape == SWITCH_FADE)
        return (struct switch_weights){(real)(1 - t), (real)t};
    return (struct switch_weights){(real)fmax(0, 1 - steep * t),
                                   (real)fmax(0, steep * t - steep + 1)};
}

#endif
