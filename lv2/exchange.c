/* The exchange of masks: all of it but exchange_install is real-time. */
#include "instance.h"

#include "base/realtime.h"

#include <string.h>

enum { CATCH_UP = 4 }; /* blocks that a new processor is fed for each block of input */

HALO_REALTIME static bool send(const struct instance *instance, const struct work *work,
                               size_t size)
{
    return instance->schedule &&
           instance->schedule->schedule_work(instance->schedule->handle, (uint32_t)size, work) ==
               LV2_WORKER_SUCCESS;
}

HALO_REALTIME static void ask(struct instance *instance)
{
    const struct mask_request *request = &instance->request;
    struct work work = {.task = WORK_LOAD,
                        .number = instance->number + 1,
                        .trim = request->trim,
                        .gpu = request->gpu};
    size_t length = strlen(request->file) + 1;
    memcpy(work.file, request->file, length);
    /* Set before sending, since a host may do the work at once. */
    instance->number = work.number;
    instance->pending = true;
    instance->requested = false;
    if (send(instance, &work, offsetof(struct work, file) + length))
        return;
    instance->pending = false;
    instance->requested = true; /* retry in the next run */
}

HALO_REALTIME static bool send_processor(const struct instance *instance, enum work_task task,
                                         struct processor *processor)
{
    const struct work work = {.task = task, .processor = processor};
    return send(instance, &work, offsetof(struct work, number));
}

HALO_REALTIME static void use_processor(struct instance *instance, struct processor *processor)
{
    instance->retired = instance->processor;
    instance->processor = processor;
    instance->coming = NULL;
    instance->fading = instance->leaving = instance->noticed = false;
}

/* Keep the old mask, unless there is a new request by now. */
HALO_REALTIME static void cancel_request(struct instance *instance)
{
    if (instance->requested)
        return;
    strcpy(instance->request.file, instance->processor ? instance->processor->file : "");
    instance->reporting = true;
}

HALO_REALTIME static void accept_answer(struct instance *instance)
{
    struct answer answer = {.number = instance->answer.number,
                            .failed = instance->answer.failed,
                            .processor = instance->answer.processor,
                            .silence = instance->answer.silence};
    atomic_store(&instance->answer.ready, false);
    instance->pending = false;
    if (answer.number != instance->number) { /* a session was restored in between */
        instance->retired = answer.processor;
    } else if (answer.failed) {
        cancel_request(instance);
    } else if (!answer.processor) {
        instance->leaving = instance->processor != NULL;
    } else if (answer.silence != atomic_load(&instance->history.silence)) {
        instance->retired = answer.processor; /* it was fed sound that was reset since */
        instance->requested = true;
    } else {
        instance->coming = answer.processor;
        instance->fading = false;
        instance->reporting = true;
    }
}

HALO_REALTIME void exchange_begin(struct instance *instance)
{
    bool busy = instance->pending || instance->coming || instance->leaving || instance->retired;
    if (instance->schedule && instance->requested && !busy)
        ask(instance);
    if (!instance->retired && atomic_load(&instance->answer.ready))
        accept_answer(instance);
    if (!instance->fresh)
        return;
    if (instance->coming && input_history_feed(&instance->history, instance->coming, SIZE_MAX))
        use_processor(instance, instance->coming);
    else if (instance->leaving)
        use_processor(instance, NULL);
}

HALO_REALTIME void exchange_block(struct instance *instance)
{
    if (instance->processor)
        (void)input_history_feed(&instance->history, instance->processor, 1);
    if (!instance->coming || !input_history_feed(&instance->history, instance->coming, CATCH_UP))
        return;
    if (instance->processor && !instance->fading) {
        instance->fading = true;
        instance->faded = 0;
    } else if (!instance->processor || instance->faded >= instance->fade) {
        use_processor(instance, instance->coming);
    }
}

HALO_REALTIME void exchange_end(struct instance *instance)
{
    if (instance->leaving && instance->wet_gain.to == 0 && ramp_gain(&instance->wet_gain) == 0)
        use_processor(instance, NULL);
    const struct filter *tail = instance->processor ? instance->processor->tail : NULL;
    if (tail && tail->notice && !instance->noticed)
        instance->noticed = send_processor(instance, WORK_NOTIFY, instance->processor);
    if (instance->retired && send_processor(instance, WORK_FREE, instance->retired))
        instance->retired = NULL;
}

HALO_REALTIME bool exchange_has_mask(const struct instance *instance)
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
    instance->number++; /* discard the pending answer */
    instance->reporting = true;
}
