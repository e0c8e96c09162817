/* What the files of mask_plot.h share: a drawing while its commands are sent to gnuplot. Threads:
 * one. Not real-time. */
#ifndef HALO_MASK_DRAWING_H
#define HALO_MASK_DRAWING_H

#include "mask/mask_curves.h"
#include "mask/mask_plot.h"

#include <stdio.h>

/* Where subplots are, in pixels. */
struct plot_layout {
    double width, height; /* of the whole */
    double head;          /* of the title or legend above */
    size_t columns, rows; /* of subplots */
    bool has_scale;       /* some have a scale at their right */
    size_t entries;       /* of the legend in a row */
};

struct mask_drawing {
    const struct mask_plot *plot;
    FILE *gnuplot;
    bool subplots[MASK_SUBPLOTS];
    struct mask_spectrum spectra[MASK_PLOT_CURVES];
    bool rough[MASK_PLOT_CURVES];
    double low, high;      /* Hz */
    struct time_axis time; /* logarithmic: of impulse and step alone, unless asked for */
    struct plot_layout layout;
    size_t subplot; /* the next */
};

/* The layout of a file; `count` at least 1, of subplots. Errors: usage, subplots too small to read.
 */
MUST_CHECK enum status mask_layout_init(struct plot_layout *layout, const struct mask_plot *plot,
                                        size_t count, bool has_scale);

/* The title of one curve, or the legend of several, with the first subplot. */
void mask_layout_send_head(const struct mask_drawing *drawing);

/* Place the next subplot. inset: pixels that it leaves free on both sides. */
void mask_layout_send_place(struct mask_drawing *drawing, double inset);

/* " lc ... dt ..." of a curve: eight colours, then other dashes. Pale: behind another. */
void mask_layout_send_colour(FILE *gnuplot, size_t curve);
void mask_layout_send_pale(FILE *gnuplot, size_t curve);

/* Labels for a logarithmic x axis. */
void mask_layout_send_hertz(const struct mask_drawing *drawing);

/* A subplot of one kind; gnuplot's settings are restored. Errors: memory. */
MUST_CHECK enum status mask_subplot_times(const struct mask_drawing *drawing,
                                          enum mask_subplot subplot);
MUST_CHECK enum status mask_subplot_frequencies(const struct mask_drawing *drawing,
                                                enum mask_subplot subplot);
MUST_CHECK enum status mask_subplot_spectrogram(const struct mask_drawing *drawing, size_t curve);
MUST_CHECK enum status mask_subplot_waterfall(const struct mask_drawing *drawing, size_t curve);

#endif
