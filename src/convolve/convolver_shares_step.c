/* The step of several shares, and of one with the CPU beside it: blocks are sent to all processors
 * first, then the CPU computes what it does itself, then the answers are waited for, until one
 * time for all. Real-time throughout. */
#include "convolve/convolver_state.h"

#include "base/monotonic.h"
#include "base/realtime.h"

#include <string.h>

/* ---- all shares at once ---- */

/* In each thread that has come: the shares that nobody has begun. */
HALO_REALTIME static void take_shares(void *context)
{
    struct convolver *convolver = context;
    struct convolver_shared_work *work = &convolver->work;
    for (;;) {
        size_t p = atomic_fetch_add(&work->next, 1);
        if (p >= convolver->share_count)
            return;
        if (convolver->shares[p].posted)
            work->run(convolver, &convolver->shares[p]);
    }
}

HALO_REALTIME static void run_posted(struct convolver *convolver,
                                     void (*run)(struct convolver *convolver,
                                                 struct convolver_share *share))
{
    convolver->work.run = run;
    atomic_store(&convolver->work.next, 0);
    step_crew_begin(convolver->crew, take_shares, convolver);
    take_shares(convolver);
    step_crew_end(convolver->crew);
}

HALO_REALTIME static void post(struct convolver *convolver, struct convolver_share *share)
{
    enum side side = convolver_side_of(share);
    share->backend[side]->post(share->convolution[side], convolver->work.in + share->first_input,
                               share->slots);
}

HALO_REALTIME int64_t convolver_wait_until(const struct convolver *convolver,
                                           const struct convolver_share *share)
{
    int64_t patience = share->along ? convolver->patience : convolver->patience_alone;
    return patience == INT64_MAX ? INT64_MAX : convolver->work.begun + patience;
}

HALO_REALTIME static void collect(struct convolver *convolver, struct convolver_share *share)
{
    enum side side = convolver_side_of(share);
    const struct convolver_backend *backend = share->backend[side];
    if (!backend->collect) {
        backend->step(share->convolution[side], convolver->work.in + share->first_input,
                      share->slots);
        share->answered = !convolver_failure_of(share, side);
        return;
    }
    share->answered = backend->collect(share->convolution[side], share->slots,
                                       convolver_wait_until(convolver, share));
}

/* ---- the CPU ---- */

HALO_REALTIME static void run_along(struct convolver *convolver, struct convolver_share *share,
                                    const float *const *in, bool entering)
{
    struct convolver_slot slots[CONVOLVER_SLOTS];
    convolver_set_slots(convolver, share, STANDBY, entering, false, convolver->spare[0].data,
                        &convolver->spare[1], slots);
    share->backend[STANDBY]->step(share->convolution[STANDBY], in + share->first_input, slots);
}

/* The outputs of a share, from `spare` or silent. */
HALO_REALTIME static void fill_outputs(const struct convolver *convolver,
                                       const struct convolver_share *share,
                                       const struct block *spare, float *const *out)
{
    size_t bytes = convolver->filter.block * sizeof(float);
    for (size_t c = share->first_output; c < share->first_output + share->shape.outputs; c++) {
        if (spare)
            memcpy(out[c], spare->data[c], bytes);
        else
            memset(out[c], 0, bytes);
    }
}

/* The answer is missing. */
HALO_REALTIME static void replace(struct convolver *convolver, struct convolver_share *share,
                                  const float *const *in, float *const *out, bool entering)
{
    const char *failure = convolver_failure_of(share, convolver_side_of(share));
    bool along = share->along;
    if (failure && convolver_move_to_spare(convolver, share, failure, in, out, entering)) {
        if (share->answered)
            return;
        failure = NULL; /* the spare is late, no more */
    }
    if (failure && !along) {
        convolver_replace_share(convolver, share, failure, in, out, entering);
        return;
    }
    fill_outputs(convolver, share, along ? &convolver->spare[0] : NULL, out);
    if (entering)
        fill_outputs(convolver, share, along ? &convolver->spare[1] : NULL, convolver->coming.data);
    if (failure)
        convolver_leave_side(convolver, share, STANDBY, failure);
    else
        atomic_fetch_add(&convolver->late, 1);
}

/* ---- the block ---- */

/* A backend that waits for another processor is asked in two halves where there is something to do
 * meanwhile; in files the second one is all of the step. */
HALO_REALTIME static bool is_in_halves(const struct convolver *convolver,
                                       const struct convolver_share *share)
{
    const struct convolver_backend *backend = share->backend[MAIN];
    bool several = convolver->share_count > 1;
    return !convolver_is_replaced(share) &&
           ((backend->post && backend->collect && (share->along || several)) ||
            (backend->steps_at_once && several));
}

HALO_REALTIME static bool choose_halves(struct convolver *convolver, float *const *out,
                                        bool entering)
{
    bool any = false;
    for (size_t p = 0; p < convolver->share_count; p++) {
        struct convolver_share *share = &convolver->shares[p];
        share->posted = is_in_halves(convolver, share);
        any = any || share->posted;
        if (share->posted)
            convolver_set_slots(convolver, share, convolver_side_of(share), entering, false, out,
                                &convolver->coming, share->slots);
    }
    return any;
}

HALO_REALTIME void convolver_run_shares(struct convolver *convolver, const float *const *in,
                                        float *const *out, bool entering)
{
    bool any = choose_halves(convolver, out, entering);
    if (any) {
        convolver->work.in = in;
        convolver->work.begun = monotonic_ns();
        if (convolver->shape.live)
            step_crew_expect(convolver->crew,
                             convolver->work.begun + convolver_period(&convolver->shape));
        if (convolver->shares[0].backend[MAIN]->post)
            run_posted(convolver, post);
    }
    for (size_t p = 0; p < convolver->share_count; p++) {
        struct convolver_share *share = &convolver->shares[p];
        if (!share->posted)
            convolver_run_share(convolver, share, in, out, entering);
        else if (share->along)
            run_along(convolver, share, in, entering);
    }
    if (any)
        run_posted(convolver, collect);
    for (size_t p = 0; p < convolver->share_count; p++)
        if (convolver->shares[p].posted && !convolver->shares[p].answered)
            replace(convolver, &convolver->shares[p], in, out, entering);
    if (any && convolver->has_spares)
        run_posted(convolver, convolver_feed_spare);
}
