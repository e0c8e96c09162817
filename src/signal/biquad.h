/* Second-order sections of an equaliser, and their responses.
 *
 * R. Bristow-Johnson, "Cookbook formulae for audio equalizer biquad filter coefficients".
 * Frequencies in Hz, below half the rate; gain in dB; q above 0. Threads: any.
 */
#ifndef HALO_BIQUAD_H
#define HALO_BIQUAD_H

#include <stdbool.h>
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
    /* First-order sections, by the bilinear transform; q is not used. */
    BIQUAD_LOWPASS_FIRST,
    BIQUAD_HIGHPASS_FIRST,
    BIQUAD_LOW_SHELF_FIRST,
    BIQUAD_HIGH_SHELF_FIRST,
    BIQUAD_ALLPASS_FIRST,
};

/* b[0] + b[1] z^-1 + b[2] z^-2 over 1 + a[0] z^-1 + a[1] z^-2 */
struct biquad {
    double b[3];
    double a[2];
};

struct biquad biquad_make(enum biquad_kind kind, double frequency, double gain, double q,
                          double rate);

/* Zeros at `zero`, poles at `pole`, in Hz. Gain 1 at 0 Hz (is_one_at_dc) or at half the rate. */
struct biquad biquad_general_notch(double zero, double pole, double q, bool is_one_at_dc,
                                   double rate);

/* Makes a closed box sound as if it had the wanted frequency and q (S. Linkwitz). */
struct biquad biquad_linkwitz_transform(double frequency, double q, double wanted_frequency,
                                        double wanted_q, double rate);

/* q for a bandwidth in octaves, and for a shelf's slope (1: the steepest without a peak). */
double biquad_octaves_to_q(double octaves, double frequency, double rate);
double biquad_slope_to_q(double slope, double gain);

/* The magnitude of the section's response, linear. */
double biquad_magnitude(const struct biquad *biquad, double frequency, double rate);

/* Filters in place, beginning with silence. */
void biquad_filter(const struct biquad *biquad, double *samples, size_t count);

/* The magnitude of the larger pole, which is the decay per sample. */
double biquad_pole(const struct biquad *biquad);

#endif
