/* Draws curves of masks through gnuplot, one for each channel, in subplots (mask_curves.h).
 *
 * Magnitudes of reverberation are drawn pale, with the mean power of a twelfth of an octave over
 * them. Threads: one. Not real-time.
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
    const char *file;             /* .svg, .png or .pdf; NULL: text on standard output */
    bool force;                   /* replace an existing file */
    size_t width, height;         /* of text, in characters */
    bool subplots[MASK_SUBPLOTS]; /* none: those that suit the masks */
    size_t count;
    struct mask_plot_curve curves[MASK_PLOT_CURVES];
};

/* Errors: no gnuplot, or it fails; the file exists; memory. */
MUST_CHECK enum status mask_plot_draw(const struct mask_plot *plot);

#endif
