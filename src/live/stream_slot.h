/* A chain as a live stream hears it: its output or the dry input, with a gain.
 *
 *   in -> chain, or the dry input with the chain's latency and gains -> gain -> out
 *
 * The dry input goes past all stages but gains, with their @mix= and @bypass.
 * A stream has one; two while it changes to another preset (live_change.h).
 * Threads: init and free on any; the rest is the step's, real-time.
 */
#ifndef HALO_STREAM_SLOT_H
#define HALO_STREAM_SLOT_H

#include "chain/stages.h"
#include "convolve/history.h"
#include "signal/ramp.h"
#include "sound/filter.h"

struct live_event;

struct stream_slot_settings {
    struct filter *chain;            /* must outlive the slot, as must the stages */
    const struct stage_list *stages; /* of the chain, changed by events; or NULL */
    double gain;                     /* at the start; linear */
    bool dry;                        /* at the start */
    unsigned number;                 /* that the slot's events carry */
};

struct stream_slot {
    struct filter *chain;
    struct stage_list stages; /* those of the chain; none: no events */
    unsigned number;
    bool *left_out; /* by stage, as last reported */
    bool *absent;   /* by stage, as last reported */
    double *levels; /* by stage: the factor of a gain; NAN: it is more than that */
    struct ramp gain;
    struct ramp level;      /* of the dry input, by the gains among the stages */
    struct ramp wet;        /* 1: the chain; 0: the dry input */
    struct history history; /* of the input, as long as the chain's latency */
    struct block dry;       /* of the outputs */
};

/* Errors: memory. Free in any case. */
MUST_CHECK enum status stream_slot_init(struct stream_slot *slot,
                                        const struct stream_slot_settings *settings);
void stream_slot_free(struct stream_slot *slot);

/* One block of the chain; `in` is finite, in and out do not overlap. */
void stream_slot_process(struct stream_slot *slot, const float *const *in, float *const *out);

/* Whether an event is a slot's. */
bool stream_slot_has(const struct live_event *event);

/* An event of a slot. Ramps take `smooth` frames. */
void stream_slot_apply(struct stream_slot *slot, const struct live_event *event, size_t smooth);

/* The next change of a stage that the last block brought, LIVE_STAGE_ABSENT or _FAILED; false:
 * none is left. */
bool stream_slot_noticed(struct stream_slot *slot, struct live_event *event);

#endif
