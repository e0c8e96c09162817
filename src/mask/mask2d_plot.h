/* Draws masks of two dimensions through gnuplot, side by side: what becomes of one cell of a
 * picture, time to the right and frequency up. Threads: one. Not real-time. */
#ifndef HALO_MASK2D_PLOT_H
#define HALO_MASK2D_PLOT_H

#include "mask/mask2d.h"

enum { MASK2D_PLOT_MOST = 12 };

struct mask2d_plot {
    const char *file; /* see gnuplot.h */
    bool force;
    size_t count;
    const struct mask2d *masks[MASK2D_PLOT_MOST];
    const char *names[MASK2D_PLOT_MOST];
};

/* Errors: gnuplot's. */
MUST_CHECK enum status mask2d_plot_draw(const struct mask2d_plot *plot);

#endif
