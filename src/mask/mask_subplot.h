/* One panel of a plot of masks, as gnuplot's commands and data. Part of mask_plot.c.
 *
 * A panel leaves gnuplot's settings as it found them. Threads: one. Not real-time.
 */
#ifndef HALO_MASK_SUBPLOT_H
#define HALO_MASK_SUBPLOT_H

#include "mask/mask_curves.h"
#include "mask/mask_plot.h"

#include <stdio.h>

struct mask_drawing {
    const struct mask_plot *plot;
    FILE *gnuplot;
    bool subplots[MASK_SUBPLOTS];
    struct mask_spectrum spectra[MASK_PLOT_CURVES];
    bool rough[MASK_PLOT_CURVES];
};

/* A panel with all curves, or the spectrograms of each. Errors: memory. */
MUST_CHECK enum status mask_subplot_send(const struct mask_drawing *drawing, enum mask_subplot subplot);

#endif
