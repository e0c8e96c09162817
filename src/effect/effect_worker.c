/* Loading, preparing and freeing masks: not real-time. */
#include "effect/effect_state.h"

#include "base/plain_locale.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void log_line(const struct effect *effect, bool is_error, const char *line)
{
    if (effect->host.log)
        effect->host.log(effect->host.handle, is_error, line);
}

void effect_free_processor(struct effect *effect, struct processor *processor)
{
    pthread_mutex_lock(&effect->lock);
    struct processor **at = &effect->processors;
    while (*at && *at != processor)
        at = &(*at)->next;
    if (*at)
        *at = processor->next;
    pthread_mutex_unlock(&effect->lock);
    processor_destroy(processor);
}

/* A processor that was fed the history, or NULL after logging why. */
static struct processor *make_processor(struct effect *effect, const char *file, float trim,
                                        bool gpu, uint64_t *silence)
{
    const struct processor_settings settings = {
        .file = file,
        .rate = effect->rate,
        .channels = effect->kind->channels,
        .may_cross = effect->kind->may_cross,
        .trim = 1e-3 * (double)trim,
        .gpu = gpu,
    };
    struct processor *processor = NULL;
    char cause[1024] = "";
    struct plain_locale locale = plain_locale_begin();
    const struct log_keeper before = log_keep_in(cause, sizeof cause);
    enum status status = processor_create(&settings, &processor);
    log_keep_again(&before);
    plain_locale_end(locale);
    if (status != STATUS_OK) {
        log_line(effect, true, cause);
        return NULL;
    }
    if (*processor->remark)
        log_line(effect, false, processor->remark);
    *silence = atomic_load(&effect->history.silence);
    input_history_prime(&effect->history, processor);
    pthread_mutex_lock(&effect->lock);
    processor->next = effect->processors;
    effect->processors = processor;
    pthread_mutex_unlock(&effect->lock);
    return processor;
}

/* Give run an answer; unless that is too late, `kept` is the mask to save from now on. Both under
 * the lock, so that the mask saved is that of the last answer. */
static void deliver(struct effect *effect, const struct answer *answer, const char *kept,
                    float trim)
{
    struct processor *gone;
    pthread_mutex_lock(&effect->lock);
    if (exchange_post(effect, answer, &gone) && kept) {
        snprintf(effect->kept, sizeof effect->kept, "%s", kept);
        effect->kept_trim = trim;
    }
    pthread_mutex_unlock(&effect->lock);
    if (gone)
        effect_free_processor(effect, gone);
}

static void load(struct effect *effect, const struct effect_work *work)
{
    struct answer answer = {.number = work->number};
    if (*work->file)
        answer.processor =
            make_processor(effect, work->file, work->trim, work->gpu, &answer.silence);
    answer.failed = *work->file && !answer.processor;
    deliver(effect, &answer, answer.failed ? NULL : work->file, work->trim);
}

/* The processor may have been freed by now. */
static void report(struct effect *effect, const struct effect_work *work)
{
    pthread_mutex_lock(&effect->lock);
    const struct processor *processor = effect->processors;
    while (processor && processor != work->processor)
        processor = processor->next;
    if (processor)
        log_line(effect, true, processor->tail->notice);
    pthread_mutex_unlock(&effect->lock);
}

void effect_work(struct effect *effect, const void *data, size_t size)
{
    struct effect_work work = {0};
    memcpy(&work, data, size < sizeof work ? size : sizeof work); /* may be unaligned */
    if (work.task == WORK_LOAD)
        load(effect, &work);
    else if (work.task == WORK_FREE)
        effect_free_processor(effect, work.processor);
    else
        report(effect, &work);
}

bool effect_load(struct effect *effect, const struct effect_mask *mask, enum effect_loading loading,
                 bool idle)
{
    struct answer answer = {.unasked = true, .mask = *mask};
    if (*mask->file)
        answer.processor =
            make_processor(effect, mask->file, mask->trim, mask->gpu, &answer.silence);
    bool loaded = answer.processor || !*mask->file;
    if (!loaded && loading == EFFECT_CHOOSE)
        return false;
    if (!loaded)
        *answer.mask.file = '\0';
    if (idle)
        exchange_clean(effect);
    deliver(effect, &answer, mask->file, mask->trim);
    return loaded;
}
