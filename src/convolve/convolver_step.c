/* The convolver's step: what both precisions and all shares share. Real-time throughout. */
#include "convolve/convolver_state.h"

#include <stdio.h>

HALO_REALTIME static bool runs(const struct convolver_share *share, enum side side)
{
    return side == convolver_side_of(share) || (side == STANDBY && share->along);
}

HALO_REALTIME static bool is_share_armed(const struct convolver *convolver, size_t p)
{
    const struct convolver_share *share = &convolver->shares[p];
    const struct convolver_forms *coming = &convolver->change.to->forms[p];
    bool armed = true;
    for (enum side side = MAIN; side < SIDES; side++) {
        const struct convolver_backend *backend = share->backend[side];
        if (backend && backend->arm && runs(share, side))
            armed = backend->arm(share->convolution[side], 1 - convolver->slot, coming->of[side],
                                 !convolver->shape.live) &&
                    armed;
    }
    return armed;
}

/* Whether the new mask is armed on all active sides of all shares, so that it enters all of them in
 * one block. */
HALO_REALTIME static bool is_armed(const struct convolver *convolver)
{
    bool armed = true;
    for (size_t p = 0; p < convolver->share_count; p++)
        armed = is_share_armed(convolver, p) && armed;
    return armed;
}

/* Whether the new mask takes share in this block: from the switch's frame on, but not before it is
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
    convolver->switches += due;
    return due;
}

HALO_REALTIME void convolver_begin_switch(struct filter *filter, uint64_t frames)
{
    struct convolver *convolver = (struct convolver *)filter;
    if (atomic_load(&convolver->switching) && convolver->change.at == CONVOLVER_HELD)
        convolver->change.at = convolver->position + frames;
}

/* Until then the control thread may be writing the switch. */
HALO_REALTIME bool convolver_has_begun(const struct filter *filter, uint64_t number, uint64_t *at)
{
    const struct convolver *convolver = (const struct convolver *)filter;
    if (convolver->switches < number)
        return false;
    *at = convolver->change.at;
    return true;
}

HALO_REALTIME void convolver_finish_switch(struct convolver *convolver)
{
    convolver->current = convolver->change.to;
    convolver->slot = 1 - convolver->slot;
    convolver->switches += !convolver->begun; /* a reset came before it began */
    convolver->begun = convolver->entered = false;
    atomic_store(&convolver->switching, false);
}

HALO_REALTIME void convolver_set_masks(const struct convolver *convolver,
                                       const struct convolver_share *share, enum side side,
                                       bool entering, bool all_fresh,
                                       struct convolver_slot slots[CONVOLVER_SLOTS])
{
    const struct convolver_backend *backend = share->backend[side];
    size_t p = share->shape.share;
    slots[convolver->slot] = (struct convolver_slot){
        .prepared = convolver->current->forms[p].of[side], .fresh = all_fresh};
    slots[1 - convolver->slot] = (struct convolver_slot){0};
    if (entering)
        slots[1 - convolver->slot] =
            (struct convolver_slot){.prepared = convolver->change.to->forms[p].of[side],
                                    .fresh = !convolver->entered || all_fresh};
    for (size_t v = 0; v < CONVOLVER_SLOTS && backend->arm; v++)
        if (slots[v].prepared) /* the first mask; both when the standby takes over */
            (void)backend->arm(share->convolution[side], v, slots[v].prepared, true);
}

/* After a step. A GPU is waited for: whatever takes long there is the GPU. */
HALO_REALTIME static unsigned find_held_up(const struct convolver *convolver)
{
    unsigned held_up = 0;
    for (size_t p = 0; p < convolver->share_count; p++) {
        const struct convolver_share *share = &convolver->shares[p];
        if (share->backend[convolver_side_of(share)]->failure)
            held_up |= FILTER_GPU_LATE;
        for (enum side side = MAIN; side < SIDES; side++) {
            const struct convolver_backend *backend = share->backend[side];
            if (backend && runs(share, side) && backend->is_worker_late &&
                backend->is_worker_late(share->convolution[side]))
                held_up |= FILTER_WORKER_LATE;
        }
    }
    return held_up;
}

HALO_REALTIME const char *convolver_failure_of(const struct convolver_share *share, enum side side)
{
    const struct convolver_backend *backend = share->backend[side];
    return backend->failure ? backend->failure(share->convolution[side]) : NULL;
}

HALO_REALTIME static unsigned device_of(const struct convolver_share *share, enum side side)
{
    return side == SPARE ? share->spare.device : share->shape.gpu.devices.of[0];
}

HALO_REALTIME void convolver_leave_side(struct convolver *convolver, struct convolver_share *share,
                                        enum side to, const char *failure)
{
    char *notice = convolver->notice, place[24] = "the CPU";
    unsigned long long at = convolver->position;
    if (to == SPARE)
        snprintf(place, sizeof place, "GPU %u", device_of(share, SPARE));
    if (convolver->share_count == 1)
        snprintf(notice, sizeof convolver->notice,
                 "the GPU failed (%s): continuing on the CPU from frame %llu, nothing is lost",
                 failure, at);
    else
        snprintf(notice, sizeof convolver->notice,
                 "GPU %u failed (%s): its outputs %zu to %zu continue on %s from frame %llu, "
                 "nothing is lost",
                 device_of(share, convolver_side_of(share)), failure, share->first_output + 1,
                 share->first_output + share->shape.outputs, place, at);
    if (!share->shape.service) /* which says it once for all convolvers */
        convolver->filter.notice = notice;
    share->along = false;
    atomic_store(&share->side, (int)to);
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
    convolver_run_shares(convolver, in, out, entering);
    convolver_remember(convolver, in);
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
    for (size_t p = 0; p < convolver->share_count; p++)
        convolver_run_share_in_double(convolver, &convolver->shares[p], in, out, entering);
    convolver_remember_in_double(convolver, in);
    if (convolver->prover)
        prover_step_in_double(convolver->prover, in, (const double *const *)out,
                              entering ? NULL : convolver->current->proved);
    if (entering)
        convolver_fade_in_double(convolver, out);
    end_block(convolver, entering);
}
