/* A quantiser's state. Private to quantiser.c and its step. */
#ifndef HALO_QUANTISER_STATE_H
#define HALO_QUANTISER_STATE_H

#include "signal/quantiser.h"

enum { QUANTISER_TAPS = 9 };

struct quantiser_channel {
    size_t exact;                  /* samples in a row that were whole steps, up to the hold */
    double errors[QUANTISER_TAPS]; /* the last ones, in steps; the newest first */
};

struct quantiser {
    double scale; /* steps of full scale */
    unsigned shift;
    bool dithered;
    const double *taps; /* of the feedback; NULL: none */
    size_t channels;
    uint64_t frames; /* so far */
    struct quantiser_channel channel[];
};

#endif
