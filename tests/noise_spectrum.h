/* The noise that a conversion to integers of 16 bits adds: its spectrum, and how loud it is to the
 * ear. */
#ifndef HALO_TESTS_NOISE_SPECTRUM_H
#define HALO_TESTS_NOISE_SPECTRUM_H

#include "signal/quantiser.h"

enum {
    NOISE_PART = 4096,     /* frames of a transform */
    NOISE_STEPS = 1 << 15, /* of full scale */
};

/* One channel of so many frames; the result in steps. */
void noise_quantise(enum dither dither, uint32_t rate, const double *samples, size_t frames,
                    int32_t *out);

/* The mean of the spectra of all whole parts, through a window, up to half the rate: 1 is as much
 * as white noise of a step squared. `error` in steps. */
void noise_spectrum(const double *error, size_t frames, double bins[static NOISE_PART / 2]);

/* The threshold of hearing in dB (Terhardt, "Calculating virtual pitch", Hearing Research 1, 1979).
 */
double noise_threshold(double hertz);

double noise_db(double power);

#endif
