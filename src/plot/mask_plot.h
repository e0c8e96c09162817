/* Draws curves of masks by gnuplot, in subplots, with a curve for each channel (mask_curves.h).
 *
 * Magnitudes of reverberation are drawn pale, with the mean power of a twelfth of an octave over
 * them. Threads: one. Not real-time.
 */
#ifndef HALO_MASK_PLOT_H
#define HALO_MASK_PLOT_H

#include "base/status.h"
#include "mask/mask.h"
#include "sweep/measurement.h"

enum mask_subplot {
    MASK_SUBPLOT_IMPULSE,
    MASK_SUBPLOT_STEP,
    MASK_SUBPLOT_ENERGY,
    MASK_SUBPLOT_DECAY,
    MASK_SUBPLOT_MAGNITUDE,
    MASK_SUBPLOT_PHASE,
    MASK_SUBPLOT_DELAY,
    MASK_SUBPLOT_SNR,
    MASK_SUBPLOT_DISTORTION,  /* one for each channel */
    MASK_SUBPLOT_SPECTROGRAM, /* one for each channel */
    MASK_SUBPLOT_WATERFALL,   /* one for each channel */
    MASK_SUBPLOTS
};

enum mask_time_axis { MASK_TIME_AUTO, MASK_TIME_LINEAR, MASK_TIME_LOG };

enum { MASK_PLOT_CURVES = 32 };

struct mask_plot_curve {
    char name[96]; /* for the legend */
    const struct mask *mask;
    size_t column;
    uint32_t rate;
    const struct measured_path *measured; /* measurement of the column; NULL: none */
};

struct mask_plot {
    const char *file;             /* .svg, .png or .pdf; NULL: characters on standard output */
    const char *title;            /* title of the drawing */
    bool force;                   /* replace an existing file */
    size_t width, height;         /* pixels, or characters without a file; 0: the default */
    bool subplots[MASK_SUBPLOTS]; /* none: the subplots that suit the masks */
    size_t range;                 /* dB below the largest; 0: the default */
    size_t low, high;             /* Hz; 0: 20 Hz, or half the rate */
    size_t smoothing;             /* parts of an octave; 0: a twelfth, and only for reverberation */
    bool has_from, has_to;
    double from, to; /* seconds from a mask's origin */
    enum mask_time_axis time;
    bool mean; /* also draw the mean power of all magnitudes, with the spread of their levels */
    size_t count;
    struct mask_plot_curve curves[MASK_PLOT_CURVES];
};

/* The frequency axis in Hz. Errors: usage, limits that leave nothing. */
MUST_CHECK enum status mask_plot_frequencies(const struct mask_plot *plot, double *low,
                                             double *high);

/* Errors: no gnuplot, or it fails; the file exists; limits that leave nothing; memory. */
MUST_CHECK enum status mask_plot_draw(const struct mask_plot *plot);

#endif
