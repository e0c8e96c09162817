/* The convolver that hands its blocks to a gather (gather.h), which convolves them together with
 * those of other jobs. At best a block is the whole sound. After a block, the last taps - 1 frames
 * are kept for the next one.
 *
 * If all devices are lost, or the sound needs double precision (near_bound.h), the convolver's
 * standby takes over with the current block.
 */
#include "convolve/gather_state.h"

#include "signal/audio.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct gathered {
    struct convolver_shape shape;
    struct gather *gather;
    float **recent; /* [input] taps - 1 frames; the last `before` of them belong to the sound */
    const float **history;
    size_t before;
    float peak; /* peak of the sound so far */
    const char *failure;
};

static void gathered_destroy(struct convolution *convolution)
{
    struct gathered *gathered = (struct gathered *)convolution;
    for (size_t c = 0; gathered->recent && c < gathered->shape.inputs; c++)
        free(gathered->recent[c]);
    free(gathered->recent);
    free((void *)gathered->history);
    free(gathered);
}

static enum status gathered_create(const struct convolver_shape *shape, struct convolution **result)
{
    struct gathered *gathered = calloc(1, sizeof *gathered);
    if (!gathered)
        return fail_memory("a convolver");
    gathered->shape = *shape;
    gathered->gather = (struct gather *)shape->service;
    gathered->recent = calloc(shape->inputs, sizeof *gathered->recent);
    gathered->history = calloc(shape->inputs, sizeof *gathered->history);
    bool complete = gathered->recent && gathered->history;
    for (size_t c = 0; complete && c < shape->inputs; c++)
        complete = (gathered->recent[c] = malloc(shape->taps * sizeof(float))) != NULL;
    if (!complete) {
        gathered_destroy((struct convolution *)gathered);
        return fail_memory("a convolver");
    }
    *result = (struct convolution *)gathered;
    return STATUS_OK;
}

static void gathered_reset(struct convolution *convolution)
{
    ((struct gathered *)convolution)->before = 0;
    ((struct gathered *)convolution)->peak = 0;
}

static void gathered_describe(const struct convolution *convolution, char *text, size_t size)
{
    (void)convolution;
    snprintf(text, size, "overlap-save, in batches with other sounds");
}

static const char *gathered_failure(const struct convolution *convolution)
{
    return ((const struct gathered *)convolution)->failure;
}

static enum status gathered_prepare(const struct convolution *convolution, const struct mask *mask,
                                    struct prepared **result)
{
    struct gather_mask *taken = NULL;
    TRY(gather_mask_take(((const struct gathered *)convolution)->gather, mask, &taken));
    *result = (struct prepared *)taken;
    return STATUS_OK;
}

static void gathered_release(const struct convolution *convolution, struct prepared *prepared)
{
    (void)convolution;
    gather_mask_give_back((struct gather_mask *)prepared);
}

/* Makes the block the newest part of the history. */
static void remember(struct gathered *gathered, const float *const *in)
{
    size_t keep = gathered->shape.taps - 1, block = gathered->shape.block;
    size_t fresh = block < keep ? block : keep;
    for (size_t c = 0; c < gathered->shape.inputs; c++) {
        float *recent = gathered->recent[c];
        memmove(recent, recent + fresh, (keep - fresh) * sizeof *recent);
        memcpy(recent + keep - fresh, in[c] + block - fresh, fresh * sizeof *recent);
    }
    gathered->before = gathered->before + fresh < keep ? gathered->before + fresh : keep;
}

static const char *loss_of(const struct gather *gather)
{
    const char *loss = gather_loss(gather);
    return loss ? loss : "not enough memory";
}

static void gathered_step(struct convolution *convolution, const float *const *in,
                          const struct convolver_slot slots[CONVOLVER_SLOTS])
{
    struct gathered *gathered = (struct gathered *)convolution;
    const struct convolver_shape *shape = &gathered->shape;
    for (size_t c = 0; c < shape->inputs; c++)
        gathered->history[c] = gathered->recent[c] + shape->taps - 1 - gathered->before;
    for (size_t v = 0; v < CONVOLVER_SLOTS && !gathered->failure; v++) {
        const struct gather_work work = {.mask = (struct gather_mask *)slots[v].prepared,
                                         .inputs = shape->inputs,
                                         .outputs = shape->outputs,
                                         .history = gathered->history,
                                         .in = in,
                                         .out = slots[v].out,
                                         .before = gathered->before,
                                         .frames = shape->block};
        if (work.mask && gather_is_near(&work, &gathered->peak))
            gathered->failure = "the sound needs double precision";
        else if (work.mask && !gather_convolve(gathered->gather, &work))
            gathered->failure = loss_of(gathered->gather);
    }
    remember(gathered, in);
}

const struct convolver_backend convolver_gathered = {
    .name = "cuda",
    .create = gathered_create,
    .destroy = gathered_destroy,
    .reset = gathered_reset,
    .describe = gathered_describe,
    .failure = gathered_failure,
    .prepare = gathered_prepare,
    .release = gathered_release,
    .step = gathered_step,
};
