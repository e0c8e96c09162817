/* The state of a convolver. Private to convolver.c and convolver_side.c. */
#ifndef HALO_CONVOLVER_STATE_H
#define HALO_CONVOLVER_STATE_H

#include "base/realtime.h"
#include "convolve/convolver_backend.h"
#include "signal/audio.h"
#include "signal/real.h"

#include <stdatomic.h>

/* MAIN: the requested backend. STANDBY: the CPU, which takes over when MAIN fails. */
enum side { MAIN, STANDBY, SIDES };

/* A mask prepared for each side. */
struct convolver_mask {
    struct proved_mask *proved;  /* NULL: no proof was asked for */
    struct convolver_mask *next; /* next mask in the control thread's list */
    /* [side] the mask as the side's backend keeps it; NULL: there is no such side */
    const struct prepared *forms[SIDES];
};

/* The last blocks of input before the current one, in a ring, in the convolver's precision. */
struct convolver_history {
    struct block frames;
    struct block_in_double frames_in_double;
    size_t blocks;
    size_t next; /* place of the oldest block, which the coming block replaces */
};

struct convolver {
    struct filter filter;
    struct convolver_shape shape;
    size_t origin;
    const struct convolver_backend *backend[SIDES]; /* [side] NULL: there is no such side */
    struct convolution *convolution[SIDES];
    char algorithm[SIDES][128];
    _Atomic int side; /* the active side; the step writes it, any thread reads it */
    bool along;       /* Live: the standby runs in parallel with the GPU and needs no history. */
    /* mask for a standby to be created when needed; NULL: the standby exists, or none is needed */
    const struct mask *kept_mask;
    struct convolver_history history; /* what a standby receives when it takes over */
    int64_t patience; /* ns until the GPU counts as late, if the standby runs in parallel */
    struct block beside[CONVOLVER_SLOTS]; /* outputs of a standby that runs in parallel */
    _Atomic uint64_t late;                /* blocks for which the GPU was too late */
    struct prover *prover;                /* NULL: no proof was asked for */
    char reason[CONVOLVER_WHY];
    char notice[200];
    char failure[200];

    /* `current` and the members up to the next heading: written by the step. */
    const struct convolver_mask *current;
    size_t slot;         /* slot of the current mask; a new mask gets the other slot */
    uint64_t position;   /* input frames so far */
    bool entered;        /* the new mask is in its slot */
    bool begun;          /* the new mask is in its slot and active */
    uint64_t switches;   /* number of switches that have begun */
    struct block coming; /* outputs of the new mask; the first switch allocates them */
    struct block_in_double coming_in_double; /* outputs of the new mask in double precision */

    /* `change` belongs to the control thread while `switching` is false, else to the step. */
    struct convolver_switch change;
    _Atomic bool switching;

    struct convolver_mask *masks; /* list of all masks; owned by the control thread */
    struct convolver_mask *first;
};

/* The backend of the settings. For "auto" it chooses one and writes why. NULL: unknown name. */
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

/* Creates the standby after a failure, in a file's step. False: not possible; a note says why. */
bool convolver_make_standby(struct convolver *convolver);

/* ---- the step; real-time ---- */

void convolver_set_masks(const struct convolver *convolver, enum side side, bool entering,
                         bool all_fresh, struct convolver_slot slots[CONVOLVER_SLOTS]);
const char *convolver_failure_of(const struct convolver *convolver, enum side side);

/* Makes the standby the active side, since the main side has failed. */
void convolver_leave_main(struct convolver *convolver, const char *failure);

/* Fills in the slots of one side, whose outputs are `out` and `coming`. It reads `coming` only
 * while a mask enters, since at other times the control thread may be allocating it. */
void convolver_set_slots(const struct convolver *convolver, enum side side, bool entering,
                         bool all_fresh, float *const *out, const struct block *coming,
                         struct convolver_slot slots[CONVOLVER_SLOTS]);
void convolver_set_slots_in_double(const struct convolver *convolver, enum side side, bool entering,
                                   bool all_fresh, double *const *out,
                                   const struct block_in_double *coming,
                                   struct convolver_slot slots[CONVOLVER_SLOTS]);

/* Runs the active side. If it fails, the standby takes over within the block. */
void convolver_run(struct convolver *convolver, const float *const *in, float *const *out,
                   bool entering);
void convolver_run_in_double(struct convolver *convolver, const double *const *in,
                             double *const *out, bool entering);

/* Adds the block to the history, if a standby may need the history. */
void convolver_remember(struct convolver *convolver, const float *const *in);
void convolver_remember_in_double(struct convolver *convolver, const double *const *in);

/* Allocates the standby's history. Control thread. Errors: memory. */
MUST_CHECK enum status convolver_keep_history(struct convolver *convolver);
MUST_CHECK enum status convolver_keep_history_in_double(struct convolver *convolver);
void convolver_reset_history(struct convolver *convolver);
void convolver_reset_history_in_double(struct convolver *convolver);
void convolver_free_history(struct convolver *convolver);
void convolver_free_history_in_double(struct convolver *convolver);

/* Mixes the new mask's outputs into those of the old one, as the current switch asks. Real-time. */
void convolver_fade(const struct convolver *convolver, float *const *out);
void convolver_fade_in_double(const struct convolver *convolver, double *const *out);

#endif
