/* The convolver's step: what both precisions share, and a GPU with the CPU beside it. Real-time
 * throughout. */
#include "convolve/convolver_state.h"

#include "base/monotonic.h"

#include <stdio.h>
#include <string.h>

HALO_REALTIME static bool runs(const struct convolver *convolver, enum side side)
{
    return side == convolver_side_of(convolver) || (side == STANDBY && convolver->along);
}

/* Whether the new mask is armed on all active sides, so that it enters them in one block. */
HALO_REALTIME static bool is_armed(const struct convolver *convolver)
{
    bool armed = true;
    for (enum side side = MAIN; side < SIDES; side++) {
        const struct convolver_backend *backend = convolver->backend[side];
        if (backend && backend->arm && runs(convolver, side))
            armed = backend->arm(convolver->convolution[side], 1 - convolver->slot,
                                 convolver->change.to->forms[side], !convolver->shape.live) &&
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

HALO_REALTIME void convolver_set_masks(const struct convolver *convolver, enum side side,
                                       bool entering, bool all_fresh,
                                       struct convolver_slot slots[CONVOLVER_SLOTS])
{
    const struct convolver_backend *backend = convolver->backend[side];
    slots[convolver->slot] =
        (struct convolver_slot){.prepared = convolver->current->forms[side], .fresh = all_fresh};
    slots[1 - convolver->slot] = (struct convolver_slot){0};
    if (entering)
        slots[1 - convolver->slot] =
            (struct convolver_slot){.prepared = convolver->change.to->forms[side],
                                    .fresh = !convolver->entered || all_fresh};
    for (size_t v = 0; v < CONVOLVER_SLOTS && backend->arm; v++)
        if (slots[v].prepared) /* the first mask; both when the standby takes over */
            (void)backend->arm(convolver->convolution[side], v, slots[v].prepared, true);
}

/* After a step. A GPU is waited for: whatever takes long there is the GPU. */
HALO_REALTIME static unsigned find_held_up(const struct convolver *convolver)
{
    unsigned held_up =
        convolver->backend[convolver_side_of(convolver)]->failure ? FILTER_GPU_LATE : 0;
    for (enum side side = MAIN; side < SIDES; side++) {
        const struct convolver_backend *backend = convolver->backend[side];
        if (backend && runs(convolver, side) && backend->is_worker_late &&
            backend->is_worker_late(convolver->convolution[side]))
            held_up |= FILTER_WORKER_LATE;
    }
    return held_up;
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
    convolver->along = false;
    atomic_store(&convolver->side, STANDBY);
}

/* ---- a GPU with the CPU beside it ---- */

HALO_REALTIME static void copy_outputs(const struct convolver *convolver, const struct block *from,
                                       float *const *out)
{
    for (size_t c = 0; c < convolver->filter.outputs; c++)
        memcpy(out[c], from->data[c], convolver->filter.block * sizeof(float));
}

/* The block goes to the GPU first, then the CPU computes it too, then the answer is awaited. If the
 * answer is late or the GPU failed, the outputs are those of the CPU. */
HALO_REALTIME static void run_beside(struct convolver *convolver, const float *const *in,
                                     float *const *out, bool entering)
{
    const struct convolver_backend *backend = convolver->backend[MAIN];
    struct convolution *convolution = convolver->convolution[MAIN];
    struct convolver_slot of_gpu[CONVOLVER_SLOTS], of_cpu[CONVOLVER_SLOTS];
    int64_t until = monotonic_ns() + convolver->patience;
    convolver_set_slots(convolver, MAIN, entering, false, out, &convolver->coming, of_gpu);
    backend->post(convolution, in, of_gpu);
    convolver_set_slots(convolver, STANDBY, entering, false, convolver->beside[0].data,
                        &convolver->beside[1], of_cpu);
    convolver->backend[STANDBY]->step(convolver->convolution[STANDBY], in, of_cpu);
    if (backend->collect(convolution, of_gpu, until))
        return;
    copy_outputs(convolver, &convolver->beside[0], out);
    if (entering)
        copy_outputs(convolver, &convolver->beside[1], convolver->coming.data);
    const char *failure = convolver_failure_of(convolver, MAIN);
    if (failure)
        convolver_leave_main(convolver, failure);
    else
        atomic_fetch_add(&convolver->late, 1);
}

/* ---- the block ---- */

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
    if (convolver->along)
        run_beside(convolver, in, out, entering);
    else
        convolver_run(convolver, in, out, entering);
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
    convolver_run_in_double(convolver, in, out, entering);
    convolver_remember_in_double(convolver, in);
    if (convolver->prover)
        prover_step_in_double(convolver->prover, in, (const double *const *)out,
                              entering ? NULL : convolver->current->proved);
    if (entering)
        convolver_fade_in_double(convolver, out);
    end_block(convolver, entering);
}
