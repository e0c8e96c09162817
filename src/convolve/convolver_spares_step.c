/* The step of processors that stand by for shares of others: they hear every block and answer none,
 * until they take over. Real-time throughout. */
#include "convolve/convolver_state.h"

#include "base/realtime.h"

enum { BEHIND_MOST = 8 }; /* blocks: one that is longer behind has no time for a share */

HALO_REALTIME static bool stands_by(const struct convolver_share *share)
{
    return share->backend[SPARE] && convolver_side_of(share) == MAIN && !share->spare.lost;
}

/* The answer to the block before: that it was heard. */
HALO_REALTIME static void hear(struct convolver_share *share, int64_t until)
{
    static const struct convolver_slot silent[CONVOLVER_SLOTS];
    struct convolver_spare *spare = &share->spare;
    if (!spare->posted)
        return;
    bool heard = share->backend[SPARE]->collect(share->convolution[SPARE], silent, until);
    spare->behind = heard ? 0 : spare->behind + 1;
    spare->lost = convolver_failure_of(share, SPARE) || spare->behind > BEHIND_MOST;
}

HALO_REALTIME void convolver_feed_spare(struct convolver *convolver, struct convolver_share *share)
{
    static const struct convolver_slot silent[CONVOLVER_SLOTS];
    int64_t until = convolver->patience_alone == INT64_MAX ? INT64_MAX : convolver->work.begun;
    if (stands_by(share))
        hear(share, until);
    if (!stands_by(share))
        return;
    share->backend[SPARE]->post(share->convolution[SPARE], convolver->work.in + share->first_input,
                                silent);
    share->spare.posted = true;
}

HALO_REALTIME bool convolver_move_to_spare(struct convolver *convolver,
                                           struct convolver_share *share, const char *failure,
                                           const float *const *in, float *const *out, bool entering)
{
    const struct convolver_backend *backend = share->backend[SPARE];
    int64_t until = convolver_wait_until(convolver, share);
    if (stands_by(share))
        hear(share, until);
    if (!stands_by(share) || atomic_load(&share->spare.lacks))
        return false;
    convolver_leave_side(convolver, share, SPARE, failure);
    if (atomic_load(&share->spare.lacks))
        return false; /* since then */
    convolver_set_slots(convolver, share, SPARE, entering, true, out, &convolver->coming,
                        share->slots);
    backend->post(share->convolution[SPARE], in + share->first_input, share->slots);
    share->answered = backend->collect(share->convolution[SPARE], share->slots, until);
    return !convolver_failure_of(share, SPARE);
}
