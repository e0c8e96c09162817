/* The fade from one mask of a convolver to the next; compiled for each precision. Real-time. */
#include "convolve/convolver_state.h"

#include "base/realtime.h"
#include "signal/real.h"

#include <math.h>

/* Linear factors of the old and the new mask's output. */
struct weights {
    real old;
    real new;
};

HALO_REALTIME static struct weights weights_at(const struct convolver_switch *change,
                                               uint64_t frame)
{
    if (frame < change->at)
        return (struct weights){1, 0};
    if (frame - change->at >= change->frames)
        return (struct weights){0, 1};
    double t = (double)(frame - change->at) / (double)change->frames;
    double steep = change->shape == SWITCH_DUCK ? 2 : 4;
    if (change->shape == SWITCH_FADE)
        return (struct weights){(real)(1 - t), (real)t};
    return (struct weights){(real)fmax(0, 1 - steep * t), (real)fmax(0, steep * t - steep + 1)};
}

HALO_REALTIME void REAL(convolver_fade)(const struct convolver *convolver, real *const *out)
{
    const struct filter *filter = &convolver->filter;
    for (size_t i = 0; i < filter->block; i++) {
        struct weights weights = weights_at(&convolver->change, convolver->position + i);
        if (weights.old == 1)
            continue;
        for (size_t c = 0; c < filter->outputs; c++) {
            real new = convolver->REAL(coming).data[c][i];
            out[c][i] = weights.new == 1 ? new : weights.old * out[c][i] + weights.new * new;
        }
    }
}
