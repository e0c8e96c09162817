/* The power of a sound over time (columns) and frequency (rows).
 *
 * Powers are relative to a full-scale sine: a sine of amplitude a has the power a^2, within 0.15 dB
 * at any frequency (a constant is 6 dB higher). Threads: any, one for each object. Not real-time.
 */
#ifndef HALO_SPECTROGRAM_H
#define HALO_SPECTROGRAM_H

#include "base/status.h"
#include "signal/window.h"

#include <stdint.h>

struct source;

/* A frequency axis: rows from low to high, evenly spaced in Hz or in log Hz. */
struct spectrogram_axis {
    bool is_log;
    size_t rows;
    double low, high; /* Hz; lower bound of the first row, upper bound of the last */
};

/* Convert rows to Hz and back. From the lower bound: 0.5 is the middle of the first row. */
double spectrogram_axis_hz(const struct spectrogram_axis *axis, double row);
double spectrogram_axis_row(const struct spectrogram_axis *axis, double hz);

struct spectrogram {
    struct spectrogram_axis axis;
    size_t columns;
    double from, step; /* seconds: start of the first column, width of a column */
    float *power;      /* column after column, each from low to high frequency */
};

void spectrogram_free(struct spectrogram *picture);

struct spectrogram_peak {
    double power;       /* 0: silence */
    double seconds, hz; /* the middle of its column and row */
};

/* The largest power. Of equal ones, the earliest and then the lowest. */
struct spectrogram_peak spectrogram_find_peak(const struct spectrogram *picture);

/* 10 log10 of a power, at least `floor`. */
double spectrogram_db(double power, double floor);

enum { SPECTROGRAM_TICKS = 40, SPECTROGRAM_TICK_TEXT = 16 };

struct spectrogram_ticks {
    size_t count;
    double at[SPECTROGRAM_TICKS]; /* Hz or seconds, rising */
};

/* At most `most` ticks: 20, 50, 100, ... or, if linear, multiples of 1, 2 or 5 times 10^n. */
struct spectrogram_ticks spectrogram_ticks_hz(const struct spectrogram_axis *axis, size_t most);
struct spectrogram_ticks spectrogram_ticks_seconds(double from, double to, size_t most);

/* Writes a tick as 50, 2k or 2.5k. */
void spectrogram_tick_hz(double hz, char text[static SPECTROGRAM_TICK_TEXT]);

/* One column: the transform of a window of samples, in rows. Powers and threads are as above. */

struct spectrogram_frame_settings {
    enum window window;
    size_t size;    /* frames, at least 8 */
    size_t padding; /* even; bins per bin of an unpadded transform; 0.15 dB takes 4 or more */
    uint32_t rate;
    /* A row of several bins gets their mean (for noise) or, if false, the largest (for tones). */
    bool mean;
    struct spectrogram_axis axis;
};

struct spectrogram_frame;

/* Errors: memory. */
MUST_CHECK enum status spectrogram_frame_create(const struct spectrogram_frame_settings *settings,
                                                struct spectrogram_frame **frame);
void spectrogram_frame_destroy(struct spectrogram_frame *frame);

/* Computes the rows' powers from `size` samples. */
void spectrogram_frame_measure(struct spectrogram_frame *frame, const float *samples, float *power);

/* The spectrogram of a sound, in constant memory.
 *
 * Windows are a hop apart. The first is centred half a hop after the start. If there are more hops
 * than columns, a column is 2, 4, 8 ... hops, with the largest power of each row, so that clicks
 * stay visible. The power is the mean over the channels. Threads: one. Not real-time.
 */

struct sound_spectrogram_settings {
    double from, to; /* seconds; to 0: the end */
    size_t channel;  /* counted from 1; 0: all */
    enum window window;
    size_t size, hop;    /* frames; the hop is no longer than the size */
    size_t columns_most; /* at least 2; with enough hops at least half of them are used */
    struct spectrogram_axis axis;
};

/* *frames: number of frames of the sound that are shown. Errors: reading, NaN or infinity in the
 * sound, no such channel, an empty range (usage), an empty sound, a signal, memory. */
MUST_CHECK enum status sound_spectrogram_init(struct source *source,
                                              const struct sound_spectrogram_settings *settings,
                                              struct spectrogram *picture, uint64_t *frames);

#endif
