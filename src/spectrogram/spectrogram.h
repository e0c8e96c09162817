/* The power of a sound over time (columns) and frequency (rows).
 *
 * Powers are relative to a sine of full scale: a sine of amplitude a has a^2, to within 0.15 dB at
 * any frequency (a constant is 6 dB higher). Threads: any, one at a time for each object. Not
 * real-time.
 */
#ifndef HALO_SPECTROGRAM_H
#define HALO_SPECTROGRAM_H

#include "base/status.h"
#include "signal/window.h"

#include <stdint.h>

struct source;

/* Rows from low to high, evenly spaced in Hz or in log Hz. */
struct spectrogram_axis {
    bool is_log;
    size_t rows;
    double low, high; /* Hz: the lower bound of the first row, the upper one of the last */
};

/* Rows above the lower bound to Hz, and back: 0.5 is the middle of the first row. */
double spectrogram_axis_hz(const struct spectrogram_axis *axis, double row);
double spectrogram_axis_row(const struct spectrogram_axis *axis, double hz);

struct spectrogram {
    struct spectrogram_axis axis;
    size_t columns;
    double from, step; /* seconds: start of the first column, width of a column */
    float *power;      /* column after column, each from low to high */
};

void spectrogram_free(struct spectrogram *picture);

struct spectrogram_peak {
    double power;       /* 0: silence */
    double seconds, hz; /* the middle of its column and row */
};

/* The largest power; the earliest and lowest of equal ones. */
struct spectrogram_peak spectrogram_find_peak(const struct spectrogram *picture);

/* 10 log10, at least `floor`. */
double spectrogram_db(double power, double floor);

enum { SPECTROGRAM_TICKS = 40, SPECTROGRAM_TICK_TEXT = 16 };

struct spectrogram_ticks {
    size_t count;
    double at[SPECTROGRAM_TICKS]; /* Hz or seconds, rising */
};

/* 20, 50, 100 ... on a logarithmic axis; else multiples of 1, 2 or 5 times a power of ten, at most
 * `most`. */
struct spectrogram_ticks spectrogram_ticks_hz(const struct spectrogram_axis *axis, size_t most);
struct spectrogram_ticks spectrogram_ticks_seconds(double from, double to, size_t most);

/* 50, 2k, 2.5k. */
void spectrogram_tick_hz(double hz, char text[static SPECTROGRAM_TICK_TEXT]);

/* One column of a spectrogram: the transform of a window of samples, in rows.
 *
 * Powers are as in spectrogram.h. Threads: any, one at a time for each object. Not real-time.
 */

struct spectrogram_frame_settings {
    enum window window;
    size_t size;    /* frames, at least 8 */
    size_t padding; /* even; bins for each of an unpadded transform: 4 or more for 0.15 dB */
    uint32_t rate;
    /* In rows of several bins: the mean, for noise, or else the largest, for tones. */
    bool mean;
    struct spectrogram_axis axis;
};

struct spectrogram_frame;

/* Errors: memory. */
MUST_CHECK enum status spectrogram_frame_create(const struct spectrogram_frame_settings *settings,
                                                struct spectrogram_frame **frame);
void spectrogram_frame_destroy(struct spectrogram_frame *frame);

/* Row by row, from `size` samples. */
void spectrogram_frame_measure(struct spectrogram_frame *frame, const float *samples, float *power);

/* The spectrogram of a sound, in constant memory.
 *
 * Windows are a hop apart, the first centred half a hop after the start. If there are more hops
 * than columns, a column is 2, 4, 8 ... of them, with the largest power of each row, so that clicks
 * stay visible. The power is the mean over the channels. Threads: one. Not real-time.
 */

struct sound_spectrogram_settings {
    double from, to; /* seconds; to 0: the end */
    size_t channel;  /* counted from 1; 0: all */
    enum window window;
    size_t size, hop;    /* frames; the hop is no longer than the size */
    size_t columns_most; /* at least 2; at least half are used if there are enough hops */
    struct spectrogram_axis axis;
};

/* *frames: the frames of the sound shown. Errors: reading, NaN or infinity in the sound, no such
 * channel, an empty range (usage), an empty sound, a signal, memory. */
MUST_CHECK enum status sound_spectrogram_init(struct source *source,
                                              const struct sound_spectrogram_settings *settings,
                                              struct spectrogram *picture, uint64_t *frames);

#endif
