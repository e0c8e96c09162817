#include "render/render_job_state.h"

#include "base/laps.h"
#include "base/monotonic.h"
#include "render/render_output.h"
#include "sound/sound_format.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>

enum { RUNS_MOST = 4 }; /* where a plugin reports its latency late, and again later */

static enum status open_channels(struct render_job *job)
{
    struct source *inner = job->source;
    size_t numbers[OPTIONS_LIST_MOST], count = 0;
    for (const char *at = job->options->channel; at && *at; at += *at == ',') {
        size_t length = strcspn(at, ",");
        TRY(channel_layout_find("--channel", inner->name, ", or say it by --layout",
                                inner->format.channels, inner->format.layout, at, length,
                                &numbers[count]));
        numbers[count++]++;
        at += length;
    }
    if (count == 0)
        return STATUS_OK;
    job->source = NULL; /* taken over, also on failure */
    return source_open_channels(inner, numbers, count, &job->source);
}

static enum status open_rate(struct render_job *job)
{
    uint32_t rate = job->options->rate;
    struct source *inner = job->source;
    if (!rate || rate == inner->format.rate)
        return STATUS_OK;
    job->source = NULL; /* taken over, also on failure */
    return (render_is_double(job) ? source_open_resampled_in_double
                                  : source_open_resampled)(inner, rate, &job->source);
}

static bool takes_part(const struct render_options *options)
{
    return options->part.start > 0 || options->duration_given || options->end_given;
}

static enum status open_part(struct render_job *job)
{
    const struct render_options *options = job->options;
    struct source *inner = job->source;
    if (!takes_part(options))
        return STATUS_OK;
    job->source = NULL; /* taken over, also on failure */
    return source_open_span(inner, &options->part, &job->source);
}

static enum status make_chains(struct render_job *job)
{
    struct stage_list *stages = job->stages;
    TRY(render_passes_create(&job->passes, stages, job->source->format.channels,
                             render_choose_block(job), job->workers));
    job->chain = render_passes_last(&job->passes)->chain;
    stage_list_discard(stages);
    return render_passes_check(&job->passes, job->options);
}

/* Opens the input and makes the chain, which reports what is wrong with specs or files. */
static enum status prepare(struct render_job *job, struct render_options *options)
{
    struct stage_settings *settings = &options->chain.settings;
    int64_t lap = lap_begin();
    TRY(source_open_sound(options->input, settings->allow_truncated, &job->source));
    job->sound = job->source;
    job->source->wide_option = "--precision double";
    job->report.length_is_open = job->source->length_is_open;
    TRY(stated_layout_apply(options->layout, job->source->name, &job->source->format));
    TRY(render_read_metadata(options, job->source));
    TRY(open_channels(job));
    TRY(open_part(job));
    render_settle_precision(job, options);
    TRY(open_rate(job));
    job->format = job->source->format;
    settings->convolver.frames = job->source->frames;
    settings->convolver.mask_stays = true;
    settings->convolver.block = options->block;
    TRY(workers_create_for_later(job->settings->alone ? 1 : options->chain.threads, &job->workers));
    settings->convolver.workers = job->workers;
    settings->masks = job->settings->masks;
    settings->in_passes = true;
    if (!settings->masks) /* the others were expected with the first */
        stage_list_expect(&options->chain.stages, settings, &job->format);
    lap_end(LAP_OPEN, lap);
    lap = lap_begin();
    TRY(stage_list_load(&options->chain.stages, settings, &job->format));
    lap_end(LAP_MASKS, lap);
    int64_t frames = render_frames_to_come(job);
    TRY(proof_begin(&options->proof, job->stages, frames == FRAMES_UNKNOWN ? 0 : frames));
    TRY(sound_format_choose(options->output, &options->request, &job->source->traits, &job->format,
                            &job->sound_format));
    TRY(render_check_output(job));
    lap = lap_begin();
    TRY(make_chains(job));
    lap_end(LAP_CHAIN, lap);
    return STATUS_OK;
}

/* Extends the source on both sides, as far as the chain needs. */
static enum status lay_boundaries(struct render_job *job)
{
    const struct render_options *options = job->options;
    if (options->boundary == BOUNDARY_ZERO)
        return STATUS_OK;
    if (job->chain->tail_unknown)
        return fail(CAUSE_USAGE,
                    "--edge is for masks and gains: how far a plugin looks back is unknown");
    for (size_t i = 0; i < options->chain.stages.count; i++) {
        const struct stage *stage = &options->chain.stages.stages[i];
        if (stage->ops->no_boundary)
            return fail(CAUSE_USAGE, "%s", stage->ops->no_boundary);
        if (stage->automated)
            return fail(CAUSE_USAGE, "at= cannot be used with --edge");
    }
    job->run.lead = job->chain->tail - job->chain->latency;
    job->run.trail = job->chain->latency;
    struct source *inner = job->source;
    job->source = NULL; /* the boundary owns it, also on failure */
    return (render_is_double(job) ? source_open_boundary_in_double : source_open_boundary)(
        inner, options->boundary, job->run.lead, job->run.trail, &job->source);
}

static enum status prove(struct render_job *job)
{
    const struct render_options *options = job->options;
    proof_end(&options->proof, job->stages, 0, job->report.totals.frames_out, job->format.rate,
              &job->report.proof);
    return render_judge(options, job->sink, &job->report.proof);
}

static enum status keep_chain(struct chain_save *save)
{
    const char *before = log_prefix("the sound is complete, but not its chain");
    enum status status = chain_save_keep(save);
    log_prefix(before);
    return status;
}

static enum status work(struct render_job *job)
{
    const struct render_options *options = job->options;
    job->run.tail = options->tail;
    job->run.until = options->until;
    job->run.alone = job->settings->alone || render_is_brief(job);
    job->run.true_peak = options->verbosity == VERBOSITY_VERBOSE;
    bool is_shown = job->settings->progress == NULL;
    job->run.progress = is_shown ? progress_update : job->settings->progress;
    job->run.progress_context = is_shown ? (void *)&job->progress : job->settings->context;
    int64_t lap = lap_begin();
    const struct filter *whole = &job->passes.whole;
    struct metadata_change change = {
        .rate_in = job->sound->format.rate,
        .start = sound_part_frames(options->part.start, job->sound->format.rate),
        .keeps_loops = !takes_part(options) &&
                       job->source->format.rate == job->sound->format.rate &&
                       stage_list_is_memoryless(&options->chain.stages)};
    TRY(render_open_sink(options, job->source, &job->format, job->sound_format,
                         engine_frames_out(whole, job->source->frames, options->tail,
                                           sound_part_frames(options->until, job->format.rate)),
                         &change, &job->sink));
    job->metadata = job->sound->traits.metadata;
    lap_end(LAP_SINK, lap);
    TRY(lay_boundaries(job));
    if (options->save_chain && !*job->save) /* OUT is writable; later runs have the same chain */
        TRY(chain_save_create(options->save_chain, options->force, options->collect,
                              &options->chain.stages, job->save));
    /* To run again, the input must be readable again, and no output written yet. */
    struct stat about;
    job->run.stop_late = job->may_run_again && strcmp(options->input, "-") != 0 &&
                         stat(options->input, &about) == 0 && S_ISREG(about.st_mode) &&
                         job->sink->beside;
    progress_begin(&job->progress, job->format.rate, job->settings->shows_progress);
    job->report.scale = 1;
    job->report.loudness = NAN;
    TRY(render_run_sound(job));
    if (render_is_too_late(job))
        return STATUS_OK;
    TRY(stage_list_confirm(&options->chain.stages));
    TRY(prove(job));
    lap = lap_begin();
    TRY(render_end_metadata(options, job->sound, job->report.totals.frames_out, &change,
                            job->sink));
    TRY(sink_commit(job->sink));
    lap_end(LAP_COMMIT, lap);
    if (*job->save)
        TRY(keep_chain(*job->save));
    job->report.seconds = monotonic_seconds() - job->progress.start;
    return STATUS_OK;
}

static enum status tell(struct render_job *job)
{
    const struct render_options *options = job->options;
    struct report *report = &job->report;
    report->input = options->input;
    report->output = options->output;
    report->rate = job->format.rate;
    report->channels = job->format.channels;
    report->channels_in = job->source->format.channels;
    report->layout = job->format.layout;
    report->layout_in = job->source->format.layout;
    report->sound_format = job->sound_format;
    report->stages = &options->chain.stages;
    report->chain = &job->passes.whole;
    report->tail = options->tail;
    report->true_peak = job->run.true_peak && isfinite(report->totals.true_peak);
    report->clipped = job->sink->clipped;
    report->precision_given = options->chain.precision_given;
    report->reproducible = render_is_reproducible(job);
    report->threads = workers_count(job->workers);
    report->metadata = job->metadata;
    return job->settings->report ? job->settings->report(job->settings->context, report)
                                 : STATUS_OK;
}

static enum status render_once(struct render_options *options,
                               const struct render_job_settings *settings, bool may_run_again,
                               struct chain_save **save, bool *again)
{
    struct render_job job = {.options = options,
                             .settings = settings,
                             .stages = &options->chain.stages,
                             .may_run_again = may_run_again,
                             .save = save};
    enum status status = prepare(&job, options);
    if (status == STATUS_OK)
        status = work(&job);
    *again = status == STATUS_OK && render_is_too_late(&job);
    if (*again)
        stage_list_keep_latencies(&options->chain.stages);
    else if (status == STATUS_OK)
        status = tell(&job);
    sink_close(job.sink);
    render_passes_free(&job.passes);
    workers_destroy(job.workers);
    source_close(job.source);
    return status;
}

enum status render_job_run(struct render_options *options,
                           const struct render_job_settings *settings)
{
    bool again = true;
    struct chain_save *save = NULL;
    enum status status = STATUS_OK;
    for (int run = 1; again && status == STATUS_OK; run++) {
        stage_list_unload(&options->chain.stages);
        status = render_once(options, settings, run < RUNS_MOST, &save, &again);
    }
    stage_list_unload(&options->chain.stages);
    chain_save_destroy(save);
    return status;
}
