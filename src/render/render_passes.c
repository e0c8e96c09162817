#include "render/render_passes.h"

#include <stdlib.h>

/* ---- the chains ---- */

static enum stage_needs needs_of(const struct stage_list *stages, size_t index)
{
    return index < stages->count ? stage_needs(&stages->stages[index]) : STAGE_NEEDS_NOTHING;
}

/* Whether a pass ends before stage `index`. Pass 0 is empty if the first stage needs the power. */
static bool ends_before(const struct stage_list *stages, size_t index)
{
    bool begins_one = needs_of(stages, index) == STAGE_NEEDS_INPUT ||
                      (index > 0 && needs_of(stages, index) == STAGE_NEEDS_OUTPUT);
    return begins_one || (index > 0 && needs_of(stages, index - 1) == STAGE_NEEDS_OUTPUT);
}

static enum status split(struct render_passes *passes, const struct stage_list *stages)
{
    passes->count = 1;
    for (size_t i = 0; i <= stages->count; i++)
        passes->count += ends_before(stages, i);
    passes->passes = calloc(passes->count, sizeof *passes->passes);
    if (!passes->passes)
        return fail_memory("a render");
    struct render_pass *pass = passes->passes;
    pass->stages.stages = stages->stages;
    for (size_t i = 0; i <= stages->count; i++) {
        if (ends_before(stages, i))
            (++pass)->stages.stages = stages->stages + i;
        pass->stages.count += i < stages->count;
    }
    return STATUS_OK;
}

enum status render_passes_create(struct render_passes *passes, const struct stage_list *stages,
                                 size_t channels, size_t block, struct workers *workers)
{
    *passes = (struct render_passes){.in_double = stages->precision == PRECISION_DOUBLE};
    TRY(split(passes, stages));
    passes->whole = (struct filter){.inputs = channels, .block = block};
    for (size_t i = 0; i < passes->count; i++) {
        struct render_pass *pass = &passes->passes[i];
        pass->stages.precision = stages->precision;
        pass->stages.before = passes->whole.latency;
        TRY(stage_list_create(&pass->stages, channels, block, workers, &pass->chain));
        channels = pass->chain->outputs;
        passes->whole.latency += pass->chain->latency;
        passes->whole.tail += pass->chain->tail;
        passes->whole.tail_unknown |= pass->chain->tail_unknown;
    }
    passes->whole.outputs = channels;
    return STATUS_OK;
}

void render_passes_free(struct render_passes *passes)
{
    for (size_t i = 0; passes->passes && i < passes->count; i++) {
        filter_destroy(passes->passes[i].chain);
        source_close(passes->passes[i].source);
    }
    free(passes->passes);
    *passes = (struct render_passes){0};
}

struct render_pass *render_passes_last(const struct render_passes *passes)
{
    return &passes->passes[passes->count - 1];
}

static bool has_level(const struct render_passes *passes)
{
    bool level = false;
    for (size_t i = 0; i < passes->count; i++) {
        const struct stage_list *stages = &passes->passes[i].stages;
        level |= needs_of(stages, stages->count - 1) == STAGE_NEEDS_OUTPUT;
    }
    return level;
}

enum status render_passes_check(const struct render_passes *passes,
                                const struct render_options *options)
{
    if (passes->count == 1)
        return STATUS_OK;
    if (options->boundary != BOUNDARY_ZERO)
        return fail(CAUSE_USAGE, "--edge cannot be used with level= and --noise");
    if (options->tail == TAIL_UNTIL || options->tail == TAIL_TIME)
        return fail(CAUSE_USAGE,
                    "level= and --noise need the whole tail or none: use --tail full or none");
    if (options->normalize && has_level(passes))
        return fail(CAUSE_USAGE, "--normalize and level= each set a level; choose one");
    return STATUS_OK;
}

/* ---- the runs ---- */

static enum status check_measured(const struct engine_totals *totals)
{
    const struct engine_power *power = &totals->power;
    double out = power->lead + power->sound + power->tail;
    if (stage_power_is_exact(power->in) && stage_power_is_exact(out) &&
        !(out == 0 && totals->peak > 0))
        return STATUS_OK;
    return fail(CAUSE_UNSUPPORTED,
                "cannot measure the power of the sound for level= or --noise: its "
                "samples are beyond 1e-145 or 1e145; scale it by --gain first");
}

static double mean(double sum, uint64_t frames, size_t channels)
{
    return frames > 0 ? sum / (double)frames / (double)channels : 0;
}

/* The powers of a pass that ran. `in`: power of its input, if that is not the sound itself. */
static struct stage_power power_of(const struct render_passes *passes,
                                   const struct render_pass *pass, enum tail tail,
                                   const struct engine_totals *totals, double in)
{
    const struct engine_power *sums = &totals->power;
    const struct filter *chain = pass->chain;
    uint64_t lead = pass->stages.before + chain->latency, after = totals->frames_out - lead;
    uint64_t frames = tail == TAIL_NONE ? passes->sound : after;
    double out = sums->sound + (tail == TAIL_NONE ? 0 : sums->tail);
    return (struct stage_power){
        .in = pass == passes->passes ? mean(sums->in, totals->frames_in, chain->inputs) : in,
        .out = mean(out, frames, chain->outputs),
        .whole = mean(sums->lead + sums->sound + sums->tail, totals->frames_out - chain->latency,
                      chain->outputs),
        .frames = frames,
        .lead = lead,
        .all_frames = after};
}

/* Run a pass, with its tail unless the tail's length is unknown and no tail is wanted. */
static enum status run_into(struct render_passes *passes, struct render_pass *pass,
                            struct source *source, struct sink *spool, enum tail tail,
                            const struct engine_run_settings *run, struct engine_totals *totals)
{
    struct engine_run_settings settings = *run;
    bool hands_on = tail != TAIL_NONE || !pass->chain->tail_unknown;
    settings.tail = hands_on ? TAIL_FULL : TAIL_NONE;
    settings.whole = true;
    settings.lead = pass->stages.before;
    settings.true_peak = false;
    settings.knows_sound = pass > passes->passes;
    settings.sound_frames = passes->sound;
    TRY((passes->in_double ? engine_run_in_double : engine_run)(pass->chain, source, spool,
                                                                &settings, totals));
    passes->whole.late += pass->chain->late;
    return sink_commit(spool);
}

/* Scale the sound that the next pass reads by the factor of this pass's last stage. */
static enum status hand_over(struct render_passes *passes, struct render_pass *pass,
                             struct source *spooled, struct stage_power *power)
{
    struct stage_list *stages = &pass->stages;
    double factor = 1;
    if (needs_of(stages, stages->count - 1) == STAGE_NEEDS_OUTPUT) {
        struct stage *stage = &stages->stages[stages->count - 1];
        TRY(stage->ops->passes->level(stage, power, &factor));
        stage->level = factor;
    }
    (passes->in_double ? spool_scale_in_double : spool_scale)(spooled, factor);
    power->in = power->out * factor * factor;
    if (!stage_power_is_exact(power->in))
        return fail(CAUSE_OTHER, "cannot scale the sound by %g for level=: use --gain", factor);
    struct stage_list *next = &pass[1].stages;
    return needs_of(next, 0) == STAGE_NEEDS_INPUT
               ? next->stages->ops->passes->settle(next->stages, power)
               : STATUS_OK;
}

static enum status run_pass(struct render_passes *passes, struct render_pass *pass,
                            struct source *sound, const char *beside, enum tail tail,
                            const struct engine_run_settings *run, double *in)
{
    struct sink *spool = NULL;
    struct source *spooled = NULL;
    struct engine_totals totals;
    struct source *source = pass->source ? pass->source : sound;
    TRY((passes->in_double ? spool_open_in_double : spool_open)(beside, sound, pass->chain->outputs,
                                                                &spool, &spooled));
    pass[1].source = spooled;
    enum status status = run_into(passes, pass, source, spool, tail, run, &totals);
    sink_close(spool);
    TRY(status);
    if (pass == passes->passes)
        passes->sound = totals.frames_in;
    spooled->frames = (int64_t)totals.frames_out;
    struct stage_power power = power_of(passes, pass, tail, &totals, *in);
    if (run->stop_late && passes->whole.late > 0)
        return STATUS_OK;
    TRY(check_measured(&totals));
    TRY(hand_over(passes, pass, spooled, &power));
    *in = power.in;
    return STATUS_OK;
}

enum status render_passes_run(struct render_passes *passes, struct source *sound,
                              const char *beside, enum tail tail,
                              const struct engine_run_settings *run)
{
    double in = 0;
    for (size_t i = 0; i + 1 < passes->count; i++) {
        TRY(run_pass(passes, &passes->passes[i], sound, beside, tail, run, &in));
        if (run->stop_late && passes->whole.late > 0)
            return STATUS_OK;
    }
    return STATUS_OK;
}
