#include "chain/stage_mix.h"

#include "base/decimal.h"
#include "base/realtime.h"
#include "convolve/history.h"
#include "signal/audio.h"
#include "signal/ramp.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct stage_mix {
    struct filter filter;
    struct filter *stage;
    struct stage_mix_settings settings;
    struct history history;
    struct block dry;
    struct ramp wet;
    size_t smooth; /* frames */
    struct automation_cursor cursor;
    char notice[300];
    bool has_notice; /* that is to be shown */
    bool absent;     /* the current block is, or was when this was recorded */
    bool was_absent;
    _Atomic bool left_out;
    _Atomic float mix;
    _Atomic bool bypass;
};

static bool begins(const char *word, const char *with)
{
    return strncmp(word, with, strlen(with)) == 0;
}

static bool is_own(const char *word)
{
    return begins(word, "@mix=") || strcmp(word, "@bypass") == 0 || begins(word, "@bypass=");
}

bool stage_mix_is_word(const char *word)
{
    const char *colon = strchr(word, ':');
    return is_own(word) || (automation_is_word(word) && colon && is_own(colon + 1));
}

enum status stage_mix_parse(enum stage_control_kind kind, const char *text, float *value)
{
    double share;
    if (kind == STAGE_CONTROL_MIX) {
        if (!decimal_parse(text, &share) || share < 0 || share > 1)
            return fail(STATUS_USAGE, "@mix= is a number from 0 to 1, not '%s'", text);
        *value = (float)share;
        return STATUS_OK;
    }
    bool off = strcmp(text, "off") == 0;
    if (!off && strcmp(text, "on") != 0)
        return fail(STATUS_USAGE, "@bypass= is on or off, not '%s'", text);
    *value = off ? 0 : 1;
    return STATUS_OK;
}

enum status stage_mix_take(struct stage_mix_spec *spec, uint32_t rate, const char *word)
{
    struct automation_point point = {0};
    bool later = automation_is_word(word);
    if (later)
        TRY(automation_parse(word, rate, &point, &word));
    const char *equals = strchr(word, '='); /* "@bypass" alone means on */
    point.target = begins(word, "@mix=") ? STAGE_CONTROL_MIX : STAGE_CONTROL_BYPASS;
    TRY(stage_mix_parse((enum stage_control_kind)point.target, equals ? equals + 1 : "on",
                        &point.value));
    spec->given = true;
    if (later)
        return automation_add(&spec->automation, &point);
    if (point.target == STAGE_CONTROL_BYPASS) {
        spec->bypass = point.value > 0;
    } else {
        spec->has_mix = true;
        spec->mix = point.value;
    }
    return STATUS_OK;
}

HALO_REALTIME static void apply_points(struct stage_mix *mix)
{
    for (const struct automation_point *point; (point = automation_due(&mix->cursor));) {
        stage_mix_set(&mix->filter, (enum stage_control_kind)point->target, point->value);
        float to = atomic_load(&mix->bypass) ? 0 : atomic_load(&mix->mix);
        ramp_set(&mix->wet, to, point->over > mix->smooth ? (size_t)point->over : mix->smooth);
    }
}

HALO_REALTIME static void blend(struct stage_mix *mix, float *const *out, size_t at, size_t frames)
{
    size_t outputs = mix->filter.outputs;
    float *wet[outputs], *dry[outputs];
    struct ramp rest = {.from = 1 - mix->wet.from,
                        .to = 1 - mix->wet.to,
                        .at = mix->wet.at,
                        .frames = mix->wet.frames};
    for (size_t o = 0; o < outputs; o++) {
        const float *history =
            history_now(&mix->history, o % mix->filter.inputs) - mix->history.keep;
        wet[o] = out[o] + at;
        dry[o] = mix->dry.data[o] + at;
        memcpy(dry[o], history + at, frames * sizeof *history);
    }
    ramp_process(&mix->wet, outputs, wet, frames);
    ramp_process(&rest, outputs, dry, frames);
    for (size_t o = 0; o < outputs; o++)
        for (size_t i = 0; i < frames; i++)
            wet[o][i] += dry[o][i];
}

HALO_REALTIME static void report(struct stage_mix *mix)
{
    struct filter *filter = &mix->filter, *stage = mix->stage;
    filter->late = stage->late;
    filter->held_up = stage->held_up;
    filter_pass_notice(filter, stage);
    if (!mix->settings.live)
        filter->failure = stage->failure;
    if (stage->failure && mix->settings.live && !atomic_exchange(&mix->left_out, true)) {
        snprintf(mix->notice, sizeof mix->notice, "stage %zu: %s; the sound continues without it",
                 mix->settings.number, stage->failure);
        mix->has_notice = true;
    }
    if (mix->has_notice && !filter->notice) {
        filter->notice = mix->notice;
        mix->has_notice = false;
    }
}

HALO_REALTIME static void stage_mix_process(struct filter *filter, const float *const *in,
                                            float *const *out)
{
    struct stage_mix *mix = (struct stage_mix *)filter;
    history_advance(&mix->history, in);
    filter_process(mix->stage, in, out);
    report(mix);
    mix->absent = mix->stage->absent || mix->was_absent;
    for (size_t c = 0; c < filter->outputs && mix->was_absent; c++)
        memset(out[c], 0, filter->block * sizeof(float));
    bool dry = mix->absent || atomic_load(&mix->left_out) || atomic_load(&mix->bypass);
    ramp_set(&mix->wet, dry ? 0 : atomic_load(&mix->mix), mix->smooth);
    for (size_t at = 0, frames; at < filter->block; at += frames) {
        apply_points(mix);
        frames = automation_advance(&mix->cursor, filter->block - at);
        bool is_all_wet = mix->wet.at == mix->wet.frames && mix->wet.to == 1;
        if (!is_all_wet)
            blend(mix, out, at, frames);
    }
}

static void begin(struct stage_mix *mix)
{
    const struct stage_mix_spec *spec = mix->settings.spec;
    mix->cursor.position = 0;
    mix->cursor.next = 0;
    mix->absent = mix->was_absent = false;
    if (spec->automation.count > 0) {
        atomic_store(&mix->mix, spec->has_mix ? spec->mix : 1);
        atomic_store(&mix->bypass, spec->bypass);
    }
    ramp_init(&mix->wet, atomic_load(&mix->bypass) ? 0 : atomic_load(&mix->mix));
}

static void stage_mix_reset(struct filter *filter)
{
    struct stage_mix *mix = (struct stage_mix *)filter;
    filter_reset(mix->stage);
    history_reset(&mix->history);
    begin(mix);
}

static void stage_mix_destroy(struct filter *filter)
{
    struct stage_mix *mix = (struct stage_mix *)filter;
    filter_destroy(mix->stage);
    history_free(&mix->history);
    block_free(&mix->dry);
    free(mix);
}

static const struct filter_kind stage_mix_kind = {
    .name = "mix",
    .process = stage_mix_process,
    .reset = stage_mix_reset,
    .destroy = stage_mix_destroy,
};

enum status stage_mix_create(struct filter *stage, const struct stage_mix_settings *settings,
                             struct filter **result)
{
    struct stage_mix *mix = calloc(1, sizeof *mix);
    if (!mix) {
        filter_destroy(stage);
        return fail_memory("a stage");
    }
    mix->filter = *stage;
    mix->filter.kind = &stage_mix_kind;
    mix->stage = stage;
    mix->settings = *settings;
    mix->smooth = (size_t)(AUTOMATION_SMOOTH * settings->rate);
    mix->cursor.automation = &settings->spec->automation;
    mix->cursor.before = settings->before + stage->latency;
    atomic_init(&mix->mix, settings->spec->has_mix ? settings->spec->mix : 1);
    atomic_init(&mix->bypass, settings->spec->bypass);
    begin(mix);
    enum status status =
        history_init(&mix->history, stage->inputs, (size_t)stage->latency, stage->block);
    if (status == STATUS_OK)
        status = block_init(&mix->dry, stage->outputs, stage->block, "a stage");
    if (status != STATUS_OK)
        goto fail;
    *result = &mix->filter;
    return STATUS_OK;
fail:
    stage_mix_destroy(&mix->filter);
    return status;
}

HALO_REALTIME void stage_mix_set(struct filter *filter, enum stage_control_kind kind, float value)
{
    struct stage_mix *mix = (struct stage_mix *)filter;
    if (kind == STAGE_CONTROL_MIX)
        atomic_store(&mix->mix, fmaxf(0, fminf(1, value)));
    else
        atomic_store(&mix->bypass, value > 0);
}

float stage_mix_value(const struct filter *filter, enum stage_control_kind kind)
{
    const struct stage_mix *mix = (const struct stage_mix *)filter;
    return kind == STAGE_CONTROL_MIX ? atomic_load(&mix->mix) : (float)atomic_load(&mix->bypass);
}

HALO_REALTIME void stage_mix_leave_out(struct filter *filter)
{
    atomic_store(&((struct stage_mix *)filter)->left_out, true);
}

HALO_REALTIME void stage_mix_make_absent(struct filter *filter, bool absent)
{
    ((struct stage_mix *)filter)->was_absent = absent;
}

HALO_REALTIME bool stage_mix_is_absent(const struct filter *filter)
{
    return ((const struct stage_mix *)filter)->absent;
}

HALO_REALTIME bool stage_mix_is_left_out(const struct filter *filter)
{
    return atomic_load(&((const struct stage_mix *)filter)->left_out);
}
