/* What live sound consists of, shared by its control part (live.c) and its step
 * (live_step.c) alone. */
#ifndef HALO_LIVE_STATE_H
#define HALO_LIVE_STATE_H

#include "base/ring.h"
#include "convolve/history.h"
#include "live/feedback_detector.h"
#include "live/live.h"
#include "signal/audio.h"
#include "signal/limiter.h"
#include "signal/ramp.h"
#include "sound/reblock.h"

#include <stdatomic.h>

struct live {
    struct filter *chain;
    const struct stage_list *stages; /* or NULL */
    bool *left_out;                  /* by stage: it was told, likewise the next */
    bool *absent;
    uint32_t rate;
    size_t block;
    size_t device_outputs;
    struct recorder *recorder; /* or NULL, likewise the others */
    struct recorder *recorder_dry;
    struct feedback_detector *guard;

    struct meter *meter_in;
    struct meter *meter_out;
    struct limiter limiter;
    struct ramp gain;
    struct ramp fade;
    struct ramp wet;        /* 1: the chain; 0: the dry input */
    struct history history; /* of the input, as long as the chain is late */
    struct block clean;     /* an input without what is no number */
    struct block dry;       /* of the outputs */
    bool muted;
    bool ending;

    struct ring *events;    /* to the step */
    struct ring *taken;     /* from the step */
    struct live_event next; /* read and not yet due */
    bool has_next;
    struct reblock reblock; /* this and the next two: on a device */
    struct ring *times;     /* struct block_time */
    bool lost;              /* before the block at hand */
    _Atomic uint64_t frames;
    _Atomic bool faded_out;
};

#endif
