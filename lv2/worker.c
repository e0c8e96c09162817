/* Loading, preparing and freeing masks: not real-time. */
#include "instance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void instance_log(const struct instance *instance, LV2_URID type, const char *text)
{
    if (instance->log) /* in brackets: some C libraries have a macro of that name */
        (instance->log->printf)(instance->log->handle, type, "halo: %s\n", text);
}

void instance_keep(struct instance *instance, const char *file, float trim)
{
    pthread_mutex_lock(&instance->lock);
    snprintf(instance->kept, sizeof instance->kept, "%s", file);
    instance->kept_trim = trim;
    pthread_mutex_unlock(&instance->lock);
}

void instance_free_processor(struct instance *instance, struct processor *processor)
{
    pthread_mutex_lock(&instance->lock);
    struct processor **at = &instance->processors;
    while (*at && *at != processor)
        at = &(*at)->next;
    if (*at)
        *at = processor->next;
    pthread_mutex_unlock(&instance->lock);
    processor_destroy(processor);
}

struct processor *instance_make_processor(struct instance *instance, const char *file, float trim,
                                          bool gpu, uint64_t *silence)
{
    const struct processor_settings settings = {
        .file = file,
        .rate = instance->rate,
        .channels = instance->variant->channels,
        .may_cross = instance->variant->may_cross,
        .trim = 1e-3 * (double)trim,
        .gpu = gpu,
    };
    struct processor *processor = NULL;
    char cause[1024] = "";
    log_capture(cause, sizeof cause);
    enum status status = processor_create(&settings, &processor);
    log_capture(NULL, 0);
    if (status != STATUS_OK) {
        instance_log(instance, instance->urids.log_error, cause);
        return NULL;
    }
    if (*processor->remark)
        instance_log(instance, instance->urids.log_note, processor->remark);
    *silence = atomic_load(&instance->history.silence);
    input_history_prime(&instance->history, processor);
    pthread_mutex_lock(&instance->lock);
    processor->next = instance->processors;
    instance->processors = processor;
    pthread_mutex_unlock(&instance->lock);
    return processor;
}

static void load(struct instance *instance, const struct work *work)
{
    struct answer *answer = &instance->answer;
    answer->number = work->number;
    answer->processor = NULL;
    if (*work->file)
        answer->processor =
            instance_make_processor(instance, work->file, work->trim, work->gpu, &answer->silence);
    answer->failed = *work->file && !answer->processor;
    if (!answer->failed)
        instance_keep(instance, work->file, work->trim);
    atomic_store(&answer->ready, true);
}

/* The processor may have been freed by now. */
static void report(struct instance *instance, const struct work *work)
{
    pthread_mutex_lock(&instance->lock);
    const struct processor *processor = instance->processors;
    while (processor && processor != work->processor)
        processor = processor->next;
    if (processor)
        instance_log(instance, instance->urids.log_error, processor->tail->notice);
    pthread_mutex_unlock(&instance->lock);
}

static LV2_Worker_Status do_work(LV2_Handle handle, LV2_Worker_Respond_Function respond,
                                 LV2_Worker_Respond_Handle respond_handle, uint32_t size,
                                 const void *data)
{
    (void)respond, (void)respond_handle;
    struct work work = {0};
    memcpy(&work, data, size < sizeof work ? size : sizeof work); /* may be unaligned */
    if (work.task == WORK_LOAD)
        load(handle, &work);
    else if (work.task == WORK_FREE)
        instance_free_processor(handle, work.processor);
    else
        report(handle, &work);
    return LV2_WORKER_SUCCESS;
}

/* Answers are in the instance and need no message. */
static LV2_Worker_Status work_response(LV2_Handle handle, uint32_t size, const void *data)
{
    (void)handle, (void)size, (void)data;
    return LV2_WORKER_SUCCESS;
}

const LV2_Worker_Interface instance_worker = {do_work, work_response, NULL};
