/* The state of a convolver, private to its control side (convolver.c, convolver_shares.c) and its
 * step (convolver_step.c, convolver_shares_step.c, convolver_spares_step.c, convolver_side.c). */
#ifndef HALO_CONVOLVER_STATE_H
#define HALO_CONVOLVER_STATE_H

#include "base/realtime.h"
#include "base/step_crew.h"
#include "convolve/convolver.h"
#include "signal/audio.h"
#include "signal/real.h"

#include <stdatomic.h>

/* The requested backend; the same on another processor, which knows the inputs and takes over
 * first; and the CPU as their standby. */
enum side { MAIN, SPARE, STANDBY, SIDES };

/* A mask prepared for each side of a share; NULL if there is no such side. */
struct convolver_forms {
    const struct prepared *of[SIDES];
};

/* And for all shares. */
struct convolver_mask {
    struct proved_mask *proved;     /* NULL without a proof */
    struct convolver_mask *next;    /* in the control thread's list */
    struct convolver_forms forms[]; /* of each share */
};

/* What the spare of a share is at. */
struct convolver_spare {
    unsigned char device;
    _Atomic bool lacks; /* a mask: written by the control thread */
    bool lost;          /* it failed, or was behind for too long; the step's */
    bool posted;        /* a block whose answer was not collected */
    size_t behind;      /* blocks in a row that were not answered when the next came */
};

/* The outputs that one processor computes, and the inputs that they need: all of both, unless
 * several GPUs share a stream. Both are in a row. */
struct convolver_share {
    struct convolver_shape shape; /* of its own inputs and outputs */
    size_t first_input, first_output;
    const struct convolver_backend *backend[SIDES]; /* NULL: there is no such side */
    struct convolution *convolution[SIDES];
    char algorithm[SIDES][128];
    struct workers *workers; /* its own; NULL: those of the stream */
    bool along;              /* live: the standby runs in parallel, without history */
    _Atomic int side;        /* written by the step, read by any thread */

    struct convolver_spare spare;

    /* Of the active side, if it is a GPU, in this block. */
    bool posted, answered;
    struct convolver_slot slots[CONVOLVER_SLOTS];
};

struct convolver;

/* What the shares do together in a block, each in a thread that comes in time. */
struct convolver_shared_work {
    void (*run)(struct convolver *convolver, struct convolver_share *share);
    const float *const *in;
    int64_t begun; /* monotonic_ns */
    _Atomic size_t next;
};

/* The last blocks of input before the current one, in the convolver's precision. A ring. */
struct convolver_history {
    struct block frames;
    struct block_in_double frames_in_double;
    size_t blocks;
    size_t next; /* the oldest, which the coming one replaces */
};

struct convolver {
    struct filter filter;
    struct convolver_shape shape;
    size_t origin;
    size_t share_count;
    struct convolver_share *shares;
    bool has_spares;
    struct step_crew *crew; /* one thread less than shares; NULL: the step does all of them */
    struct convolver_shared_work work;
    const struct mask *kept_mask; /* for a standby that is made when it is needed; NULL: it is */
    struct convolver_history history; /* for the standbys */
    int64_t patience;                 /* ns until a share with the CPU beside it counts as late */
    int64_t patience_alone;           /* and one of several without; INT64_MAX: never */
    struct block spare[CONVOLVER_SLOTS]; /* the standbys' outputs */
    _Atomic uint64_t late;
    struct prover *prover; /* NULL: no proof was asked for */
    char algorithm[160];
    char reason[CONVOLVER_WHY];
    char share_reason[CONVOLVER_WHY];
    char notice[200];
    char failure[200];

    /* Written by the step. */
    const struct convolver_mask *current;
    size_t slot;         /* of the current mask; a new one gets the other */
    uint64_t position;   /* input frames so far */
    bool entered;        /* the new mask is in its slot */
    bool begun;          /* and active */
    uint64_t switches;   /* that have begun */
    struct block coming; /* the new mask's output; allocated by the first switch */
    struct block_in_double coming_in_double; /* the same in double precision */

    /* Owned by the control thread while `switching` is false, by the step while it is true. */
    struct convolver_switch change;
    _Atomic bool switching;

    struct convolver_mask *masks; /* owned; control thread */
    struct convolver_mask *first;
};

/* Resolve auto, and state why. NULL for an unknown name. */
const struct convolver_backend *convolver_choose(const struct convolver_settings *settings,
                                                 const struct mask *mask, char *reason,
                                                 size_t size);

/* The filter's process. Real-time. */
void convolver_process(struct filter *filter, const float *const *in, float *const *out);
void convolver_process_in_double(struct filter *filter, const double *const *in,
                                 double *const *out);

static inline bool convolver_is_in_double(const struct convolver *convolver)
{
    return convolver->shape.precision == PRECISION_DOUBLE;
}

HALO_REALTIME static inline enum side convolver_side_of(const struct convolver_share *share)
{
    return (enum side)atomic_load(&share->side);
}

/* ---- control side, convolver_shares.c ---- */

/* One share for each processor, with the main side of each. `mask` is the first. Errors: memory, no
 * such backend, what it cannot do. */
MUST_CHECK enum status convolver_shares_create(struct convolver *convolver,
                                               const struct convolver_backend *backend,
                                               const struct mask *mask);
void convolver_shares_destroy(struct convolver *convolver);
MUST_CHECK enum status convolver_create_side(struct convolver_share *share, enum side side,
                                             const struct convolver_backend *backend,
                                             const struct convolver_shape *shape);
MUST_CHECK enum status convolver_shares_add_standby(struct convolver *convolver,
                                                    const struct mask *mask);

/* Of one whose first mask is prepared: which standbys run in parallel, and how long the
 * others are waited for. */
MUST_CHECK enum status convolver_shares_run_standbys(struct convolver *convolver);

/* Of one whose first mask, `mask`, is prepared: processors that stand by for shares of others,
 * where the CPU does not run along, as many as are to be had. convolver_spares.c. */
void convolver_spares_create(struct convolver *convolver, const struct mask *mask);

/* The form of a mask for the spare of a share; `mask` has its inputs and outputs. A spare that
 * cannot have it takes nothing over any more. Errors: it has done so already. */
MUST_CHECK enum status convolver_spare_prepare(struct convolver_share *share,
                                               const struct mask *mask,
                                               const struct prepared **form);

/* The first mask's. */
MUST_CHECK enum status convolver_shares_prepare_spare(const struct convolver *convolver,
                                                      struct convolver_share *share,
                                                      const struct mask *mask);

/* The forms of a mask for all shares; those of an unfinished one are released as well. */
MUST_CHECK enum status convolver_shares_prepare(const struct convolver *convolver,
                                                const struct mask *mask,
                                                struct convolver_mask *prepared);
void convolver_shares_release(const struct convolver *convolver,
                              const struct convolver_mask *prepared);

/* ---- the step: convolver_step.c, convolver_shares_step.c and convolver_side.c ---- */

/* The block of all shares, but for the history and the fade. */
void convolver_run_shares(struct convolver *convolver, const float *const *in, float *const *out,
                          bool entering);

void convolver_set_masks(const struct convolver *convolver, const struct convolver_share *share,
                         enum side side, bool entering, bool all_fresh,
                         struct convolver_slot slots[CONVOLVER_SLOTS]);
const char *convolver_failure_of(const struct convolver_share *share, enum side side);

/* The active side of a share has failed: `to` is the active one. */
void convolver_leave_side(struct convolver *convolver, struct convolver_share *share, enum side to,
                          const char *failure);

/* The time until which a share is waited for. */
int64_t convolver_wait_until(const struct convolver *convolver,
                             const struct convolver_share *share);

/* After the answers: send the block, convolver->work.in, to the share's spare, if it has one. */
void convolver_feed_spare(struct convolver *convolver, struct convolver_share *share);

/* The main side of a share has failed in this block: let the spare do that, if there is one. Then
 * share->answered says whether it was in time. False: the spare cannot. */
bool convolver_move_to_spare(struct convolver *convolver, struct convolver_share *share,
                             const char *failure, const float *const *in, float *const *out,
                             bool entering);

/* Fill in the slots of one side, with outputs in `out` and `coming`, which are those of the whole
 * convolver; `coming` may only be looked at while a mask enters: until then the control thread may
 * be allocating it. */
void convolver_set_slots(const struct convolver *convolver, const struct convolver_share *share,
                         enum side side, bool entering, bool all_fresh, float *const *out,
                         const struct block *coming, struct convolver_slot slots[CONVOLVER_SLOTS]);
void convolver_set_slots_in_double(const struct convolver *convolver,
                                   const struct convolver_share *share, enum side side,
                                   bool entering, bool all_fresh, double *const *out,
                                   const struct block_in_double *coming,
                                   struct convolver_slot slots[CONVOLVER_SLOTS]);

/* Run the side of a share that is active; if it fails, the standby takes over within the block. */
void convolver_run_share(struct convolver *convolver, struct convolver_share *share,
                         const float *const *in, float *const *out, bool entering);
void convolver_run_share_in_double(struct convolver *convolver, struct convolver_share *share,
                                   const double *const *in, double *const *out, bool entering);

/* The active side of a share has failed in this block: let the standby do that. */
void convolver_replace_share(struct convolver *convolver, struct convolver_share *share,
                             const char *failure, const float *const *in, float *const *out,
                             bool entering);
void convolver_replace_share_in_double(struct convolver *convolver, struct convolver_share *share,
                                       const char *failure, const double *const *in,
                                       double *const *out, bool entering);

HALO_REALTIME static inline bool convolver_is_replaced(const struct convolver_share *share)
{
    return convolver_side_of(share) == STANDBY;
}

/* The block becomes the newest of the history, if a share may need that. */
void convolver_remember(struct convolver *convolver, const float *const *in);
void convolver_remember_in_double(struct convolver *convolver, const double *const *in);

/* The standbys' history, in the convolver's precision. Control thread. Errors: memory. */
MUST_CHECK enum status convolver_keep_history(struct convolver *convolver);
MUST_CHECK enum status convolver_keep_history_in_double(struct convolver *convolver);
void convolver_reset_history(struct convolver *convolver);
void convolver_reset_history_in_double(struct convolver *convolver);
void convolver_free_history(struct convolver *convolver);
void convolver_free_history_in_double(struct convolver *convolver);

/* Make the standby that a failure asks for. Not in a live step. False: not possible, which is
 * noted. */
bool convolver_make_standby(struct convolver *convolver, struct convolver_share *share);

/* Mix the new mask's output into that of the old one, by the switch under way. Real-time. */
void convolver_fade(const struct convolver *convolver, float *const *out);
void convolver_fade_in_double(const struct convolver *convolver, double *const *out);

/* Make the new mask the current one. */
void convolver_finish_switch(struct convolver *convolver);

#endif
