/* A quantiser's state. Private to quantiser.c and its step. */
#ifndef HALO_QUANTISER_STATE_H
#define HALO_QUANTISER_STATE_H

#include "signal/noise_shaping.h"
#include "signal/quantiser.h"

enum {
    QUANTISER_TAPS = NOISE_SHAPING_TAPS,
    QUANTISER_TAPS_KNOWN = 9, /* taps by Wannamaker, for 44.1 and 48 kHz */
};

struct quantiser_channel {
    size_t exact;                  /* whole steps in a row so far, at most QUANTISER_HOLD */
    double errors[QUANTISER_TAPS]; /* the last errors in steps, newest first */
};

struct quantiser {
    double scale; /* steps from 0 to full scale */
    unsigned shift;
    bool dithered;
    size_t tap_count; /* taps of the feedback; 0: no feedback */
    double taps[QUANTISER_TAPS];
    size_t channels;
    uint64_t frames; /* frames so far */
    struct quantiser_channel channel[];
};

#endif
