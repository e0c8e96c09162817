/* The windows of a short-time Fourier transform, and whether they reconstruct the sound.
 *
 * A window is applied twice, before the forward and after the inverse transform. Overlap-add
 * reconstructs the sound if the sum of w[n - k hop]^2 over k is the same for all n.
 * Windows are periodic: the last of size + 1 points of a symmetric window is dropped.
 * Threads: any.
 */
#ifndef HALO_SPECTRAL_WINDOW_H
#define HALO_SPECTRAL_WINDOW_H

#include "base/status.h"

enum { SPECTRAL_SIZE_LEAST = 16, SPECTRAL_SIZE_MOST = 1 << 16 };

enum spectral_shape {
    SPECTRAL_HANN,
    SPECTRAL_HAMMING,
    SPECTRAL_BLACKMAN,
    SPECTRAL_SINE,
    SPECTRAL_RECTANGLE,
    SPECTRAL_SHAPES
};

/* For options_choose; ends with NULL. */
extern const char *const spectral_shape_names[SPECTRAL_SHAPES + 1];

struct spectral_window_settings {
    enum spectral_shape shape;
    size_t size; /* samples, even */
    size_t hop;
};

/* `size` values. */
void spectral_window_fill(const struct spectral_window_settings *settings, double *window);

/* *sum: of the squared windows at a sample. Errors: memory; size or hop out of range; no
 * reconstruction, listing hops that work. */
MUST_CHECK enum status spectral_window_check(const struct spectral_window_settings *settings,
                                             double *sum);

#endif
