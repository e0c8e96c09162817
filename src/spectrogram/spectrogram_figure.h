/* Spectrograms on the same axes and colour scale. Threads: one. Not real-time. */
#ifndef HALO_SPECTROGRAM_FIGURE_H
#define HALO_SPECTROGRAM_FIGURE_H

#include "spectrogram/spectrogram.h"

#include <stdio.h>

enum { SPECTROGRAM_FIGURE_MOST = 9 };

struct spectrogram_figure {
    size_t count;
    struct spectrogram pictures[SPECTROGRAM_FIGURE_MOST]; /* pictures on one frequency axis */
    const char *names[SPECTROGRAM_FIGURE_MOST];
    double ends[SPECTROGRAM_FIGURE_MOST]; /* seconds: of each picture's sound */
    double from, to;                      /* seconds: of the time axis */
    double bottom, top;                   /* dB: of the scale */
};

void spectrogram_figure_free(struct spectrogram_figure *figure);

/* Set the time axis to end at the last end, and the scale to `range` dB below the loudest, in whole
 * dB; below 0 dB for silence. */
void spectrogram_figure_scale(struct spectrogram_figure *figure, double range);

/* A spectrogram for gnuplot_open: commands, and data as float32 in native byte order, in dB, from
 * the lowest row up. Gnuplot's settings are restored. */

struct spectrogram_subplot {
    const struct spectrogram *picture;
    const char *title;
    double top, bottom; /* dB: the lightest and the darkest colour */
    double from, to;    /* seconds: the ends of the axis */
    bool milliseconds;  /* the time axis is in milliseconds */
    bool unlabelled;    /* no frequencies, which a neighbour has */
    const char *unit;   /* unit of the scale: dB, dBFS */
};

void spectrogram_subplot_send(FILE *gnuplot, const struct spectrogram_subplot *subplot);

/* Pixels of a figure of `count` pictures, at least 1, in rows of at most three: the default size of
 * the whole, and the size of a picture without its margins. */
struct spectrogram_size {
    double width, height;
};
struct spectrogram_size spectrogram_plot_usual(size_t count);
struct spectrogram_size spectrogram_plot_inner(size_t count, struct spectrogram_size whole);

void spectrogram_plot_send(FILE *gnuplot, const struct spectrogram_figure *figure,
                           struct spectrogram_size whole);

enum spectrogram_ink {
    SPECTROGRAM_INK_CHARACTERS, /* ASCII, from blank to @ */
    SPECTROGRAM_INK_256,        /* a colour for each character */
    SPECTROGRAM_INK_ALL,        /* 24 bits */
};

enum { SPECTROGRAM_TEXT_WIDTH_LEAST = 24, SPECTROGRAM_TEXT_HEIGHT_LEAST = 8 };

struct spectrogram_text_settings {
    size_t width, height; /* characters, at least the above */
    enum spectrogram_ink ink;
    bool halves; /* separate colours for both halves of a character; needs UTF-8 */
};

/* The rows of a picture among `count`, for its axis. */
size_t spectrogram_text_rows(size_t count, const struct spectrogram_text_settings *settings);

/* Print the pictures side by side where they fit, else below each other. */
void spectrogram_text_print(FILE *stream, const struct spectrogram_figure *figure,
                            const struct spectrogram_text_settings *settings);

#endif
