/* The output of halo mask show, as text and JSON. */
#ifndef HALO_MASK_SUMMARY_H
#define HALO_MASK_SUMMARY_H

#include "acoustics/mask_stats.h"
#include "design/mask2d.h"
#include "mask/mask.h"
#include "sweep/measurement.h"

#include <jansson.h>

struct mask_summary {
    const char *text; /* the user's words, with options */
    const struct mask *mask;
    const struct mask_stats *stats;
    const struct measurement *measurement; /* see mask_measured.h; NULL: none */
    const struct mask_trouble *troubles;
    size_t trouble_count;
};

/* Print to standard output. */
void mask_summary_print(const struct mask_summary *summary);

/* A new reference. Gains and levels are in dB (null for 0), times in frames. NULL: no memory. */
json_t *mask_summary_object(const struct mask_summary *summary);

/* ---- masks of two dimensions ---- */

/* Prints to standard output. `text` is the user's name for the mask. */
void mask2d_summary_print(const char *text, const struct mask2d *mask);

/* Returns a new reference. NULL: no memory. */
json_t *mask2d_summary_object(const char *text, const struct mask2d *mask);

/* Draws the mask in at most `width` x `height` characters, with time to the right and frequency
 * upwards. A character may stand for several cells and shows the largest. */
void mask2d_print_picture(const struct mask2d *mask, size_t width, size_t height);

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
