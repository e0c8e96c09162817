/* Reference for --spectral, in double precision and in one pass: written for the tests alone
 * from the contracts in spectral.h and mask2d.h, with its own Fourier transform. */
#ifndef HALO_TESTS_SPECTRAL_TRUTH_H
#define HALO_TESTS_SPECTRAL_TRUTH_H

#include "convolve/spectral.h"

struct spectral_truth {
    const struct spectral_settings *settings; /* window, scale, mode, edge; end: 0 or 1 */
    const struct mask2d *mask;                /* NULL: settings->separation */
    const double *window;                     /* of settings->window, by its formula */
};

/* The gains computed from the picture of `x`, applied to the sound `part` (NULL: to x itself):
 * frame i of the result belongs to frame i of x; n + size - 1 frames. For free(). */
double *spectral_truth_render(const struct spectral_truth *truth, const float *x, size_t n,
                              const float *part);

/* The periodic window by its textbook formula; for free(). */
double *spectral_truth_window(const struct spectral_window_settings *settings);

/* The mean over rows x columns. */
struct mask2d *spectral_truth_mean(size_t rows, size_t columns);

#endif
