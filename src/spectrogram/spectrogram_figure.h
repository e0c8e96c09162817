/* Spectrograms on the same axes and colour scale. Threads: one. Not real-time. */
#ifndef HALO_SPECTROGRAM_FIGURE_H
#define HALO_SPECTROGRAM_FIGURE_H

#include "spectrogram/spectrogram.h"

#include <stdio.h>

enum { SPECTROGRAM_FIGURE_MOST = 9 };

struct spectrogram_figure {
    size_t count;
    struct spectrogram pictures[SPECTROGRAM_FIGURE_MOST]; /* all with the same frequency axis */
    const char *names[SPECTROGRAM_FIGURE_MOST];
    double ends[SPECTROGRAM_FIGURE_MOST]; /* [picture] end of its sound, in seconds */
    double from, to;                      /* time axis, in seconds */
    double bottom, top;                   /* colour scale, in dB */
};

void spectrogram_figure_free(struct spectrogram_figure *figure);

/* Ends the time axis with the last sound. The scale covers `range` dB below the loudest power, in
 * whole dB; below 0 dB for silence. */
void spectrogram_figure_scale(struct spectrogram_figure *figure, double range);

/* A spectrogram in a plot of gnuplot_open: commands, and data as float32 in native byte order, in
 * dB, from the lowest row up. Gnuplot's settings are restored afterwards. */

struct spectrogram_subplot {
    const struct spectrogram *picture;
    const char *title;
    double top, bottom; /* dB of the lightest and of the darkest colour */
    double from, to;    /* ends of the time axis, in seconds */
    bool milliseconds;  /* the time axis is in milliseconds */
    bool unlabelled;    /* no frequencies, since a neighbour has them */
    const char *unit;   /* unit of the scale: dB, dBFS */
};

void spectrogram_subplot_send(FILE *gnuplot, const struct spectrogram_subplot *subplot);

/* Sizes of a figure of `count` pictures, at least 1, in rows of at most three, in pixels. `usual`:
 * the default size of the whole. `inner`: the size of a picture without its margins. */
struct spectrogram_size {
    double width, height;
};
struct spectrogram_size spectrogram_plot_usual(size_t count);
struct spectrogram_size spectrogram_plot_inner(size_t count, struct spectrogram_size whole);

void spectrogram_plot_send(FILE *gnuplot, const struct spectrogram_figure *figure,
                           struct spectrogram_size whole);

enum spectrogram_ink {
    SPECTROGRAM_INK_CHARACTERS, /* ASCII, from blank to @ */
    SPECTROGRAM_INK_256,        /* 256 colours, one for each character */
    SPECTROGRAM_INK_ALL,        /* colours of 24 bits */
};

enum { SPECTROGRAM_TEXT_WIDTH_LEAST = 24, SPECTROGRAM_TEXT_HEIGHT_LEAST = 8 };

struct spectrogram_text_settings {
    size_t width, height; /* characters, at least the limits above */
    enum spectrogram_ink ink;
    bool halves; /* each character has two colours, for its halves; needs UTF-8 */
};

/* The number of rows of a picture among `count` pictures, for its axis. */
size_t spectrogram_text_rows(size_t count, const struct spectrogram_text_settings *settings);

/* Prints the pictures side by side if they fit, otherwise one below the other. */
void spectrogram_text_print(FILE *stream, const struct spectrogram_figure *figure,
                            const struct spectrogram_text_settings *settings);

#endif
