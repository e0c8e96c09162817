/* Processors that stand by for shares of others, on the control thread. Each has a convolution of
 * its own for the share, with its masks, and gets the inputs of every block. */
#include "convolve/convolver_state.h"

#include <stdio.h>

static struct gpu_devices devices_of(const struct convolver *convolver)
{
    struct gpu_devices taken = {.count = convolver->share_count};
    for (size_t p = 0; p < convolver->share_count; p++)
        taken.of[p] = convolver->shares[p].shape.gpu.devices.of[0];
    return taken;
}

static void destroy_spare(struct convolver_share *share)
{
    if (share->convolution[SPARE])
        share->backend[MAIN]->destroy(share->convolution[SPARE]);
    share->convolution[SPARE] = NULL;
    share->backend[SPARE] = NULL;
}

/* A number of its own says which faults are meant for it (tests). It hears blocks that it does not
 * answer, which a resident kernel does not acknowledge. */
static enum status create_spare(const struct convolver *convolver, struct convolver_share *share,
                                const struct mask *mask)
{
    struct convolver_shape shape = share->shape;
    shape.share += shape.shares;
    shape.gpu.mode = GPU_MODE_GRAPH;
    shape.gpu.devices = (struct gpu_devices){.count = 1, .of = {share->spare.device}};
    TRY(convolver_create_side(share, SPARE, share->backend[MAIN], &shape));
    TRY(convolver_shares_prepare_spare(convolver, share, mask));
    return share->spare.lacks ? STATUS_FAILED : STATUS_OK;
}

static void add_spare(struct convolver *convolver, struct convolver_share *share,
                      const struct mask *mask)
{
    const struct gpu_devices taken = devices_of(convolver);
    char problem[256] = "";
    unsigned own = share->shape.gpu.devices.of[0];
    if (!share->backend[MAIN]->choose_spare(&share->shape, &taken, &share->spare.device)) {
        note_detail("no other GPU has the memory and the time to stand by for GPU %u", own);
        return;
    }
    const struct log_keeper before = log_keep_in(problem, sizeof problem);
    enum status status = create_spare(convolver, share, mask);
    log_keep_again(&before);
    if (status != STATUS_OK) {
        destroy_spare(share);
        note_detail("GPU %u does not stand by for GPU %u: %s", share->spare.device, own, problem);
        return;
    }
    convolver->has_spares = true;
    note_detail("GPU %u stands by for GPU %u", share->spare.device, own);
}

void convolver_spares_create(struct convolver *convolver, const struct mask *mask)
{
    for (size_t p = 0; p < convolver->share_count && convolver->share_count > 1; p++) {
        struct convolver_share *share = &convolver->shares[p];
        if (!share->along && share->backend[MAIN]->choose_spare)
            add_spare(convolver, share, mask);
    }
}

/* The step makes it the active side before it looks at `lacks`, and this is the other way round:
 * one of the two sees the other. */
enum status convolver_spare_prepare(struct convolver_share *share, const struct mask *mask,
                                    const struct prepared **form)
{
    char problem[256] = "";
    struct prepared *made = NULL;
    if (share->spare.lacks && convolver_side_of(share) != SPARE)
        return STATUS_OK;
    const struct log_keeper before = log_keep_in(problem, sizeof problem);
    enum status status = share->backend[SPARE]->prepare(share->convolution[SPARE], mask, &made);
    log_keep_again(&before);
    *form = made;
    if (status == STATUS_OK)
        return STATUS_OK;
    atomic_store(&share->spare.lacks, true);
    if (convolver_side_of(share) == SPARE)
        return fail(status, "%s", problem);
    note_detail("GPU %u stands by no more: %s", share->spare.device, problem);
    return STATUS_OK;
}
