/* One panel of a plot of masks, as gnuplot's commands and data. Part of mask_plot.c.
 *
 * A panel leaves gnuplot's settings as it found them. Threads: one. Not real-time.
 */
#ifndef HALO_MASK_PANEL_H
#define HALO_MASK_PANEL_H

#include "mask/mask_curves.h"
#include "mask/mask_plot.h"

#include <stdio.h>

struct mask_drawing {
    const struct mask_plot *plot;
    FILE *gnuplot;
    bool panels[MASK_PANELS];
    struct mask_spectrum spectra[MASK_PLOT_CURVES];
    bool rough[MASK_PLOT_CURVES];
};

/* A panel with all curves, or the spectrograms of each. Errors: memory. */
MUST_CHECK enum status mask_panel_send(const struct mask_drawing *drawing, enum mask_panel panel);

#endif
