/* One effect: what its files share.
 *
 *   effect.c           its kinds and controls, creation and end
 *   effect_run.c       sound, in pieces of at most PROCESSOR_BLOCK frames
 *   pre_delay.c        the delay before the mask
 *   input_history.c    recent input, for a mask that is loaded later
 *   exchange.c         the exchange of masks, from the request to the fade
 *   effect_worker.c    loads, prepares and frees masks
 *
 * The worker creates the processor of a new mask, feeds it the history and posts it as `answer`;
 * run takes it from there, feeds it the last blocks and fades over. The worker frees the previous
 * processor. One exchange runs at a time; later requests wait.
 */
#ifndef HALO_EFFECT_STATE_H
#define HALO_EFFECT_STATE_H

#include "effect/effect.h"
#include "effect/processor.h"
#include "signal/ramp.h"

#include <pthread.h>
#include <stdatomic.h>

/* ---- pre_delay.c: up to PRE_DELAY_MOST seconds, in whole frames; changes are crossfaded ---- */

enum { PRE_DELAY_MOST = 1 }; /* seconds */

struct pre_delay {
    struct block ring; /* a power of two of frames */
    size_t at;         /* where the next frame is written */
    size_t delay;      /* frames */
    size_t next;       /* the delay that is faded to */
    size_t faded;      /* frames of the fade that are done */
    size_t fade;       /* its length */
};

/* The owner frees `ring`. Errors: memory. */
MUST_CHECK enum status pre_delay_init(struct pre_delay *delay, size_t channels, uint32_t rate,
                                      size_t fade);

/* Forget all sound and end a fade. Not real-time. */
void pre_delay_reset(struct pre_delay *delay);

/* Real-time. Fade to a delay of `frames`, or change `at_once`; ignored during a fade, so that run
 * calls it for each piece. */
void pre_delay_set(struct pre_delay *delay, size_t frames, bool at_once);
void pre_delay_process(struct pre_delay *delay, float *const *sound, size_t frames);

/* ---- input_history.c: the last seconds of the input of the masks ----
 *
 * run() writes whole blocks of PROCESSOR_BLOCK frames; the worker reads well behind the newest and
 * well ahead of the next one to be overwritten. */

struct input_history {
    struct block frames;
    size_t blocks;                /* capacity, a power of two */
    atomic_uint_fast64_t end;     /* blocks written */
    atomic_uint_fast64_t silence; /* blocks before this one count as silence */
};

/* The owner frees `frames`. Errors: memory. */
MUST_CHECK enum status input_history_init(struct input_history *history, size_t channels,
                                          uint32_t rate);

/* Make it silence. Not while input_history_write runs. */
void input_history_reset(struct input_history *history);

/* Real-time, from run. */
void input_history_write(struct input_history *history, const float *const *block);

/* Real-time: feed a processor up to `most` of the blocks that it lacks. True: it lacks none now. */
bool input_history_feed(const struct input_history *history, struct processor *processor,
                        size_t most);

/* Feed a new processor, from as far back as its mask or the history reaches, except the last few
 * blocks, which are left to run. */
void input_history_prime(const struct input_history *history, struct processor *processor);

/* ---- the effect ---- */

/* What run asks of the worker: the message that the host carries. */
enum work_task { WORK_LOAD, WORK_FREE, WORK_NOTIFY };

struct effect_work {
    enum work_task task;
    struct processor *processor; /* to free, or whose convolver has a notice */
    uint32_t number;             /* the rest is for WORK_LOAD: of the request */
    float trim;
    bool gpu;
    char file[EFFECT_FILE_MOST]; /* sent only as far as it is used */
};

_Static_assert(sizeof(struct effect_work) <= EFFECT_WORK_MOST, "hosts make room for it");

/* A new mask for run. */
struct answer {
    uint32_t number; /* of the request, unless `unasked` */
    bool unasked;    /* of effect_load */
    bool failed;
    struct processor *processor; /* NULL: none was requested, or it failed */
    uint64_t silence;            /* history.silence when it was fed */
    struct effect_mask mask;     /* for `unasked`: what is in use from now on */
};

/* Who may touch effect->answer: the one who set ANSWER_WRITTEN or ANSWER_READ. */
enum answer_state { ANSWER_NONE, ANSWER_WRITTEN, ANSWER_READY, ANSWER_READ };

struct effect {
    const struct effect_kind *kind;
    struct effect_host host;
    uint32_t rate;

    /* Used by run only. */
    float values[EFFECT_CONTROLS];
    size_t smoothing; /* frames of a change of gain */
    bool fresh;       /* no frame since activation: changes are immediate */
    struct block
        now;     /* input of the masks: the previous PROCESSOR_BLOCK frames, then the current */
    size_t held; /* frames of the current block so far */
    struct block dry;   /* of the current piece */
    struct block wet;   /* of the current piece */
    struct block other; /* of the current piece, from `coming` */
    struct pre_delay pre_delay;
    struct ramp feed; /* into the masks: 0 while bypassed */
    struct ramp dry_gain;
    struct ramp wet_gain;
    struct input_history history;
    struct processor *processor; /* the current one; NULL: no mask */

    /* The exchange; used by run only. */
    struct effect_mask request;
    bool requested;           /* `request` is new and not sent yet */
    _Atomic uint32_t number;  /* of the request that was sent; others look at it */
    bool pending;             /* its answer is pending */
    struct processor *coming; /* replaces `processor` */
    bool fading;
    size_t faded;              /* frames of the fade that are done */
    size_t fade;               /* its length */
    bool leaving;              /* `processor` fades out, and none replaces it */
    struct processor *retired; /* to be freed */
    bool noticed;              /* the notice of the convolver has been sent to the worker */
    bool reporting;            /* the path of the mask is to be sent to the host */

    struct answer answer;
    _Atomic(enum answer_state) answer_state;
    atomic_uint_fast32_t tail; /* frames */

    /* Shared by the threads that are not real-time; run never takes the lock. */
    pthread_mutex_t lock;
    struct processor *processors; /* all that exist */
    char kept[EFFECT_FILE_MOST];  /* the mask to save in a session; "": none */
    float kept_trim;
};

/* ---- not real-time ---- */

/* effect_worker.c */
void effect_free_processor(struct effect *effect, struct processor *processor);

/* exchange.c: give run an answer. One of effect_load replaces what run has not taken yet, and is
 * itself replaced only by another of those. False: the answer is of a request that was replaced.
 * The caller frees *gone, which nobody uses. */
bool exchange_post(struct effect *effect, const struct answer *answer, struct processor **gone);

/* While run does not run: free what it left over. */
void exchange_clean(struct effect *effect);

/* While run does not run: end all exchanges at once. */
void exchange_settle(struct effect *effect);

/* ---- real-time ---- */

/* effect_run.c: for effect_tail. */
void effect_update_tail(struct effect *effect);

/* exchange.c: before each run accept answers, then send requests; after each whole block feed and
 * fade; after each run free and notify. */
void exchange_accept(struct effect *effect);
void exchange_begin(struct effect *effect);
void exchange_block(struct effect *effect);
void exchange_end(struct effect *effect);

/* Whether a mask is in use and not leaving. */
bool exchange_has_mask(const struct effect *effect);

#endif
