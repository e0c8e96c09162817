/* The kinds and controls of the effect; creation and end: not real-time, unless marked. */
#include "effect/effect_state.h"

#include "base/realtime.h"

#include <stdlib.h>
#include <string.h>

static const double SMOOTHING = 0.02; /* seconds, of gains and the pre-delay */
static const double FADE = 0.05;      /* seconds, from mask to mask */

const struct effect_kind effect_kinds[EFFECT_VARIANTS] = {
    [EFFECT_MONO] = {.name = "mono",
                     .title = "halo convolver, mono",
                     .purpose = "Convolution of one channel",
                     .channels = 1},
    [EFFECT_STEREO] = {.name = "stereo",
                       .title = "halo convolver, stereo",
                       .purpose = "Convolution of each of two channels",
                       .channels = 2},
    [EFFECT_TRUE_STEREO] = {.name = "true-stereo",
                            .title = "halo convolver, true stereo",
                            .purpose = "Convolution of two channels by four paths",
                            .channels = 2,
                            .may_cross = true},
};

const struct effect_range effect_ranges[EFFECT_CONTROLS] = {
    [EFFECT_ENABLED] = {"enabled", 0, 1, 1},
    [EFFECT_GAIN] = {"gain", -90, 24, 0},
    [EFFECT_MIX] = {"mix", 0, 1, 1},
    [EFFECT_PRE_DELAY] = {"pre_delay", 0, 1000 * PRE_DELAY_MOST, 0},
    [EFFECT_TRIM] = {"trim", 0, 1000, 0},
    [EFFECT_PROCESSOR] = {"processor", 0, 1, 0},
};

static enum status make_buffers(struct effect *effect)
{
    size_t channels = effect->kind->channels;
    TRY(input_history_init(&effect->history, channels, effect->rate));
    TRY(pre_delay_init(&effect->pre_delay, channels, effect->rate, effect->smoothing));
    TRY(block_init(&effect->now, channels, 2 * PROCESSOR_BLOCK, "a plugin"));
    TRY(block_init(&effect->dry, channels, PROCESSOR_BLOCK, "a plugin"));
    TRY(block_init(&effect->wet, channels, PROCESSOR_BLOCK, "a plugin"));
    return block_init(&effect->other, channels, PROCESSOR_BLOCK, "a plugin");
}

enum status effect_create(const struct effect_kind *kind, uint32_t rate,
                          const struct effect_host *host, struct effect **result)
{
    struct effect *effect = calloc(1, sizeof *effect);
    if (!effect)
        return fail_memory("a plugin");
    pthread_mutex_init(&effect->lock, NULL);
    effect->kind = kind;
    effect->host = *host;
    effect->rate = rate;
    effect->smoothing = 1 + (size_t)(SMOOTHING * rate);
    effect->fade = 1 + (size_t)(FADE * rate);
    for (size_t c = 0; c < EFFECT_CONTROLS; c++)
        effect->values[c] = effect_ranges[c].initial;
    enum status status = make_buffers(effect);
    if (status != STATUS_OK)
        goto fail;
    effect_activate(effect);
    *result = effect;
    return STATUS_OK;
fail:
    effect_destroy(effect);
    return status;
}

void effect_destroy(struct effect *effect)
{
    if (!effect)
        return;
    while (effect->processors)
        effect_free_processor(effect, effect->processors);
    block_free(&effect->history.frames);
    block_free(&effect->pre_delay.ring);
    block_free(&effect->now);
    block_free(&effect->dry);
    block_free(&effect->wet);
    block_free(&effect->other);
    pthread_mutex_destroy(&effect->lock);
    free(effect);
}

static void silence_processor(const struct effect *effect, struct processor *processor)
{
    if (!processor)
        return;
    processor_reset(processor);
    processor->fed = atomic_load(&effect->history.end);
}

void effect_reset(struct effect *effect)
{
    input_history_reset(&effect->history);
    pre_delay_reset(&effect->pre_delay);
    block_silence(&effect->now, 0, 2 * PROCESSOR_BLOCK);
    silence_processor(effect, effect->processor);
    silence_processor(effect, effect->coming);
    effect->held = 0;
    effect->fading = false;
    effect->fresh = true;
}

void effect_activate(struct effect *effect)
{
    exchange_settle(effect);
    effect_reset(effect);
    effect_update_tail(effect);
}

HALO_REALTIME void effect_set(struct effect *effect, enum effect_control control, float value)
{
    const struct effect_range *range = &effect_ranges[control];
    if (value != value)
        value = range->initial;
    effect->values[control] = value < range->least  ? range->least
                              : value > range->most ? range->most
                                                    : value;
}

HALO_REALTIME void effect_request(struct effect *effect, const char *file, size_t length)
{
    effect->reporting = true;
    if (length >= EFFECT_FILE_MOST)
        return;
    memcpy(effect->request.file, file, length);
    effect->request.file[length] = '\0';
    effect->requested = true;
}

HALO_REALTIME uint32_t effect_tail(const struct effect *effect)
{
    return (uint32_t)atomic_load(&effect->tail);
}

HALO_REALTIME void effect_report(struct effect *effect)
{
    effect->reporting = true;
}

/* The requested path; a request that fails is reverted to the old one. */
HALO_REALTIME const char *effect_reported(struct effect *effect, size_t most)
{
    if (!effect->reporting || strlen(effect->request.file) > most)
        return NULL;
    effect->reporting = false;
    return effect->request.file;
}

void effect_save(struct effect *effect, char file[EFFECT_FILE_MOST], float *trim)
{
    pthread_mutex_lock(&effect->lock);
    memcpy(file, effect->kept, EFFECT_FILE_MOST);
    *trim = effect->kept_trim;
    pthread_mutex_unlock(&effect->lock);
}
