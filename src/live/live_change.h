/* Changes a live stream to another chain, without a gap: both chains are heard during a crossfade.
 *
 * A slot for the new chain (the coming slot) is prepared beside the stream. live_change_feed feeds
 * it the recent input of the stream, on any thread and faster than real time. When only a few
 * blocks are missing, it is offered to the step. The step feeds it the missing blocks, two at a
 * time, and then crossfades: out = old * (1 - k/n) + new * k/n. In every frame, each slot sounds as
 * if it ran alone. The new slot sounds as if it had run since the frame where feeding began.
 * SWITCH_DUCK and SWITCH_GAP work as in a convolver's switch.
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

/* The recent input of a live stream. A new chain is fed from it, so that its output is right from
 * its first frame.
 * Threads: the step writes, real-time; one other thread reads. A reader that is too slow would read
 * blocks that are being overwritten. So it calls live_history_has before and after it reads. */
struct live_history {
    struct block ring; /* frame f is at f modulo the ring's length, a multiple of `block` */
    size_t block;
    uint64_t begin;          /* first frame of the stream; frames before it are silence */
    _Atomic uint64_t frames; /* frames of the stream written so far: whole blocks */
};

/* Keeps at least `frames` frames. `begin`: first frame of the stream, a multiple of the block.
 * Errors: memory. */
MUST_CHECK enum status live_history_init(struct live_history *history, size_t channels,
                                         size_t block, size_t frames, uint64_t begin);
void live_history_free(struct live_history *history);

/* Writes one block. */
void live_history_write(struct live_history *history, const float *const *in);

/* Whether the frame is in the ring, and is not being overwritten. Real-time. */
bool live_history_has(const struct live_history *history, uint64_t frame);

/* First frame to read: `frames` before the present, or the earliest that the ring keeps safely. */
uint64_t live_history_since(const struct live_history *history, uint64_t frames);

/* A chain in a live stream: its output or the dry input, with a gain.
 *
 *   in -> chain, or the dry input with the chain's latency and gains -> gain -> out
 *
 * The dry input skips all stages except gains. Their @mix= and @bypass apply.
 * A stream has one slot. It has two while it changes to another preset.
 * Threads: init and free on any; the rest is the step's, real-time. */
struct live_event;

struct stream_slot_settings {
    struct filter *chain;            /* must outlive the slot; so must the stages */
    const struct stage_list *stages; /* stages of the chain, which events change; NULL: no events */
    double gain;                     /* gain at the start, linear */
    bool dry;                        /* start with the dry signal */
    unsigned number;                 /* number of the slot, which its events carry */
};

struct stream_slot {
    struct filter *chain;
    struct stage_list stages; /* the chain's stages; empty if no events change them */
    unsigned number;
    bool *left_out; /* by stage: the stage failed and was left out, as last reported */
    bool *absent; /* by stage: the stage was late and replaced by its dry sound, as last reported */
    double *levels; /* by stage: gain factor; NAN if the stage does more than a gain */
    struct ramp gain;
    struct ramp level;      /* gain of the dry input: the product of the gain stages */
    struct ramp wet;        /* 1: the chain; 0: the dry input */
    struct history history; /* recent input, as long as the chain's latency */
    struct block dry;       /* dry sound for each output */
};

/* Errors: memory. Call stream_slot_free in any case. */
MUST_CHECK enum status stream_slot_init(struct stream_slot *slot,
                                        const struct stream_slot_settings *settings);
void stream_slot_free(struct stream_slot *slot);

/* Processes one block. `in` is finite and does not overlap `out`. */
void stream_slot_process(struct stream_slot *slot, const float *const *in, float *const *out);

/* Whether this kind of event changes a slot. The others change the output. */
bool stream_slot_has(const struct live_event *event);

/* Applies an event that stream_slot_has. Ramps take `smooth` frames. */
void stream_slot_apply(struct stream_slot *slot, const struct live_event *event, size_t smooth);

/* Gets the next stage that became late, in time again or failed in the last block, as a
 * LIVE_STAGE_ABSENT or LIVE_STAGE_FAILED event. Returns false if there is none. */
bool stream_slot_noticed(struct stream_slot *slot, struct live_event *event);

/* A slot that is to replace the stream's. */
struct live_coming {
    struct stream_slot slot;
    uint64_t since;  /* first frame of the stream that it was fed */
    uint64_t at;     /* the frame that it is fed next */
    uint64_t frames; /* length of the crossfade */
    enum switch_shape shape;
    uint64_t began; /* frame where the crossfade began; set by the step */
};

enum live_change_state { LIVE_CHANGE_NONE, LIVE_CHANGE_OFFERED, LIVE_CHANGE_DONE };

struct live_change {
    struct live_history history;
    _Atomic(enum live_change_state) state;
    struct live_coming *coming; /* NULL while the state is NONE */
    struct block out;           /* output of the coming slot; used by the step only */
    bool has_begun;             /* the crossfade has begun; used by the step only */
};

/* Frames of input to keep: ten seconds, or fewer if there are many channels. */
size_t live_change_history(size_t channels, uint32_t rate);

/* For chains with the inputs, outputs and block of `chain`. `history`: frames of input to keep.
 * `begin`: first frame of the stream, a multiple of the block. Errors: memory. */
MUST_CHECK enum status live_change_init(struct live_change *change, const struct filter *chain,
                                        size_t history, uint64_t begin);
void live_change_free(struct live_change *change);

/* Feeds a coming slot the recent input, from `frames` frames ago until it is only a few blocks
 * behind, or until `*cancelled`. Sets coming->since. Errors: the machine is too slow; memory. */
MUST_CHECK enum status live_change_feed(const struct live_change *change,
                                        struct live_coming *coming, uint64_t frames,
                                        const atomic_bool *cancelled);

/* Feeds a coming slot that was fed before, until it is only a few blocks behind. */
MUST_CHECK enum status live_change_feed_on(const struct live_change *change,
                                           struct live_coming *coming,
                                           const atomic_bool *cancelled);

/* Like live_change_feed, and calls `heard` for each block of output. */
MUST_CHECK enum status live_change_hear(const struct live_change *change,
                                        struct live_coming *coming, uint64_t frames,
                                        const atomic_bool *cancelled,
                                        enum status (*heard)(void *context, float *const *out),
                                        void *context);

/* For a replay (no step runs): feeds a coming slot from frame `since` to the present. */
MUST_CHECK enum status live_change_feed_since(const struct live_change *change,
                                              struct live_coming *coming, uint64_t since);

/* Hands the coming slot to the step, until live_change_taken returns it. One change at a time. */
void live_change_offer(struct live_change *change, struct live_coming *coming);

/* When the change is over, returns `coming`, whose slot is now the old one. Else NULL. */
struct live_coming *live_change_taken(struct live_change *change);

/* While no step runs: takes the coming slot back from the step; the caller owns it again. */
void live_change_withdraw(struct live_change *change);

bool live_change_is_under_way(const struct live_change *change);

/* One block that begins at frame `now`. `out` has the output of `slot`; the coming slot is mixed
 * in. `in` must be in the history already. When the crossfade ends, the two slots are exchanged. */
void live_change_process(struct live_change *change, struct stream_slot *slot, uint64_t now,
                         float *const *out);

#endif
