/* What a convolver consists of, shared by its control thread's part (convolver.c) and its
 * step (convolver_step.c) alone. */
#ifndef HALO_CONVOLVER_STATE_H
#define HALO_CONVOLVER_STATE_H

#include "audio.h"
#include "convolver.h"
#include "history.h"

#include <stdatomic.h>

/* What carries out the convolution: the backend asked for, or the CPU that stands by. */
enum side { MAIN, STANDBY, SIDES };

/* A mask, prepared for each side; NULL where there is no such side. */
struct forms {
    const struct prepared *of[SIDES];
};

struct convolver_change {
    struct forms forms; /* on the way in the new mask's, on the way out the retired one's */
    uint64_t at;
    uint64_t fade;
};

struct convolver {
    struct filter filter;
    struct convolver_shape shape;
    size_t origin;
    const struct convolver_backend *backend[SIDES]; /* STANDBY: NULL if none is needed */
    struct convolution *convolution[SIDES];
    struct history history; /* for the standby: the past, in whole blocks */
    char algorithm[SIDES][96];
    char reason[160];
    char notice[200];

    /* The step's own, but that `side` is read by all. */
    _Atomic int side;
    struct forms current;
    size_t voice;                    /* of the current mask; a fade's new one has the other */
    uint64_t position;               /* frames that came in */
    struct convolver_change *change; /* under way */
    bool begun;                      /* the change's mask sounds already */
    struct block faded; /* the new mask's output during a fade; made for the first one */

    /* One change crosses to the step and back. */
    _Atomic(struct convolver_change *) armed;
    _Atomic(struct convolver_change *) retired;
    bool changing; /* control thread: sent and not collected */
};

/* Real-time: the filter's process. */
void convolver_process(struct filter *filter, const float *const *in, float *const *out);

/* The change under way is done: its mask is the current one, the old one is retired. */
void convolver_finish_change(struct convolver *convolver);

#endif
