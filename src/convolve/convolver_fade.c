/* The fade from one mask of a convolver to the next; compiled for each precision. Real-time. */
#include "convolve/convolver_state.h"
#include "convolve/switch_weights.h"

#include "base/realtime.h"
#include "signal/real.h"

HALO_REALTIME void REAL(convolver_fade)(const struct convolver *convolver, real *const *out)
{
    const struct filter *filter = &convolver->filter;
    for (size_t i = 0; i < filter->block; i++) {
        struct switch_weights weights =
            switch_weights_at(&convolver->change, convolver->position + i);
        if (weights.old == 1)
            continue;
        for (size_t c = 0; c < filter->outputs; c++) {
            real new = convolver->REAL(coming).data[c][i];
            out[c][i] = weights.new == 1 ? new : weights.old * out[c][i] + weights.new * new;
        }
    }
}
