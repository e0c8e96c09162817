/* Second-order sections of an equaliser, and their responses.
 *
 * R. Bristow-Johnson, "Cookbook formulae for audio equalizer biquad filter coefficients".
 * Frequencies in Hz, below half the rate; gain in dB; q above 0. Threads: any.
 */
#ifndef HALO_BIQUAD_H
#define HALO_BIQUAD_H

#include <stddef.h>

enum biquad_kind {
    BIQUAD_PEAK,
    BIQUAD_LOW_SHELF,
    BIQUAD_HIGH_SHELF,
    BIQUAD_LOWPASS,
    BIQUAD_HIGHPASS,
    BIQUAD_BANDPASS, /* gain 1 at its frequency */
    BIQUAD_NOTCH,
    BIQUAD_ALLPASS,
};

/* b[0] + b[1] z^-1 + b[2] z^-2 over 1 + a[0] z^-1 + a[1] z^-2 */
struct biquad {
    double b[3];
    double a[2];
};

struct biquad biquad_make(enum biquad_kind kind, double frequency, double gain, double q,
                          double rate);

/* The magnitude of its response, linear. */
double biquad_magnitude(const struct biquad *biquad, double frequency, double rate);

/* Filter in place, from silence. */
void biquad_filter(const struct biquad *biquad, double *samples, size_t count);

/* The larger magnitude of its two poles: the decay per sample. */
double biquad_pole(const struct biquad *biquad);

#endif
