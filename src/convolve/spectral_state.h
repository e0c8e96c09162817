/* The memory of a spectral filter: what spectral.c makes and spectral_step.c works with. */
#ifndef HALO_SPECTRAL_STATE_H
#define HALO_SPECTRAL_STATE_H

#include "convolve/spectral.h"
#include "signal/audio.h"
#include "signal/fft_double.h"

enum { SPECTRAL_PICTURES = 2 }; /* at most, that are made of one */

struct spectral {
    struct filter filter;
    struct spectral_settings settings;
    struct convolve2d *convolutions[SPECTRAL_PICTURES];
    size_t convolution_count;
    struct fft_double **fft; /* for each worker */
    size_t workers;
    size_t bins;
    size_t batch;      /* rows at a time, at most */
    size_t before;     /* rows that a mask looks back, at most as many as `after` */
    size_t after;      /* rows that it looks ahead */
    size_t grain;      /* frames that block and hop have in common */
    double *window;    /* `size` values */
    double full_scale; /* magnitude of a sine at full scale */
    double scale;      /* of what the transform back gives */
    int64_t first;     /* row of the sound */
    int64_t last;      /* likewise; INT64_MAX: not known */

    struct block in; /* the frames' past, then what came in */
    size_t in_count;
    struct block rows;    /* of the picture, 2 * after of the past first */
    size_t pitch;         /* of its rows */
    struct block spectra; /* a frame's bins as pairs, `after` of the past first */
    size_t spectrum_pitch;
    struct block convolved[SPECTRAL_PICTURES];
    struct block frames; /* transformed back, a row after the other */
    struct block out;    /* what is ready, then what later frames add to */
    size_t out_count;    /* ready frames */
    int64_t row;         /* the next one */
};

/* See struct filter_kind. */
void spectral_process(struct filter *filter, const float *const *in, float *const *out);

#endif
