/* Where the axes of a spectrogram have ticks, and what stands beside them. Threads: any. */
#ifndef HALO_SPECTROGRAM_TICKS_H
#define HALO_SPECTROGRAM_TICKS_H

#include "spectrogram/spectrogram.h"

enum { SPECTROGRAM_TICKS = 40, SPECTROGRAM_TICK_TEXT = 16 };

struct spectrogram_ticks {
    size_t count;
    double at[SPECTROGRAM_TICKS]; /* Hz or seconds, rising */
};

/* 20, 50, 100 ... where the axis is logarithmic; else and of times every 1, 2 or 5 of something, so
 * that there are no more than `most`. */
struct spectrogram_ticks spectrogram_ticks_hz(const struct spectrogram_axis *axis, size_t most);
struct spectrogram_ticks spectrogram_ticks_seconds(double from, double to, size_t most);

/* 50, 2k, 2.5k. */
void spectrogram_tick_hz(double hz, char text[static SPECTROGRAM_TICK_TEXT]);

#endif
