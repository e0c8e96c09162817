/* The exchange of masks, from the request to the fade: everything here is real-time but
 * exchange_install. */
#include "instance.h"

#include <string.h>

enum { CATCH_UP = 4 }; /* blocks that a new processor hears for each that comes in */

static bool send(const struct instance *instance, const struct work *work, size_t size)
{
    return instance->schedule &&
           instance->schedule->schedule_work(instance->schedule->handle, (uint32_t)size, work) ==
               LV2_WORKER_SUCCESS;
}

/* ---- asking ---- */

static bool is_busy(const struct instance *instance)
{
    return instance->asked || instance->coming || instance->leaving || instance->retired;
}

static void ask(struct instance *instance)
{
    const struct request *request = &instance->request;
    struct work work = {
        .task = WORK_LOAD, .number = instance->number + 1, .trim = request->trim, .gpu = request->gpu};
    size_t length = strlen(request->file) + 1;
    memcpy(work.file, request->file, length);
    /* Before it is sent: a host may work at once. */
    instance->number = work.number;
    instance->asked = true;
    instance->requested = false;
    if (send(instance, &work, offsetof(struct work, file) + length))
        return;
    instance->asked = false;
    instance->requested = true; /* in the next run again */
}

static bool send_processor(const struct instance *instance, enum work_task task, struct processor *processor)
{
    const struct work work = {.task = task, .processor = processor};
    return send(instance, &work, offsetof(struct work, number));
}

static void give_back(struct instance *instance)
{
    if (instance->retired && send_processor(instance, WORK_FREE, instance->retired))
        instance->retired = NULL;
}

static void report_notice(struct instance *instance)
{
    struct filter *tail = instance->processor ? instance->processor->tail : NULL;
    if (tail && tail->notice && !instance->noticed)
        instance->noticed = send_processor(instance, WORK_TELL, instance->processor);
}

/* ---- taking ---- */

static void sound(struct instance *instance, struct processor *processor)
{
    instance->retired = instance->processor;
    instance->processor = processor;
    instance->coming = NULL;
    instance->fading = instance->leaving = instance->noticed = false;
}

/* The old mask stays, and is what is wished for. */
static void give_up(struct instance *instance)
{
    if (instance->requested) /* something else is, by now */
        return;
    const char *file = instance->processor ? instance->processor->file : "";
    strcpy(instance->request.file, file);
    instance->reporting = true;
}

static void take(struct instance *instance)
{
    struct answer answer = {.number = instance->answer.number,
                            .failed = instance->answer.failed,
                            .processor = instance->answer.processor,
                            .silence = instance->answer.silence};
    atomic_store(&instance->answer.ready, false);
    instance->asked = false;
    if (answer.number != instance->number) { /* a session was restored meanwhile */
        instance->retired = answer.processor;
    } else if (answer.failed) {
        give_up(instance);
    } else if (!answer.processor) {
        instance->leaving = instance->processor != NULL;
    } else if (answer.silence != atomic_load(&instance->history.silence)) {
        instance->retired = answer.processor; /* it heard what should be forgotten */
        instance->requested = true;
    } else {
        instance->coming = answer.processor;
        instance->fading = false;
        instance->reporting = true;
    }
}

static void take_at_once(struct instance *instance)
{
    if (instance->coming && input_history_feed(&instance->history, instance->coming, SIZE_MAX))
        sound(instance, instance->coming);
    else if (instance->leaving)
        sound(instance, NULL);
}

void exchange_begin(struct instance *instance)
{
    if (instance->schedule && instance->requested && !is_busy(instance))
        ask(instance);
    if (!instance->retired && atomic_load(&instance->answer.ready))
        take(instance);
    if (instance->fresh)
        take_at_once(instance);
}

/* ---- fading ---- */

void exchange_block(struct instance *instance)
{
    if (instance->processor)
        (void)input_history_feed(&instance->history, instance->processor, 1);
    if (!instance->coming || !input_history_feed(&instance->history, instance->coming, CATCH_UP))
        return;
    if (instance->processor && !instance->fading) {
        instance->fading = true;
        instance->faded = 0;
    } else if (!instance->processor || instance->faded >= instance->fade) {
        sound(instance, instance->coming);
    }
}

void exchange_end(struct instance *instance)
{
    if (instance->leaving && instance->wet_gain.to == 0 && ramp_gain(&instance->wet_gain) == 0)
        sound(instance, NULL);
    report_notice(instance);
    give_back(instance);
}

bool exchange_has_mask(const struct instance *instance)
{
    return instance->processor && !instance->leaving;
}

void exchange_install(struct instance *instance, struct processor *processor)
{
    struct processor *gone[] = {instance->coming, instance->retired};
    for (size_t i = 0; i < sizeof gone / sizeof *gone; i++)
        if (gone[i])
            instance_free_processor(instance, gone[i]);
    instance->retired = NULL;
    instance->fading = false;
    instance->leaving = !processor && instance->processor;
    instance->coming = processor;
    instance->number++; /* what the worker is about to answer is not wished for any more */
    instance->reporting = true;
}
