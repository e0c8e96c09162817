#include "effect/processor.h"

#include "base/plural.h"
#include "base/realtime.h"
#include "chain/mask_options.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Only one thread at a time may create or destroy GPU convolvers; hosts have several workers. */
static pthread_mutex_t gpu_lock = PTHREAD_MUTEX_INITIALIZER;

static enum status check_paths(const struct processor_settings *settings, const struct mask *mask)
{
    if (mask->inputs != settings->channels || mask->outputs != settings->channels)
        return fail(CAUSE_UNSUPPORTED, "mask %s does not fit: it maps %zu channel%s to %zu",
                    mask->name, settings->channels, plural_s(settings->channels), mask->outputs);
    for (size_t p = 0; p < mask->path_count && !settings->may_cross; p++)
        if (mask->paths[p].input != mask->paths[p].output)
            return fail(CAUSE_UNSUPPORTED,
                        "mask %s routes one channel to the other: it needs the true stereo plugin",
                        mask->name);
    return STATUS_OK;
}

/* The mono plugin uses only the first channel of a mask. */
static void choose_channel(const struct processor_settings *settings, const struct mask *mask,
                           struct mask_options *options, struct processor *processor)
{
    if (settings->channels != 1 || mask->columns == 1 || mask->has_own_paths)
        return;
    options->channel = 1;
    snprintf(processor->remark, sizeof processor->remark,
             "mask %s has %zu channels, and the mono plugin uses the first", mask->name,
             mask->columns);
}

static enum status load_mask(const struct processor_settings *settings, struct processor *processor,
                             struct mask **mask)
{
    const struct stream_format format = {.rate = settings->rate, .channels = settings->channels};
    struct mask_options options = {
        .load.sound = format,
        .trim = {.value = settings->trim, .seconds = true},
    };
    TRY(mask_load_with(settings->file, &options.load, mask));
    choose_channel(settings, *mask, &options, processor);
    TRY(mask_options_apply(&options, &format, MASK_ALIGN_CAUSAL, *mask));
    return check_paths(settings, *mask);
}

/* In graph mode: a resident kernel would stop whenever a plugin allocates or frees GPU memory. */
static bool create_on_gpu(struct convolver_settings settings, const struct mask *mask,
                          struct processor *processor)
{
    char cause[sizeof processor->remark - 64] = "";
    const struct log_keeper before = log_keep_in(cause, sizeof cause);
    settings.backend = "cuda";
    settings.gpu.mode = GPU_MODE_GRAPH;
    pthread_mutex_lock(&gpu_lock);
    enum status status = convolver_create(&settings, mask, &processor->tail);
    pthread_mutex_unlock(&gpu_lock);
    log_keep_again(&before);
    if (status != STATUS_OK)
        snprintf(processor->remark, sizeof processor->remark, "using the CPU: %s", cause);
    return status == STATUS_OK;
}

static enum status create_tail(const struct processor_settings *settings, const struct mask *mask,
                               struct processor *processor)
{
    if (processor->taps <= PROCESSOR_BLOCK)
        return STATUS_OK;
    struct mask *tail = NULL;
    enum status status = split_tail(mask, mask->origin + PROCESSOR_BLOCK, &tail);
    if (status == STATUS_OK)
        status = workers_create(1, &processor->workers);
    struct convolver_settings request = {
        .backend = "auto",
        .rate = settings->rate,
        .block = PROCESSOR_BLOCK,
        .live = true,
        .workers = processor->workers,
    };
    if (status == STATUS_OK && !(settings->gpu && create_on_gpu(request, tail, processor)))
        status = convolver_create(&request, tail, &processor->tail);
    mask_destroy(tail);
    return status;
}

/* Makes the parts. To have no latency, drops what a resampled mask rings before its time zero. */
static enum status fill(const struct processor_settings *settings, const struct mask *mask,
                        struct processor *processor)
{
    processor->taps = mask->taps - mask->origin;
    TRY(split_head_init(&processor->head, mask, mask->origin));
    TRY(create_tail(settings, mask, processor));
    TRY(block_init(&processor->ready, settings->channels, PROCESSOR_BLOCK, "a mask"));
    processor_reset(processor);
    return STATUS_OK;
}

enum status processor_create(const struct processor_settings *settings, struct processor **result)
{
    struct processor *processor = calloc(1, sizeof *processor);
    if (!processor)
        return fail_memory("a mask");
    struct mask *mask = NULL;
    processor->channels = settings->channels;
    processor->trim = settings->trim;
    processor->gpu = settings->gpu;
    processor->file = strdup(settings->file);
    enum status status =
        processor->file ? load_mask(settings, processor, &mask) : fail_memory("a mask");
    if (status == STATUS_OK)
        status = fill(settings, mask, processor);
    mask_destroy(mask);
    if (status == STATUS_OK)
        *result = processor;
    else
        processor_destroy(processor);
    return status;
}

enum status processor_check(const struct processor_settings *settings)
{
    struct processor unused = {0};
    struct mask *mask = NULL;
    enum status status = load_mask(settings, &unused, &mask);
    mask_destroy(mask);
    return status;
}

void processor_destroy(struct processor *processor)
{
    if (!processor)
        return;
    if (processor->gpu)
        pthread_mutex_lock(&gpu_lock);
    filter_destroy(processor->tail);
    if (processor->gpu)
        pthread_mutex_unlock(&gpu_lock);
    workers_destroy(processor->workers);
    block_free(&processor->ready);
    split_head_free(&processor->head);
    free(processor->file);
    free(processor);
}

void processor_reset(struct processor *processor)
{
    if (processor->tail)
        filter_reset(processor->tail);
    block_silence(&processor->ready, 0, PROCESSOR_BLOCK);
    processor->silent = processor->taps;
}

HALO_REALTIME static bool is_silent(const struct processor *processor, const float *const *block)
{
    for (size_t c = 0; c < processor->channels; c++)
        if (audio_peak(block[c], PROCESSOR_BLOCK) != 0)
            return false;
    return true;
}

HALO_REALTIME void processor_feed(struct processor *processor, const float *const *block)
{
    processor->fed++;
    if (!processor->tail)
        return;
    bool silent = is_silent(processor, block);
    if (silent && processor->silent >= processor->taps) { /* the tail has decayed */
        block_silence(&processor->ready, 0, PROCESSOR_BLOCK);
        return;
    }
    processor->silent = silent ? processor->silent + PROCESSOR_BLOCK : 0;
    filter_process(processor->tail, block, processor->ready.data);
}

HALO_REALTIME void processor_write(const struct processor *processor, const float *const *now,
                                   size_t at, size_t frames, float *const *out)
{
    split_head_write(&processor->head, now, (const float *const *)processor->ready.data, at, frames,
                     out);
}

/* ---- the history ---- */

enum {
    SECONDS = 10, /* seconds: least capacity */
    CLOSE = 8,    /* blocks that are left for run to feed */
};

enum status input_history_init(struct input_history *history, size_t channels, uint32_t rate)
{
    history->blocks = 1;
    while (history->blocks * PROCESSOR_BLOCK < (size_t)SECONDS * rate)
        history->blocks *= 2;
    return block_init(&history->frames, channels, history->blocks * PROCESSOR_BLOCK, "a plugin");
}

void input_history_reset(struct input_history *history)
{
    atomic_store(&history->silence, atomic_load(&history->end));
}

HALO_REALTIME void input_history_write(struct input_history *history, const float *const *block)
{
    uint64_t end = atomic_load_explicit(&history->end, memory_order_relaxed);
    size_t at = (size_t)(end % history->blocks) * PROCESSOR_BLOCK;
    for (size_t c = 0; c < history->frames.channels; c++)
        memcpy(history->frames.data[c] + at, block[c], PROCESSOR_BLOCK * sizeof(float));
    atomic_store(&history->end, end + 1);
}

HALO_REALTIME static void feed_next(const struct input_history *history,
                                    struct processor *processor)
{
    const float *block[history->frames.channels];
    size_t at = (size_t)(processor->fed % history->blocks) * PROCESSOR_BLOCK;
    for (size_t c = 0; c < history->frames.channels; c++)
        block[c] = history->frames.data[c] + at;
    processor_feed(processor, block);
}

HALO_REALTIME bool input_history_feed(const struct input_history *history,
                                      struct processor *processor, size_t most)
{
    uint64_t end = atomic_load(&history->end);
    for (size_t i = 0; i < most && processor->fed < end; i++)
        feed_next(history, processor);
    return processor->fed >= end;
}

/* Uses at most half of the capacity, since run overwrites the other half meanwhile. */
void input_history_prime(const struct input_history *history, struct processor *processor)
{
    uint64_t end = atomic_load(&history->end), silence = atomic_load(&history->silence);
    uint64_t reach = processor->taps / PROCESSOR_BLOCK + 2;
    if (reach > history->blocks / 2)
        reach = history->blocks / 2;
    processor->fed = end > reach ? end - reach : 0;
    if (processor->fed < silence)
        processor->fed = silence;
    while (processor->fed + CLOSE < end) {
        feed_next(history, processor);
        end = atomic_load(&history->end);
        /* run has overwritten blocks that are needed */
        if (end > processor->fed + history->blocks - CLOSE) {
            processor_reset(processor);
            processor->fed = end;
        }
    }
}
