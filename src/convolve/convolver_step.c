/* The convolver's step: what both precisions share, and the GPU beside the CPU. Real-time
 * throughout. */
#include "convolve/convolver_state.h"

#include "base/monotonic.h"
#include "base/realtime.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

HALO_REALTIME static bool runs(const struct convolver *convolver, enum side side)
{
    return side == (enum side)atomic_load(&convolver->side) ||
           (side == STANDBY && convolver->along);
}

/* Whether the new mask is armed on all active sides. */
HALO_REALTIME static bool is_armed(struct convolver *convolver)
{
    bool armed = true;
    for (enum side side = MAIN; side < SIDES; side++) {
        const struct convolver_backend *backend = convolver->backend[side];
        if (backend && backend->arm && runs(convolver, side))
            armed = backend->arm(convolver->convolution[side], 1 - convolver->slot,
                                 convolver->change.to->of[side], !convolver->shape.live) &&
                    armed;
    }
    return armed;
}

/* Whether the new mask takes part in this block: from the switch's frame on, but not before it is
 * armed. Live, arming begins at once. */
HALO_REALTIME static bool enter(struct convolver *convolver)
{
    struct convolver_switch *change = &convolver->change;
    uint64_t end = convolver->position + convolver->filter.block;
    if (convolver->begun)
        return true;
    if (change->at < convolver->position)
        change->at = convolver->position;
    bool due = change->at < end;
    if ((due || convolver->shape.live) && !is_armed(convolver)) {
        if (due)
            change->at = end;
        return false;
    }
    convolver->begun = due;
    return due;
}

HALO_REALTIME void convolver_finish_switch(struct convolver *convolver)
{
    convolver->current = convolver->change.to;
    convolver->slot = 1 - convolver->slot;
    convolver->begun = convolver->entered = false;
    atomic_store(&convolver->switching, false);
}

HALO_REALTIME void convolver_set_masks(const struct convolver *convolver, enum side side,
                                       bool entering, bool all_fresh,
                                       struct convolver_slot slots[CONVOLVER_SLOTS])
{
    const struct convolver_backend *backend = convolver->backend[side];
    slots[convolver->slot] =
        (struct convolver_slot){.prepared = convolver->current->of[side], .fresh = all_fresh};
    slots[1 - convolver->slot] = (struct convolver_slot){0};
    if (entering)
        slots[1 - convolver->slot] = (struct convolver_slot){
            .prepared = convolver->change.to->of[side], .fresh = !convolver->entered || all_fresh};
    for (size_t v = 0; v < CONVOLVER_SLOTS && backend->arm; v++)
        if (slots[v].prepared) /* the first mask; both when the standby takes over */
            (void)backend->arm(convolver->convolution[side], v, slots[v].prepared, true);
}

/* After a step. A GPU is waited for: whatever takes long there is the GPU. */
HALO_REALTIME static unsigned find_held_up(const struct convolver *convolver)
{
    enum side side = (enum side)atomic_load(&convolver->side);
    unsigned held_up = convolver->backend[side]->failure ? FILTER_GPU_LATE : 0;
    for (side = MAIN; side < SIDES; side++) {
        const struct convolver_backend *backend = convolver->backend[side];
        if (backend && runs(convolver, side) && backend->is_worker_late &&
            backend->is_worker_late(convolver->convolution[side]))
            held_up |= FILTER_WORKER_LATE;
    }
    return held_up;
}

static void take_spare(const struct convolver *convolver, float *const *out, bool entering)
{
    for (size_t c = 0; c < convolver->filter.outputs; c++) {
        size_t bytes = convolver->filter.block * sizeof(float);
        memcpy(out[c], convolver->spare[0].data[c], bytes);
        if (entering)
            memcpy(convolver->coming.data[c], convolver->spare[1].data[c], bytes);
    }
}

HALO_REALTIME const char *convolver_failure_of(const struct convolver *convolver, enum side side)
{
    const struct convolver_backend *backend = convolver->backend[side];
    return backend->failure ? backend->failure(convolver->convolution[side]) : NULL;
}

HALO_REALTIME void convolver_leave_main(struct convolver *convolver, const char *failure)
{
    snprintf(convolver->notice, sizeof convolver->notice,
             "the GPU failed (%s): continuing on the CPU from frame %llu, nothing is lost", failure,
             (unsigned long long)convolver->position);
    if (!convolver->shape.service) /* which says it once for all convolvers */
        convolver->filter.notice = convolver->notice;
    atomic_store(&convolver->side, STANDBY);
}

/* Live: both work in parallel; the CPU supplies the block if the GPU is late. */
static void run_both(struct convolver *convolver, const float *const *in, float *const *out,
                     bool entering)
{
    struct convolver_slot main_slots[CONVOLVER_SLOTS], standby_slots[CONVOLVER_SLOTS];
    const struct convolver_backend *backend = convolver->backend[MAIN];
    int64_t until = monotonic_ns() + (int64_t)convolver->patience;
    convolver_set_slots(convolver, MAIN, entering, false, out, &convolver->coming, main_slots);
    convolver_set_slots(convolver, STANDBY, entering, false, convolver->spare[0].data,
                        &convolver->spare[1], standby_slots);
    backend->post(convolver->convolution[MAIN], in, main_slots);
    convolver->backend[STANDBY]->step(convolver->convolution[STANDBY], in, standby_slots);
    if (backend->collect(convolver->convolution[MAIN], main_slots, until))
        return;
    take_spare(convolver, out, entering);
    const char *failure = convolver_failure_of(convolver, MAIN);
    if (failure) {
        convolver_leave_main(convolver, failure);
        convolver->along = false;
    } else {
        atomic_fetch_add(&convolver->late, 1);
    }
}

HALO_REALTIME static void end_block(struct convolver *convolver, bool entering)
{
    convolver->filter.held_up = find_held_up(convolver);
    uint64_t end = convolver->position + convolver->filter.block;
    convolver->entered = entering || convolver->entered;
    if (entering && end - convolver->change.at >= convolver->change.frames)
        convolver_finish_switch(convolver);
    convolver->position = end;
}

HALO_REALTIME void convolver_process(struct filter *filter, const float *const *in,
                                     float *const *out)
{
    struct convolver *convolver = (struct convolver *)filter;
    bool entering = atomic_load(&convolver->switching) && enter(convolver);
    (convolver->along ? run_both : convolver_run_one)(convolver, in, out, entering);
    if (convolver->prover)
        prover_step(convolver->prover, in, (const float *const *)out,
                    entering ? NULL : convolver->current->proved);
    if (entering)
        convolver_fade(convolver, out);
    end_block(convolver, entering);
}

HALO_REALTIME void convolver_process_in_double(struct filter *filter, const double *const *in,
                                               double *const *out)
{
    struct convolver *convolver = (struct convolver *)filter;
    bool entering = atomic_load(&convolver->switching) && enter(convolver);
    convolver_run_one_in_double(convolver, in, out, entering);
    if (convolver->prover)
        prover_step_in_double(convolver->prover, in, (const double *const *)out,
                              entering ? NULL : convolver->current->proved);
    if (entering)
        convolver_fade_in_double(convolver, out);
    end_block(convolver, entering);
}
