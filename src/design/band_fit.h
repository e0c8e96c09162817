/* Fits bands of an equaliser to the magnitude of taps, smoothed over a sixth of an octave from 20 Hz
 * to 20 kHz: a low and a high shelf if there are three bands or more, and peaks. Threads: any. Not
 * real-time. */
#ifndef HALO_BAND_FIT_H
#define HALO_BAND_FIT_H

#include "base/status.h"
#include "signal/eq_bands.h"

enum { BAND_FIT_MOST = 32, BAND_FIT_RATE_LEAST = 1000 /* Hz */ };

/* `rate` is at least BAND_FIT_RATE_LEAST. *error: the root of the mean square of the difference, in
 * dB. Errors: memory. */
MUST_CHECK enum status band_fit(const double *taps, size_t taps_count, double rate, size_t count,
                                struct eq_bands *bands, double *error);

#endif
