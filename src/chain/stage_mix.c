/* The mix filter is compiled for each precision; the other functions once. */
#include "chain/stage_mix.h"

#include "base/decimal.h"
#include "base/realtime.h"
#include "convolve/history.h"
#include "signal/audio.h"
#include "signal/ramp.h"
#include "signal/real.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* State that the controls change. */
struct stage_mix_state {
    struct filter filter;
    bool absent; /* the current block is absent, or was when the sound was recorded */
    bool was_absent;
    _Atomic bool left_out;
    bool keeps_dry;       /* @wet=: the input is added in full */
    _Atomic double value; /* share (mix) or dB (wet) */
    _Atomic bool bypass;
};

#ifndef HALO_DOUBLE

/* ---- options ---- */

enum { STAGE_WET_LEAST = -80, STAGE_WET_MOST = 20 }; /* dB */

static const char *const switch_names[] = {"on", "off", NULL};

const struct option_row stage_mix_rows[] = {{.name = "@mix="},
                                            {.name = "@wet="},
                                            {.name = "@bypass"},
                                            {.name = "@bypass=", .names = switch_names},
                                            {0}};

static bool begins(const char *word, const char *with)
{
    return strncmp(word, with, strlen(with)) == 0;
}

static bool is_own(const char *word)
{
    return begins(word, "@mix=") || begins(word, "@wet=") || strcmp(word, "@bypass") == 0 ||
           begins(word, "@bypass=");
}

const struct plugin_port stage_mix_ports[] = {
    [STAGE_CONTROL_MIX] = {.symbol = "@mix", .maximum = 1, .initial = 1},
    [STAGE_CONTROL_WET] = {.symbol = "@wet",
                           .unit = "dB",
                           .minimum = STAGE_WET_LEAST,
                           .maximum = STAGE_WET_MOST},
    [STAGE_CONTROL_BYPASS] = {.symbol = "@bypass", .maximum = 1, .is_toggle = true},
};

bool stage_mix_is_word(const char *word)
{
    const char *colon = strchr(word, ':');
    return is_own(word) || (automation_is_word(word) && colon && is_own(colon + 1));
}

enum status stage_mix_parse(enum stage_control_kind kind, const char *text, double *value)
{
    double share;
    if (!*text)
        return fail(CAUSE_USAGE, "%s= needs a value, such as %s", stage_mix_ports[kind].symbol,
                    kind == STAGE_CONTROL_MIX   ? "0.5"
                    : kind == STAGE_CONTROL_WET ? "-12dB"
                                                : "on");
    if (kind == STAGE_CONTROL_WET)
        return options_parse_db("@wet=", text, STAGE_WET_LEAST, STAGE_WET_MOST, value);
    if (kind == STAGE_CONTROL_MIX) {
        if (!decimal_parse(text, &share) || share < 0 || share > 1)
            return fail(CAUSE_USAGE, "@mix= is a number from 0 to 1, not '%s'", text);
        *value = share;
        return STATUS_OK;
    }
    bool off = strcmp(text, "off") == 0;
    if (!off && strcmp(text, "on") != 0)
        return fail(CAUSE_USAGE, "@bypass= is on or off, not '%s'", text);
    *value = off ? 0 : 1;
    return STATUS_OK;
}

enum status stage_mix_take(struct stage_mix_spec *spec, struct automation_time time,
                           const char *word)
{
    struct automation_point point = {0};
    bool later = automation_is_word(word);
    if (later)
        TRY(automation_parse(word, time, &point, &word));
    const char *equals = strchr(word, '='); /* "@bypass" without a value means on */
    point.target = begins(word, "@mix=")   ? STAGE_CONTROL_MIX
                   : begins(word, "@wet=") ? STAGE_CONTROL_WET
                                           : STAGE_CONTROL_BYPASS;
    TRY(stage_mix_parse((enum stage_control_kind)point.target, equals ? equals + 1 : "on",
                        &point.value));
    spec->given = true;
    spec->has_mix |= point.target == STAGE_CONTROL_MIX;
    spec->has_wet |= point.target == STAGE_CONTROL_WET;
    if (spec->has_mix && spec->has_wet)
        return fail(CAUSE_USAGE, "@mix= and @wet= exclude each other: @wet= leaves the dry sound "
                                 "as it is, @mix= lowers it");
    if (later)
        return automation_add(&spec->automation, &point);
    if (point.target == STAGE_CONTROL_BYPASS) {
        spec->bypass = point.value > 0;
    } else {
        spec->has_value = true;
        spec->value = point.value;
    }
    return STATUS_OK;
}

enum status stage_mix_take_all(struct stage_mix_spec *spec, struct automation_time time,
                               char **words)
{
    char **kept = words;
    for (char **word = words; *word; word++)
        if (word > words && stage_mix_is_word(*word))
            TRY(stage_mix_take(spec, time, *word));
        else
            *kept++ = *word;
    *kept = NULL;
    return STATUS_OK;
}

/* ---- gains and controls ---- */

HALO_REALTIME static struct stage_mix_gains gains_of(bool keeps_dry, bool bypass, double value)
{
    double wet = bypass ? 0 : keeps_dry ? audio_from_db(value) : value;
    return (struct stage_mix_gains){wet, keeps_dry ? 1 : 1 - wet};
}

double stage_mix_start(const struct stage_mix_spec *spec)
{
    return spec->has_value ? spec->value : spec->has_wet ? 0 : 1;
}

struct stage_mix_gains stage_mix_gains(const struct stage_mix_spec *spec)
{
    return gains_of(spec->has_wet, spec->bypass, stage_mix_start(spec));
}

HALO_REALTIME struct stage_mix_gains stage_mix_gains_now(const struct filter *filter)
{
    const struct stage_mix_state *mix = (const struct stage_mix_state *)filter;
    return gains_of(mix->keeps_dry, atomic_load(&mix->bypass), atomic_load(&mix->value));
}

bool stage_mix_has(const struct filter *filter, enum stage_control_kind kind)
{
    return kind == STAGE_CONTROL_BYPASS ||
           (kind == STAGE_CONTROL_WET) == ((const struct stage_mix_state *)filter)->keeps_dry;
}

HALO_REALTIME void stage_mix_set(struct filter *filter, enum stage_control_kind kind, float value)
{
    struct stage_mix_state *mix = (struct stage_mix_state *)filter;
    if (kind == STAGE_CONTROL_BYPASS)
        atomic_store(&mix->bypass, value > 0);
    else
        atomic_store(&mix->value, fmax(stage_mix_ports[kind].minimum,
                                       fmin(stage_mix_ports[kind].maximum, (double)value)));
}

HALO_REALTIME float stage_mix_value(const struct filter *filter, enum stage_control_kind kind)
{
    const struct stage_mix_state *mix = (const struct stage_mix_state *)filter;
    return kind == STAGE_CONTROL_BYPASS ? (float)atomic_load(&mix->bypass)
                                        : (float)atomic_load(&mix->value);
}

HALO_REALTIME void stage_mix_leave_out(struct filter *filter)
{
    atomic_store(&((struct stage_mix_state *)filter)->left_out, true);
}

HALO_REALTIME void stage_mix_make_absent(struct filter *filter, bool absent)
{
    ((struct stage_mix_state *)filter)->was_absent = absent;
}

HALO_REALTIME bool stage_mix_is_absent(const struct filter *filter)
{
    return ((const struct stage_mix_state *)filter)->absent;
}

HALO_REALTIME bool stage_mix_is_left_out(const struct filter *filter)
{
    return atomic_load(&((const struct stage_mix_state *)filter)->left_out);
}

#endif

/* ---- the filter ---- */

struct stage_mix {
    struct stage_mix_state state;
    struct filter *stage;
    struct stage_mix_settings settings;
    struct history history;
    struct real_block dry;
    struct ramp wet;
    size_t smooth; /* frames of a ramp when a control changes */
    struct automation_cursor cursor;
    char notice[300];
    bool has_notice; /* a notice must be shown */
};

/* The factor of the stage's output, or with `dry` of its input, by the controls. */
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
