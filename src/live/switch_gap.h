/* The switch of a listening test, which sounds the same whatever it leads to.
 *
 *   asked -> delay -> fade out -> pause -> fade in
 *
 * These are gains of the output, after all that has memory; the choice changes within the pause,
 * where the gain is 0. Each part has the same frames for every switch, from a choice to itself too.
 * `delay` and `pause` leave time to arm the slowest mask. If it is not armed by then, on an
 * overloaded machine, the pause goes on until it is, and that is counted.
 *
 * To switch: choices_ask at CONVOLVER_HELD, then switch_gap_ask.
 * Units: frames. Threads: begin and process are the step's, real-time; the rest is the control
 * thread's.
 */
#ifndef HALO_SWITCH_GAP_H
#define HALO_SWITCH_GAP_H

#include "sound/filter.h"

#include <stdatomic.h>

struct switch_gap {
    struct filter *convolver;  /* that has the choices */
    size_t delay, fade, pause; /* `fade`: out, and in */
    uint64_t latency;          /* from the convolver to the output */
    bool runs;                 /* this and the next two are the step's */
    uint64_t at;               /* since the step took the request */
    uint64_t rises;            /* where the fade in begins; UINT64_MAX: not known yet */
    atomic_bool asked;         /* until the fade in ends */
    _Atomic uint64_t late_by;  /* by which the pause of the last late switch was longer */
    _Atomic uint64_t late;     /* so many were */
};

void switch_gap_ask(struct switch_gap *gap);

/* Whether a switch was asked for and has not ended. */
bool switch_gap_is_under_way(const struct switch_gap *gap);

/* Before the chain's step, for a block of so many frames. */
void switch_gap_begin(struct switch_gap *gap, size_t block);

/* After it, in place. */
void switch_gap_process(struct switch_gap *gap, size_t channels, float *const *out, size_t block);

#endif
