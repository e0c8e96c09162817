/* The convolver at work: everything here runs in the real-time step. */
#include "convolver_state.h"

#include <math.h>
#include <stdio.h>

/* What the old and the new mask's outputs count for, each in its shape. */
struct weights {
    float old;
    float new;
};

static struct weights weights_at(const struct convolver_switch *change, uint64_t frame)
{
    if (frame < change->at)
        return (struct weights){1, 0};
    if (frame - change->at >= change->frames)
        return (struct weights){0, 1};
    double t = (double)(frame - change->at) / (double)change->frames;
    double steep = change->shape == SWITCH_DUCK ? 2 : 4; /* slopes of what is not a crossfade */
    if (change->shape == SWITCH_FADE)
        return (struct weights){(float)(1 - t), (float)t};
    return (struct weights){(float)fmax(0, 1 - steep * t), (float)fmax(0, steep * t - steep + 1)};
}

static void mix(const struct convolver *convolver, float *const *out)
{
    const struct filter *filter = &convolver->filter;
    for (size_t i = 0; i < filter->block; i++) {
        struct weights weights = weights_at(&convolver->change, convolver->position + i);
        if (weights.old == 1)
            continue;
        for (size_t c = 0; c < filter->outputs; c++) {
            float new = convolver->coming.data[c][i];
            out[c][i] = weights.new == 1 ? new : weights.old *out[c][i] + weights.new *new;
        }
    }
}

/* Whether a switch's mask takes part in this block. It sounds from the switch's frame on,
 * but not before what it makes of the past is there. */
static bool enter(struct convolver *convolver, enum side side)
{
    struct convolver_switch *change = &convolver->change;
    const struct convolver_backend *backend = convolver->backend[side];
    uint64_t end = convolver->position + convolver->filter.block;
    if (convolver->begun)
        return true;
    if (change->at < convolver->position)
        change->at = convolver->position;
    bool due = change->at < end;
    bool may_wait = convolver->shape.live;
    if (backend->arm && (due || may_wait) &&
        !backend->arm(convolver->convolution[side], 1 - convolver->voice, change->to->of[side],
                      !may_wait)) {
        if (due)
            change->at = end;
        return false;
    }
    convolver->begun = due;
    return due;
}

void convolver_finish_switch(struct convolver *convolver)
{
    convolver->current = convolver->change.to;
    convolver->voice = 1 - convolver->voice;
    convolver->begun = convolver->entered = false;
    atomic_store(&convolver->switching, false);
}

static void run_side(struct convolver *convolver, enum side side, const float *const *in,
                     float *const *out, bool entering, bool all_fresh)
{
    struct convolver_voice voices[CONVOLVER_VOICES] = {0};
    const struct convolver_backend *backend = convolver->backend[side];
    voices[convolver->voice] =
        (struct convolver_voice){convolver->current->of[side], all_fresh, out};
    if (entering)
        voices[1 - convolver->voice] =
            (struct convolver_voice){convolver->change.to->of[side],
                                     !convolver->entered || all_fresh, convolver->coming.data};
    for (size_t v = 0; v < CONVOLVER_VOICES && backend->arm; v++)
        if (voices[v].prepared) /* the first mask of all; both where the standby begins */
            (void)backend->arm(convolver->convolution[side], v, voices[v].prepared, true);
    backend->step(convolver->convolution[side], in, voices);
}

/* The main backend has failed within this block: the standby hears the past, without
 * a voice, and is up to date. */
static void take_over(struct convolver *convolver, const char *failure)
{
    const struct convolver_voice silent[CONVOLVER_VOICES] = {0};
    const struct history *history = &convolver->history;
    size_t block = convolver->filter.block, inputs = convolver->filter.inputs;
    const float *past[inputs];
    for (size_t before = history->keep / block; before > 0; before--) {
        for (size_t c = 0; c < inputs; c++)
            past[c] = history_now(history, c) - before * block;
        convolver->backend[STANDBY]->step(convolver->convolution[STANDBY], past, silent);
    }
    snprintf(convolver->notice, sizeof convolver->notice,
             "the GPU failed (%s): the CPU goes on from frame %llu, with nothing lost", failure,
             (unsigned long long)convolver->position);
    convolver->filter.notice = convolver->notice;
    atomic_store(&convolver->side, STANDBY);
}

void convolver_process(struct filter *filter, const float *const *in, float *const *out)
{
    struct convolver *convolver = (struct convolver *)filter;
    enum side side = (enum side)atomic_load(&convolver->side);
    bool entering = atomic_load(&convolver->switching) && enter(convolver, side);
    const struct convolver_backend *backend = convolver->backend[side];
    if (side == MAIN && convolver->backend[STANDBY])
        history_advance(&convolver->history, in);
    run_side(convolver, side, in, out, entering, false);
    const char *failure = backend->failure ? backend->failure(convolver->convolution[side]) : NULL;
    if (failure && side == MAIN && convolver->backend[STANDBY]) {
        take_over(convolver, failure);
        run_side(convolver, STANDBY, in, out, entering, true);
    } else if (failure) {
        filter->failure = failure;
    }
    uint64_t end = convolver->position + filter->block;
    if (entering) {
        convolver->entered = true;
        mix(convolver, out);
        if (end - convolver->change.at >= convolver->change.frames)
            convolver_finish_switch(convolver);
    }
    convolver->position = end;
}
