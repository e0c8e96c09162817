/* The change of a live stream to another chain, without a gap: both are heard for the time of a
 * crossfade.
 *
 * The coming slot was prepared beside the stream and fed what the stream recently heard
 * (live_change_feed), on any thread and faster than it was heard. When it is nearly up to the
 * present it is offered to the step, which feeds it the few blocks that are missing, two at a time,
 * and then crossfades: out = old * (1 - k/n) + new * k/n. So each of the two is, at every frame,
 * what it would be alone, and the coming one as if it had run since the frame where feeding began.
 * With SWITCH_DUCK and _GAP as in a convolver's switch.
 * Threads: process on the step's, real-time; feed and offer on any; the rest on the control thread.
 */
#ifndef HALO_LIVE_CHANGE_H
#define HALO_LIVE_CHANGE_H

#include "chain/stages.h"
#include "convolve/convolver.h"
#include "convolve/history.h"
#include "signal/audio.h"
#include "signal/ramp.h"
#include "sound/filter.h"

#include <stdatomic.h>
#include <stdint.h>

/* The recent input of a live stream: from it a chain that comes later learns what it would have
 * heard, so that it is exact from its first frame.
 * Threads: the step writes, real-time; one other thread reads. A reader that is a ring's length
 * late would read what is being written: it asks live_history_has before and after.
 */
struct live_history {
    struct block ring; /* frame f of the stream is at f modulo its length, a multiple of `block` */
    size_t block;
    uint64_t begin;          /* the first frame; before it is silence */
    _Atomic uint64_t frames; /* of the stream, written so far: whole blocks */
};

void live_history_write(struct live_history *history, const float *const *in); /* one block */

/* A chain as a live stream hears it: its output or the dry input, with a gain.
 *
 *   in -> chain, or the dry input with the chain's latency and gains -> gain -> out
 *
 * The dry input goes past all stages but gains, with their @mix= and @bypass.
 * A stream has one; two while it changes to another preset.
 * Threads: init and free on any; the rest is the step's, real-time.
 */
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

struct live_coming {
    struct stream_slot slot;
    uint64_t since;  /* frame of the stream that it heard first */
    uint64_t at;     /* the next one */
    uint64_t frames; /* of the crossfade */
    enum switch_shape shape;
    uint64_t began; /* frame of the crossfade; set by the step */
};

enum live_change_state { LIVE_CHANGE_NONE, LIVE_CHANGE_OFFERED, LIVE_CHANGE_DONE };

struct live_change {
    struct live_history history;
    _Atomic(enum live_change_state) state;
    struct live_coming *coming; /* while the state is not NONE */
    struct block out;           /* of the coming slot; these two are the step's */
    bool has_begun;
};

/* Frames to keep of an input: ten seconds, or fewer of many channels. */
size_t live_change_history(size_t channels, uint32_t rate);

/* For chains with the inputs, outputs and block of this one; `history` frames are kept of a stream
 * whose first is `begin`, a multiple of the block. Errors: memory.
 */
MUST_CHECK enum status live_change_init(struct live_change *change, const struct filter *chain,
                                        size_t history, uint64_t begin);
void live_change_free(struct live_change *change);

/* Feed a coming slot, whose `since` is set by the first call, from `frames` before the present
 * until it is nearly there, or `*cancelled`. Errors: this machine is too slow for it. */
MUST_CHECK enum status live_change_feed(const struct live_change *change,
                                        struct live_coming *coming, uint64_t frames,
                                        const atomic_bool *cancelled);

/* Feed from that frame to the present: for a replay, whose steps do not run meanwhile. */
MUST_CHECK enum status live_change_feed_since(const struct live_change *change,
                                              struct live_coming *coming, uint64_t since);

/* Hand over to the step; only if none is on its way. It owns the slot until live_change_taken. */
void live_change_offer(struct live_change *change, struct live_coming *coming);

/* The coming slot, once it alone is heard, with the old slot in its place; else NULL. */
struct live_coming *live_change_taken(struct live_change *change);

/* While no step runs: the coming slot is not heard, and belongs to the caller again. */
void live_change_withdraw(struct live_change *change);

bool live_change_is_under_way(const struct live_change *change);

/* A block that begins at frame `now`: what the coming slot adds to `out`, which has that of
 * `slot`. At the end the two slots are exchanged. `in` was written to the history. */
void live_change_process(struct live_change *change, struct stream_slot *slot, uint64_t now,
                         float *const *out);

#endif
