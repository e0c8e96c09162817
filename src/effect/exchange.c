/* The exchange of masks: real-time, except where it is said. */
#include "effect/effect_state.h"

#include "base/realtime.h"

#include <sched.h>
#include <string.h>

enum { CATCH_UP = 4 }; /* blocks that a new processor is fed for each block of input */

/* ---- to the worker ---- */

HALO_REALTIME static bool send(const struct effect *effect, const struct effect_work *work,
                               size_t size)
{
    return effect->host.send && effect->host.send(effect->host.handle, work, size);
}

HALO_REALTIME static void ask(struct effect *effect)
{
    const struct effect_mask *request = &effect->request;
    struct effect_work work = {.task = WORK_LOAD,
                               .number = atomic_load(&effect->number) + 1,
                               .trim = request->trim,
                               .gpu = request->gpu};
    size_t length = strlen(request->file) + 1;
    memcpy(work.file, request->file, length);
    /* Set before sending, since a host may do the work at once. */
    atomic_store(&effect->number, work.number);
    effect->pending = true;
    effect->requested = false;
    if (send(effect, &work, offsetof(struct effect_work, file) + length))
        return;
    effect->pending = false;
    effect->requested = true; /* retry in the next run */
}

HALO_REALTIME static bool send_processor(const struct effect *effect, enum work_task task,
                                         struct processor *processor)
{
    const struct effect_work work = {.task = task, .processor = processor};
    return send(effect, &work, offsetof(struct effect_work, number));
}

/* ---- from the worker ---- */

HALO_REALTIME static void use_processor(struct effect *effect, struct processor *processor)
{
    effect->retired = effect->processor;
    effect->processor = processor;
    effect->coming = NULL;
    effect->fading = effect->leaving = effect->noticed = false;
}

/* Keep the old mask, unless there is a new request by now. */
HALO_REALTIME static void cancel_request(struct effect *effect)
{
    if (effect->requested)
        return;
    strcpy(effect->request.file, effect->processor ? effect->processor->file : "");
    effect->reporting = true;
}

/* What was asked for before is out of date. */
HALO_REALTIME static void replace_request(struct effect *effect, const struct answer *answer)
{
    atomic_fetch_add(&effect->number, 1);
    effect->requested = false;
    effect->request.trim = answer->mask.trim;
    effect->request.gpu = answer->mask.gpu;
    strcpy(effect->request.file, answer->mask.file);
    effect->reporting = true;
}

HALO_REALTIME static void use_answer(struct effect *effect, const struct answer *answer)
{
    if (answer->failed) {
        cancel_request(effect);
    } else if (!answer->processor) {
        effect->leaving = effect->processor != NULL;
    } else if (answer->silence != atomic_load(&effect->history.silence)) {
        effect->retired = answer->processor; /* it was fed sound that was reset since */
        effect->requested = true;
    } else {
        effect->coming = answer->processor;
        effect->fading = false;
        effect->reporting = true;
    }
}

HALO_REALTIME static bool has_answer(const struct effect *effect)
{
    return atomic_load(&effect->answer_state) == ANSWER_READY;
}

HALO_REALTIME static void take_answer(struct effect *effect)
{
    enum answer_state expected = ANSWER_READY;
    if (!atomic_compare_exchange_strong(&effect->answer_state, &expected, ANSWER_READ))
        return; /* it is being replaced */
    const struct answer *answer = &effect->answer;
    if (answer->unasked)
        replace_request(effect, answer);
    effect->pending = false;
    use_answer(effect, answer);
    atomic_store(&effect->answer_state, ANSWER_NONE);
}

HALO_REALTIME static bool is_changing(const struct effect *effect)
{
    return effect->coming || effect->leaving || effect->retired;
}

HALO_REALTIME void exchange_accept(struct effect *effect)
{
    if (!is_changing(effect) && has_answer(effect))
        take_answer(effect);
}

HALO_REALTIME void exchange_begin(struct effect *effect)
{
    if (effect->host.send && effect->requested && !effect->pending && !is_changing(effect))
        ask(effect);
    exchange_accept(effect); /* a host may have done the work at once */
    if (!effect->fresh)
        return;
    if (effect->coming && input_history_feed(&effect->history, effect->coming, SIZE_MAX))
        use_processor(effect, effect->coming);
    else if (effect->leaving)
        use_processor(effect, NULL);
}

HALO_REALTIME void exchange_block(struct effect *effect)
{
    if (effect->processor)
        (void)input_history_feed(&effect->history, effect->processor, 1);
    if (!effect->coming || !input_history_feed(&effect->history, effect->coming, CATCH_UP))
        return;
    if (effect->processor && !effect->fading) {
        effect->fading = true;
        effect->faded = 0;
    } else if (!effect->processor || effect->faded >= effect->fade) {
        use_processor(effect, effect->coming);
    }
}

HALO_REALTIME void exchange_end(struct effect *effect)
{
    if (effect->leaving && effect->wet_gain.to == 0 && ramp_gain(&effect->wet_gain) == 0)
        use_processor(effect, NULL);
    const struct filter *tail = effect->processor ? effect->processor->tail : NULL;
    if (tail && tail->notice && !effect->noticed)
        effect->noticed = send_processor(effect, WORK_NOTIFY, effect->processor);
    if (effect->retired && send_processor(effect, WORK_FREE, effect->retired))
        effect->retired = NULL;
}

HALO_REALTIME bool exchange_has_mask(const struct effect *effect)
{
    return effect->processor && !effect->leaving;
}

HALO_REALTIME bool effect_is_busy(const struct effect *effect)
{
    return effect->requested || effect->pending || is_changing(effect) || has_answer(effect);
}

/* ---- not real-time ---- */

/* False: run reads it, or another thread writes it. */
static bool claim_answer(struct effect *effect, bool *replacing)
{
    enum answer_state expected = ANSWER_NONE;
    *replacing = false;
    if (atomic_compare_exchange_strong(&effect->answer_state, &expected, ANSWER_WRITTEN))
        return true;
    expected = ANSWER_READY;
    *replacing = true;
    return atomic_compare_exchange_strong(&effect->answer_state, &expected, ANSWER_WRITTEN);
}

bool exchange_post(struct effect *effect, const struct answer *answer, struct processor **gone)
{
    bool replacing;
    while (!claim_answer(effect, &replacing))
        sched_yield(); /* for as long as a copy takes */
    bool is_late = !answer->unasked && ((replacing && effect->answer.unasked) ||
                                        answer->number != atomic_load(&effect->number));
    *gone = is_late ? answer->processor : replacing ? effect->answer.processor : NULL;
    if (!is_late)
        effect->answer = *answer;
    atomic_store(&effect->answer_state, is_late && !replacing ? ANSWER_NONE : ANSWER_READY);
    return !is_late;
}

void exchange_clean(struct effect *effect)
{
    struct processor *gone[] = {effect->coming, effect->retired};
    for (size_t i = 0; i < sizeof gone / sizeof *gone; i++)
        if (gone[i])
            effect_free_processor(effect, gone[i]);
    effect->coming = effect->retired = NULL;
    effect->fading = false;
}

static void end_exchange(struct effect *effect)
{
    if (effect->coming || effect->leaving)
        use_processor(effect, effect->coming);
    exchange_clean(effect);
}

void exchange_settle(struct effect *effect)
{
    end_exchange(effect);
    exchange_accept(effect);
    end_exchange(effect);
}
