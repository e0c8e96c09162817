/* Spectrograms shown together: the same axes, the same colour scale. Threads: one. Not real-time.
 */
#ifndef HALO_SPECTROGRAM_FIGURE_H
#define HALO_SPECTROGRAM_FIGURE_H

#include "spectrogram/spectrogram.h"

#include <stdio.h>

enum { SPECTROGRAM_FIGURE_MOST = 9 };

struct spectrogram_figure {
    size_t count;
    struct spectrogram pictures[SPECTROGRAM_FIGURE_MOST]; /* of one frequency axis */
    const char *names[SPECTROGRAM_FIGURE_MOST];
    double ends[SPECTROGRAM_FIGURE_MOST]; /* seconds: of each picture's sound */
    double from, to;                     /* seconds: of the time axis */
    double bottom, top;                  /* dB: of the scale */
};

void spectrogram_figure_free(struct spectrogram_figure *figure);

/* When all pictures are there: the time axis up to the last end, and a scale of `range` dB up to
 * the loudest, in whole dB; up to 0 dB where all is silence. */
void spectrogram_figure_scale(struct spectrogram_figure *figure, double range);

/* ---- one, as gnuplot's commands and data ----
 *
 * The data are float32 in this machine's order, in dB, as many as the picture has columns and rows,
 * from the lowest row up; they follow the line of the plot. Gnuplot's settings are left as they
 * were. */

struct spectrogram_subplot {
    const struct spectrogram *picture;
    const char *title;
    double top, bottom; /* dB: the lightest and the darkest colour */
    double from, to;    /* seconds: the ends of the axis */
    bool milliseconds;  /* are its unit */
    bool unlabelled;    /* frequencies: they stand beside a neighbour */
    const char *unit;   /* of the scale: dB, dBFS */
};

void spectrogram_subplot_send(FILE *gnuplot, const struct spectrogram_subplot *subplot);

/* ---- in a file, through gnuplot: side by side, three in a row at most ---- */

/* Pixels of a picture's own, without what stands around it; and of a sheet that has it. `count` is
 * at least 1. */
struct spectrogram_size {
    double width, height;
};
struct spectrogram_size spectrogram_plot_usual(size_t count);
struct spectrogram_size spectrogram_plot_inner(size_t count, struct spectrogram_size whole);

void spectrogram_plot_send(FILE *gnuplot, const struct spectrogram_figure *figure,
                           struct spectrogram_size whole);

/* ---- in a terminal: side by side where they fit, else below each other ---- */

enum spectrogram_ink {
    SPECTROGRAM_INK_CHARACTERS, /* ASCII, from blank to @ */
    SPECTROGRAM_INK_256,        /* a colour for each character */
    SPECTROGRAM_INK_ALL,        /* 24 bits */
};

enum { SPECTROGRAM_TEXT_WIDTH_LEAST = 24, SPECTROGRAM_TEXT_HEIGHT_LEAST = 8 };

struct spectrogram_text_settings {
    size_t width, height; /* characters, at least those above */
    enum spectrogram_ink ink;
    bool halves; /* colours for the upper and the lower half of each character; takes UTF-8 */
};

/* The rows that a picture of `count` has in there: what its axis is to have. */
size_t spectrogram_text_rows(size_t count, const struct spectrogram_text_settings *settings);

void spectrogram_text_print(FILE *stream, const struct spectrogram_figure *figure,
                            const struct spectrogram_text_settings *settings);

#endif
