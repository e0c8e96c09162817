/* What a convolver consists of, shared by its control thread's part (convolver.c) and its
 * step (convolver_step.c) alone. */
#ifndef HALO_CONVOLVER_STATE_H
#define HALO_CONVOLVER_STATE_H

#include "convolve/convolver.h"
#include "convolve/history.h"
#include "signal/audio.h"

#include <stdatomic.h>

/* What carries out the convolution: the backend asked for, or the CPU that stands by. */
enum side { MAIN, STANDBY, SIDES };

/* A mask, prepared for each side; NULL where there is no such side. */
struct convolver_mask {
    const struct prepared *of[SIDES];
    struct convolver_mask *next; /* of all that the control thread has made */
};

struct convolver {
    struct filter filter;
    struct convolver_shape shape;
    size_t origin;
    const struct convolver_backend *backend[SIDES]; /* STANDBY: NULL if none is needed */
    struct convolution *convolution[SIDES];
    struct history history;              /* for the standby: the past, in whole blocks */
    bool along;                          /* live: the standby runs along and needs no past */
    double patience;                     /* ns that the main side may take then */
    struct block spare[CONVOLVER_SLOTS]; /* the standby's outputs */
    _Atomic uint64_t late;
    char algorithm[SIDES][96];
    char reason[160];
    char notice[200];
    char failure[200];

    /* The step's own, but that `side` is read by all. */
    _Atomic int side;
    const struct convolver_mask *current;
    size_t slot;         /* of the current mask; a switch's new one has the other */
    uint64_t position;   /* frames that came in */
    bool entered;        /* the switch's mask is with its slot */
    bool begun;          /* and sounds */
    struct block coming; /* the new mask's output during a switch; made for the first one */

    /* The switch: the control thread's to fill in while it is not under way, and the step's
     * while it is. */
    struct convolver_switch change;
    _Atomic bool switching;

    struct convolver_mask *masks; /* control thread's */
    struct convolver_mask *first;
};

/* Real-time: the filter's process. */
void convolver_process(struct filter *filter, const float *const *in, float *const *out);

/* The switch under way is done: its mask is the current one. */
void convolver_finish_switch(struct convolver *convolver);

#endif
