/* The state of a spectral filter, private to spectral.c and spectral_step.c. */
#ifndef HALO_SPECTRAL_STATE_H
#define HALO_SPECTRAL_STATE_H

#include "convolve/median2d.h"
#include "convolve/spectral.h"
#include "signal/audio.h"
#include "signal/fft_double.h"

enum { SPECTRAL_PICTURES = 2 }; /* made from one, at most: its medians */

struct spectral {
    struct filter filter;
    struct spectral_settings settings;
    struct convolve2d *convolution; /* NULL: medians */
    struct median2d *median;        /* NULL: a convolution */
    struct fft_double **fft;        /* [worker] */
    size_t workers;
    size_t bins;
    size_t batch;      /* rows at a time, at most */
    size_t before;     /* rows the mask looks back, at most `after` */
    size_t after;      /* rows the mask looks ahead */
    size_t grain;      /* frames: greatest common divisor of block and hop */
    double *window;    /* `size` values */
    double full_scale; /* magnitude of a sine at full scale */
    double scale;      /* of the inverse transform */
    int64_t first;     /* row of the sound */
    int64_t last;      /* row of the sound; INT64_MAX: unknown */

    struct block in; /* earlier input, then the new input */
    size_t in_count;
    struct block rows;    /* of the picture, after 2 * `after` earlier ones */
    size_t pitch;         /* of its rows */
    struct block spectra; /* bins as pairs, after `after` earlier frames */
    size_t spectrum_pitch;
    struct block made[SPECTRAL_PICTURES]; /* convolved; or medians along time, and frequency */
    struct block frames;                  /* transformed back, row by row */
    struct block out;                     /* finished frames, then partial sums */
    size_t out_count;                     /* finished frames */
    int64_t row;                          /* the next one */
};

/* See struct filter_kind. */
void spectral_process(struct filter *filter, const float *const *in, float *const *out);

#endif
