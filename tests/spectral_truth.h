/* What --spectral has to make, in double precision and all at once: written for this purpose alone
 * from the words of spectral.h and mask2d.h, with a Fourier transform of its own. */
#ifndef HALO_TESTS_SPECTRAL_TRUTH_H
#define HALO_TESTS_SPECTRAL_TRUTH_H

#include "convolve/spectral.h"

struct spectral_truth {
    const struct spectral_settings *settings; /* window, scale, mode, edge; end: 0 or not */
    const struct mask2d *masks[2];            /* of a preset both, else the first */
    const double *window;                     /* settings->window's, by its formula */
};

/* The gains that the picture of `x` asks for, on the sound `part` (on x itself: NULL): frame i of
 * the result belongs to frame i of x; there are n + size - 1 of them. For free(). */
double *spectral_truth_render(const struct spectral_truth *truth, const float *x, size_t n,
                              const float *part);

/* The window by its textbook formula, periodic; for free(). */
double *spectral_truth_window(const struct spectral_window_settings *settings);

/* A mean over rows x columns. */
struct mask2d *spectral_truth_mean(size_t rows, size_t columns);

#endif
