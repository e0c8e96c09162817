/* The convolver at work: everything here runs in the real-time step. */
#include "convolver_state.h"

#include <stdio.h>

static float weight_at(const struct convolver_change *change, uint64_t frame)
{
    if (frame < change->at)
        return 0;
    if (frame - change->at >= change->fade)
        return 1;
    return (float)((double)(frame - change->at) / (double)change->fade);
}

static void mix(const struct convolver *convolver, float *const *out)
{
    const struct filter *filter = &convolver->filter;
    for (size_t i = 0; i < filter->block; i++) {
        float weight = weight_at(convolver->change, convolver->position + i);
        if (weight == 0)
            continue;
        for (size_t c = 0; c < filter->outputs; c++) {
            float old = out[c][i], new = convolver->faded.data[c][i];
            out[c][i] = weight == 1 ? new : old + weight *(new - old);
        }
    }
}

/* The change that has begun to sound by the end of this block, if any; `fresh` where
 * it does so now. */
static struct convolver_change *take_change(struct convolver *convolver, bool *fresh)
{
    *fresh = false;
    if (!convolver->change) {
        convolver->change = atomic_exchange(&convolver->armed, NULL);
        if (convolver->change && convolver->change->at < convolver->position)
            convolver->change->at = convolver->position;
        convolver->begun = false;
    }
    uint64_t end = convolver->position + convolver->filter.block;
    if (!convolver->change || convolver->change->at >= end)
        return NULL;
    *fresh = !convolver->begun;
    convolver->begun = true;
    return convolver->change;
}

void convolver_finish_change(struct convolver *convolver)
{
    struct convolver_change *change = convolver->change;
    struct forms old = convolver->current;
    convolver->current = change->forms;
    convolver->voice = 1 - convolver->voice;
    convolver->change = NULL;
    change->forms = old;
    atomic_store(&convolver->retired, change);
}

static void run_side(struct convolver *convolver, enum side side, const float *const *in,
                     float *const *out, const struct convolver_change *change, bool fresh,
                     bool all_fresh)
{
    struct convolver_voice voices[CONVOLVER_VOICES] = {0};
    voices[convolver->voice] =
        (struct convolver_voice){convolver->current.of[side], all_fresh, out};
    if (change)
        voices[1 - convolver->voice] = (struct convolver_voice){
            change->forms.of[side], fresh || all_fresh, convolver->faded.data};
    convolver->backend[side]->step(convolver->convolution[side], in, voices);
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
    bool fresh;
    struct convolver_change *change = take_change(convolver, &fresh);
    enum side side = (enum side)atomic_load(&convolver->side);
    const struct convolver_backend *backend = convolver->backend[side];
    if (side == MAIN && convolver->backend[STANDBY])
        history_advance(&convolver->history, in);
    run_side(convolver, side, in, out, change, fresh, false);
    const char *failure = backend->failure ? backend->failure(convolver->convolution[side]) : NULL;
    if (failure && side == MAIN && convolver->backend[STANDBY]) {
        take_over(convolver, failure);
        run_side(convolver, STANDBY, in, out, change, fresh, true);
    } else if (failure) {
        filter->failure = failure;
    }
    uint64_t end = convolver->position + filter->block;
    if (change) {
        mix(convolver, out);
        if (end - change->at >= change->fade)
            convolver_finish_change(convolver);
    }
    convolver->position = end;
}
