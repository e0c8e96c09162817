/* One side of a convolver, and the standby that takes over when it fails; compiled for each
 * precision. The step is real-time. */
#include "convolve/convolver_state.h"

#include "base/realtime.h"
#include "signal/real.h"

#include <stdio.h>

enum status REAL(convolver_keep_history)(struct convolver *convolver)
{
    const struct convolver_shape *shape = &convolver->shape;
    size_t blocks = (shape->taps - 1 + shape->block - 1) / shape->block;
    return history_init(&convolver->history, shape->inputs, blocks * shape->block, shape->block);
}

void REAL(convolver_reset_history)(struct convolver *convolver)
{
    history_reset(&convolver->history);
}

void REAL(convolver_free_history)(struct convolver *convolver)
{
    history_free(&convolver->history);
}

HALO_REALTIME void REAL(convolver_set_slots)(const struct convolver *convolver, enum side side,
                                             bool entering, bool all_fresh, real *const *out,
                                             const struct real_block *coming,
                                             struct convolver_slot slots[CONVOLVER_SLOTS])
{
    convolver_set_masks(convolver, side, entering, all_fresh, slots);
    slots[convolver->slot].REAL(out) = out;
    if (entering)
        slots[1 - convolver->slot].REAL(out) = coming->data;
}

HALO_REALTIME static void run_side(struct convolver *convolver, enum side side,
                                   const real *const *in, real *const *out, bool entering,
                                   bool all_fresh)
{
    struct convolver_slot slots[CONVOLVER_SLOTS];
    REAL(convolver_set_slots)(convolver, side, entering, all_fresh, out, &convolver->REAL(coming),
                              slots);
    convolver->backend[side]->REAL(step)(convolver->convolution[side], in, slots);
}

/* The main backend has failed within this block: feed the standby the history, with no slot
 * active, so that it is up to date. */
HALO_REALTIME static void take_over(struct convolver *convolver, const char *failure)
{
    const struct convolver_slot silent[CONVOLVER_SLOTS] = {0};
    const struct history *history = &convolver->history;
    size_t block = convolver->filter.block, inputs = convolver->filter.inputs;
    const real *recent[inputs];
    for (size_t before = history->keep / block; before > 0; before--) {
        for (size_t c = 0; c < inputs; c++)
            recent[c] = history_now(history, c) - before * block;
        convolver->backend[STANDBY]->REAL(step)(convolver->convolution[STANDBY], recent, silent);
    }
    convolver_leave_main(convolver, failure);
}

HALO_REALTIME void REAL(convolver_run_one)(struct convolver *convolver, const real *const *in,
                                           real *const *out, bool entering)
{
    enum side side = (enum side)atomic_load(&convolver->side);
    bool stands_by = side == MAIN && convolver->backend[STANDBY];
    if (stands_by)
        history_advance(&convolver->history, in);
    run_side(convolver, side, in, out, entering, false);
    const char *failure = convolver_failure_of(convolver, side);
    if (failure && stands_by) {
        take_over(convolver, failure);
        run_side(convolver, STANDBY, in, out, entering, true);
    } else if (failure) {
        snprintf(convolver->failure, sizeof convolver->failure,
                 "the filter failed: %s; try --backend cpu", failure);
        convolver->filter.failure = convolver->failure;
    }
}
