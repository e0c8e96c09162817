/* The state of a convolver, private to convolver.c and the step of a side in each precision,
 * convolver_side.c. */
#ifndef HALO_CONVOLVER_STATE_H
#define HALO_CONVOLVER_STATE_H

#include "base/realtime.h"
#include "convolve/convolver_backend.h"
#include "signal/audio.h"
#include "signal/real.h"

#include <stdatomic.h>

/* The requested backend, and the CPU as its standby. */
enum side { MAIN, STANDBY, SIDES };

/* A mask prepared for each side. */
struct convolver_mask {
    struct proved_mask *proved;          /* NULL without a proof */
    struct convolver_mask *next;         /* in the control thread's list */
    const struct prepared *forms[SIDES]; /* NULL: there is no such side */
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
    const struct convolver_backend *backend[SIDES]; /* NULL: there is no such side */
    struct convolution *convolution[SIDES];
    char algorithm[SIDES][128];
    _Atomic int side;             /* the active one; written by the step, read by any thread */
    bool along;                   /* live: the standby runs in parallel, without history */
    const struct mask *kept_mask; /* for a standby that is made when it is needed; NULL: it is */
    struct convolver_history history;     /* for the standby */
    int64_t patience;                     /* ns until a GPU with the CPU beside it is late */
    struct block beside[CONVOLVER_SLOTS]; /* outputs of a standby that runs along */
    _Atomic uint64_t late;
    struct prover *prover; /* NULL: no proof was asked for */
    char reason[CONVOLVER_WHY];
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

static inline bool convolver_is_in_double(const struct convolver *convolver)
{
    return convolver->shape.precision == PRECISION_DOUBLE;
}

HALO_REALTIME static inline enum side convolver_side_of(const struct convolver *convolver)
{
    return (enum side)atomic_load(&convolver->side);
}

HALO_REALTIME static inline bool convolver_is_replaced(const struct convolver *convolver)
{
    return convolver_side_of(convolver) == STANDBY;
}

/* In files, in the step: create the standby that a failure asks for. False: not possible, which is
 * noted. */
bool convolver_make_standby(struct convolver *convolver);

/* ---- the step; real-time ---- */

void convolver_set_masks(const struct convolver *convolver, enum side side, bool entering,
                         bool all_fresh, struct convolver_slot slots[CONVOLVER_SLOTS]);
const char *convolver_failure_of(const struct convolver *convolver, enum side side);

/* The main side has failed: the standby is the active one. */
void convolver_leave_main(struct convolver *convolver, const char *failure);

/* Fill in the slots of one side, with outputs in `out` and `coming`. `coming` may only be looked at
 * while a mask enters: until then the control thread may be allocating it. */
void convolver_set_slots(const struct convolver *convolver, enum side side, bool entering,
                         bool all_fresh, float *const *out, const struct block *coming,
                         struct convolver_slot slots[CONVOLVER_SLOTS]);
void convolver_set_slots_in_double(const struct convolver *convolver, enum side side, bool entering,
                                   bool all_fresh, double *const *out,
                                   const struct block_in_double *coming,
                                   struct convolver_slot slots[CONVOLVER_SLOTS]);

/* Run the active side; if it fails, the standby takes over within the block. */
void convolver_run(struct convolver *convolver, const float *const *in, float *const *out,
                   bool entering);
void convolver_run_in_double(struct convolver *convolver, const double *const *in,
                             double *const *out, bool entering);

/* The block becomes the newest of the history, if a standby may need the history. */
void convolver_remember(struct convolver *convolver, const float *const *in);
void convolver_remember_in_double(struct convolver *convolver, const double *const *in);

/* The standby's history, in the convolver's precision. Control thread. Errors: memory. */
MUST_CHECK enum status convolver_keep_history(struct convolver *convolver);
MUST_CHECK enum status convolver_keep_history_in_double(struct convolver *convolver);
void convolver_reset_history(struct convolver *convolver);
void convolver_reset_history_in_double(struct convolver *convolver);
void convolver_free_history(struct convolver *convolver);
void convolver_free_history_in_double(struct convolver *convolver);

/* Mix the new mask's output into that of the old one, by the switch under way. Real-time. */
void convolver_fade(const struct convolver *convolver, float *const *out);
void convolver_fade_in_double(const struct convolver *convolver, double *const *out);

#endif
