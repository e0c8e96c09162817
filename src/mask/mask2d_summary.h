/* The output of halo mask show and plot for two-dimensional masks. Threads: one. Not real-time. */
#ifndef HALO_MASK2D_SUMMARY_H
#define HALO_MASK2D_SUMMARY_H

#include "mask/mask2d.h"

#include <jansson.h>

/* `text` is what the user called it. On standard output. */
void mask2d_summary_print(const char *text, const struct mask2d *mask);

/* A new reference. NULL: memory. */
json_t *mask2d_summary_object(const char *text, const struct mask2d *mask);

/* The mask as characters: time to the right, frequency up. At most `width` x `height`; where the
 * mask has more cells, a character stands for the largest of several. */
void mask2d_print_picture(const struct mask2d *mask, size_t width, size_t height);

/* ---- drawn by gnuplot, side by side ---- */

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
