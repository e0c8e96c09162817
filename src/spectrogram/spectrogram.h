/* The power of a sound over time and frequency, as a picture has it: columns of time, rows of
 * frequency.
 *
 * Powers are relative to a sine of full scale: a sine of amplitude a has a^2, wherever its
 * frequency lies, to within 0.15 dB. (A constant is no sine: it stands 6 dB higher.) Threads: any,
 * one at a time for each object. Not real-time.
 */
#ifndef HALO_SPECTROGRAM_H
#define HALO_SPECTROGRAM_H

#include "base/status.h"

#include <stdint.h>

/* Rows from low to high, evenly or by a ratio from one to the next. */
struct spectrogram_axis {
    bool is_log;
    size_t rows;
    double low, high; /* Hz: the lower edge of the first row, the upper one of the last */
};

/* The frequency that many rows above the lower edge, and back: 0.5 is the first row's middle. */
double spectrogram_axis_hz(const struct spectrogram_axis *axis, double row);
double spectrogram_axis_row(const struct spectrogram_axis *axis, double hz);

struct spectrogram {
    struct spectrogram_axis axis;
    size_t columns;
    double from, step; /* seconds: the beginning of the first column, and on */
    float *power;      /* column after column, each from low to high */
};

void spectrogram_free(struct spectrogram *picture);

struct spectrogram_peak {
    double power;       /* 0: all is silence */
    double seconds, hz; /* the middle of its column and row */
};

/* The largest power, the earliest and lowest of several. */
struct spectrogram_peak spectrogram_find_peak(const struct spectrogram *picture);

/* 10 log10, from `floor` up. */
double spectrogram_db(double power, double floor);

/* Where the axes have ticks, and what stands beside them. */
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
