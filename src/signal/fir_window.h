/* The samples that a run of taps reads for a tile of outputs. For fir.c and fir_in_double.c. */
#ifndef HALO_FIR_WINDOW_H
#define HALO_FIR_WINDOW_H

#include "base/realtime.h"
#include "signal/real.h"

#include <string.h>

enum { FIR_RUN = 32 }; /* taps per partial sum; short sums limit rounding */

struct fir_window {
    real frames[FIR_RUN + FIR_TILE];
};

/* Returns x or, for a short tile, a padded copy: nothing after its last frame is read. */
HALO_REALTIME static inline const real *fir_window_at(struct fir_window *window, const real *x,
                                                      size_t frames, size_t count)
{
    if (frames == FIR_TILE)
        return x;
    size_t before = count - 1;
    memcpy(window->frames, x - before, (before + frames) * sizeof *x);
    memset(window->frames + before + frames, 0, (FIR_TILE - frames) * sizeof *x);
    return window->frames + before;
}

#endif
