/* The mix filter of a stage; compiled for each precision. */
#include "chain/stage_mix_state.h"

#include "base/realtime.h"
#include "convolve/history.h"
#include "signal/ramp.h"
#include "signal/real.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct stage_mix {
    struct stage_mix_state state;
    struct filter *stage;
    struct stage_mix_settings settings;
    struct history history;
    struct real_block dry;
    struct ramp wet;
    size_t smooth; /* frames */
    struct automation_cursor cursor;
    char notice[300];
    bool has_notice; /* that is to be shown */
};

/* Factor of the stage by its controls. */
HALO_REALTIME static real share(const struct stage_mix *mix, bool dry)
{
    return dry ? 0 : (real)stage_mix_gains_now(&mix->state.filter).wet;
}

HALO_REALTIME static void apply_points(struct stage_mix *mix)
{
    for (const struct automation_point *point; (point = automation_due(&mix->cursor));) {
        if (point->target == STAGE_CONTROL_BYPASS)
            atomic_store(&mix->state.bypass, point->value > 0);
        else
            atomic_store(&mix->state.value, point->value);
        ramp_set(&mix->wet, share(mix, false),
                 point->over > mix->smooth ? (size_t)point->over : mix->smooth);
    }
}

HALO_REALTIME static void blend(struct stage_mix *mix, real *const *out, size_t at, size_t frames)
{
    size_t outputs = mix->state.filter.outputs;
    real *wet[outputs], *dry[outputs];
    const real kept = mix->state.keeps_dry ? 0 : 1;
    struct ramp rest = {.from = 1 - kept * mix->wet.from,
                        .to = 1 - kept * mix->wet.to,
                        .at = mix->wet.at,
                        .frames = mix->wet.frames};
    for (size_t o = 0; o < outputs; o++) {
        const real *history =
            history_now(&mix->history, o % mix->state.filter.inputs) - mix->history.keep;
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
    struct filter *filter = &mix->state.filter, *stage = mix->stage;
    filter->late = stage->late;
    filter->held_up = stage->held_up;
    filter_pass_notice(filter, stage);
    if (!mix->settings.live)
        filter->failure = stage->failure;
    if (stage->failure && mix->settings.live && !atomic_exchange(&mix->state.left_out, true)) {
        snprintf(mix->notice, sizeof mix->notice, "stage %zu: %s; the sound continues without it",
                 mix->settings.number, stage->failure);
        mix->has_notice = true;
    }
    if (mix->has_notice && !filter->notice) {
        filter->notice = mix->notice;
        mix->has_notice = false;
    }
}

HALO_REALTIME static void stage_mix_process(struct filter *filter, const real *const *in,
                                            real *const *out)
{
    struct stage_mix *mix = (struct stage_mix *)filter;
    history_advance(&mix->history, in);
    mix->stage->deadline = filter->deadline;
    REAL(filter_process)(mix->stage, in, out);
    report(mix);
    mix->state.absent = mix->stage->absent || mix->state.was_absent;
    for (size_t c = 0; c < filter->outputs && mix->state.was_absent; c++)
        memset(out[c], 0, filter->block * sizeof(real));
    bool dry = mix->state.absent || atomic_load(&mix->state.left_out);
    ramp_set(&mix->wet, share(mix, dry), mix->smooth);
    for (size_t at = 0, frames; at < filter->block; at += frames) {
        apply_points(mix);
        frames = automation_advance(&mix->cursor, filter->block - at);
        bool is_all_wet =
            !mix->state.keeps_dry && mix->wet.at == mix->wet.frames && mix->wet.to == 1;
        if (!is_all_wet)
            blend(mix, out, at, frames);
    }
}

static void begin(struct stage_mix *mix)
{
    const struct stage_mix_spec *spec = mix->settings.spec;
    mix->cursor.position = 0;
    mix->cursor.next = 0;
    mix->state.absent = mix->state.was_absent = false;
    if (spec->automation.count > 0) {
        atomic_store(&mix->state.value, stage_mix_start(spec));
        atomic_store(&mix->state.bypass, spec->bypass);
    }
    ramp_init(&mix->wet, share(mix, false));
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
    .REAL(process) = stage_mix_process,
    .reset = stage_mix_reset,
    .destroy = stage_mix_destroy,
};

enum status REAL(stage_mix_create)(struct filter *stage, const struct stage_mix_settings *settings,
                                   struct filter **result)
{
    struct stage_mix *mix = calloc(1, sizeof *mix);
    if (!mix) {
        filter_destroy(stage);
        return fail_memory("a stage");
    }
    mix->state.filter = *stage;
    mix->state.filter.kind = &stage_mix_kind;
    mix->stage = stage;
    mix->settings = *settings;
    mix->smooth = (size_t)(AUTOMATION_SMOOTH * settings->rate);
    mix->cursor.automation = &settings->spec->automation;
    mix->cursor.before = settings->before + stage->latency;
    mix->state.keeps_dry = settings->spec->has_wet;
    atomic_init(&mix->state.value, stage_mix_start(settings->spec));
    atomic_init(&mix->state.bypass, settings->spec->bypass);
    begin(mix);
    enum status status =
        history_init(&mix->history, stage->inputs, (size_t)stage->latency, stage->block);
    if (status == STATUS_OK)
        status = block_init(&mix->dry, stage->outputs, stage->block, "a stage");
    if (status != STATUS_OK)
        goto fail;
    *result = &mix->state.filter;
    return STATUS_OK;
fail:
    stage_mix_destroy(&mix->state.filter);
    return status;
}
