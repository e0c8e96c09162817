/* A spectrogram as gnuplot's commands and data: one plot, with its axes.
 *
 * The data are float32 in this machine's order, in dB, as many as the picture has columns and rows,
 * from the lowest row up; they follow the line of the plot. Gnuplot's settings are left as they
 * were. Threads: one. Not real-time.
 */
#ifndef HALO_SPECTROGRAM_SUBPLOT_H
#define HALO_SPECTROGRAM_SUBPLOT_H

#include "spectrogram/spectrogram.h"

#include <stdio.h>

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

#endif
