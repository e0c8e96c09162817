#include "base/laps.h"
#include "base/realtime.h"
#include "convolve/convolver_state.h"
#include "convolve/switch_weights.h"
#include "signal/real.h"

#include <stdio.h>
#include <stdlib.h>

/* One side of a convolver, and how the standby takes over when it fails. Compiled for each
 * precision. The step is real-time. */

/* The history begins as silence. Pages that are never written take no memory. */
enum status REAL(convolver_keep_history)(struct convolver *convolver)
{
    const struct convolver_shape *shape = &convolver->shape;
    struct convolver_history *history = &convolver->history;
    history->blocks = (shape->taps - 1 + shape->block - 1) / shape->block;
    struct real_block *frames = &history->REAL(frames);
    TRY(block_init(frames, shape->inputs, 0, "a convolver"));
    frames->frames = history->blocks * shape->block;
    for (size_t c = 0; c < shape->inputs; c++) {
        free(frames->data[c]);
        frames->data[c] = calloc(frames->frames + 1, sizeof *frames->data[c]);
        if (!frames->data[c])
            return fail_memory("a convolver");
    }
    return STATUS_OK;
}

void REAL(convolver_reset_history)(struct convolver *convolver)
{
    struct real_block *frames = &convolver->history.REAL(frames);
    block_silence(frames, 0, frames->frames);
    convolver->history.next = 0;
}

void REAL(convolver_free_history)(struct convolver *convolver)
{
    block_free(&convolver->history.REAL(frames));
}

/* Whether a standby may need the history. A standby that runs in parallel does not. */
HALO_REALTIME static bool is_history_needed(const struct convolver *convolver)
{
    return !convolver_is_replaced(convolver) && !convolver->along &&
           (convolver->backend[STANDBY] || convolver->kept_mask);
}

/* In files the workers share the copying. */
HALO_REALTIME void REAL(convolver_remember)(struct convolver *convolver, const real *const *in)
{
    struct convolver_history *history = &convolver->history;
    const struct convolver_shape *shape = &convolver->shape;
    if (history->blocks == 0 || !is_history_needed(convolver))
        return;
    int64_t lap = lap_begin();
    audio_copy_rows(history->REAL(frames).data, history->next * shape->block, in, shape->inputs,
                    shape->block, shape->live ? NULL : shape->workers);
    history->next = (history->next + 1) % history->blocks;
    lap_end(LAP_HISTORY, lap);
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

/* Gives the standby the history, without an active slot: the other backend failed in this block. */
HALO_REALTIME static void take_over(struct convolver *convolver, const char *failure)
{
    const struct convolver_slot silent[CONVOLVER_SLOTS] = {0};
    const struct convolver_history *history = &convolver->history;
    size_t block = convolver->filter.block, inputs = convolver->shape.inputs;
    const real *recent[inputs];
    for (size_t i = 0; i < history->blocks; i++) {
        size_t at = (history->next + i) % history->blocks;
        for (size_t c = 0; c < inputs; c++)
            recent[c] = history->REAL(frames).data[c] + at * block;
        convolver->backend[STANDBY]->REAL(step)(convolver->convolution[STANDBY], recent, silent);
    }
    convolver_leave_main(convolver, failure);
}

HALO_REALTIME void REAL(convolver_run)(struct convolver *convolver, const real *const *in,
                                       real *const *out, bool entering)
{
    enum side side = convolver_side_of(convolver);
    run_side(convolver, side, in, out, entering, false);
    const char *failure = convolver_failure_of(convolver, side);
    if (!failure)
        return;
    if (side == MAIN && convolver_make_standby(convolver)) {
        take_over(convolver, failure);
        run_side(convolver, STANDBY, in, out, entering, true);
    } else {
        snprintf(convolver->failure, sizeof convolver->failure,
                 "the filter failed: %s; try --backend cpu", failure);
        convolver->filter.failure = convolver->failure;
    }
}

/* The fade from one mask of a convolver to the next. Compiled for each precision. Real-time. */

HALO_REALTIME void REAL(convolver_fade)(const struct convolver *convolver, real *const *out)
{
    const struct filter *filter = &convolver->filter;
    for (size_t i = 0; i < filter->block; i++) {
        struct switch_weights weights =
            switch_weights_at(&convolver->change, convolver->position + i);
        if (weights.old == 1)
            continue;
        for (size_t c = 0; c < filter->outputs; c++) {
            real new = convolver->REAL(coming).data[c][i];
            out[c][i] = weights.new == 1 ? new : weights.old * out[c][i] + weights.new * new;
        }
    }
}
