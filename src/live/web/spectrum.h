/* The spectrum of a live stream's recent sound, in bands of 1/12 octave.
 *
 * Band i has its centre at 1000 * 2^((i - 68) / 12) Hz: from 19.7 Hz to 19 kHz. A full-scale sine
 * reads 0 dB, also at the edge of two bands (to 1 dB); the power of all channels is summed. White
 * noise rises by 3 dB an octave. Silence and bands above half the rate read -144 dB.
 * Windows are Hann's, about 55 cycles long or longer: 3.8 s from 20 Hz, 1.9 s from 39 Hz, 0.9 s
 * from 77 Hz, and 0.34 s from 193 Hz on. Below that the sound is first brought to a rate of 1.1 kHz.
 * Threads: one at a time, not real-time. The step writes the history meanwhile. */
#ifndef HALO_SPECTRUM_H
#define HALO_SPECTRUM_H

#include "live/live_change.h"

enum { SPECTRUM_BANDS = 120 };

/* The level of silence, in dB. */
#define SPECTRUM_LEAST (-144.0)

struct spectrum;

/* Frames that a history should keep for spectra. With many channels it keeps fewer. */
size_t spectrum_history(size_t channels, uint32_t rate);

/* Errors: memory. */
MUST_CHECK enum status spectrum_create(size_t channels, uint32_t rate, struct spectrum **spectrum);
void spectrum_destroy(struct spectrum *spectrum);

/* Reads the present spectrum in dB, about five times a second. `history`: of the same channels and
 * rate; it may be another stream's than before. Returns false if there is no reading: the stream
 * has just begun, or the step overtook the reader. */
bool spectrum_read(struct spectrum *spectrum, const struct live_history *history,
                   float db[static SPECTRUM_BANDS]);

#endif
