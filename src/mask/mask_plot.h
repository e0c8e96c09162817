/* Draws masks over each other through gnuplot, in panels: a curve for each channel (mask_curves.h).
 *
 * Magnitudes of long masks are drawn twice: pale as they are, and over that the mean power of a
 * twelfth of an octave, which is closer to what is heard. Threads: one. Not real-time.
 */
#ifndef HALO_MASK_PLOT_H
#define HALO_MASK_PLOT_H

#include "base/status.h"
#include "mask/mask.h"

enum mask_subplot {
    MASK_SUBPLOT_IMPULSE,
    MASK_SUBPLOT_STEP,
    MASK_SUBPLOT_MAGNITUDE,
    MASK_SUBPLOT_PHASE,
    MASK_SUBPLOT_DELAY,
    MASK_SUBPLOT_SPECTROGRAM, /* one for each channel */
    MASK_SUBPLOTS
};

enum { MASK_PLOT_CURVES = 12 };

struct mask_plot_curve {
    char name[96]; /* for the legend */
    const struct mask *mask;
    size_t column;
    uint32_t rate;
};

struct mask_plot {
    const char *file;         /* .svg, .png or .pdf; NULL: text, on standard output */
    bool force;               /* replace a file that stands there */
    size_t width, height;     /* of text, in characters */
    bool subplots[MASK_SUBPLOTS]; /* none: those that say something of such masks */
    size_t count;
    struct mask_plot_curve curves[MASK_PLOT_CURVES];
};

/* Errors: there is no gnuplot, it fails, the file stands there, memory. */
MUST_CHECK enum status mask_plot_draw(const struct mask_plot *plot);

#endif
