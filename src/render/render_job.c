#include "render/render_job.h"

#include "base/laps.h"
#include "base/monotonic.h"
#include "base/progress.h"
#include "base/stop.h"
#include "base/workers.h"
#include "chain/chain_save.h"
#include "convolve/machine_speed.h"
#include "render/render_output.h"
#include "render/render_passes.h"
#include "sound/engine.h"
#include "sound/gain.h"
#include "sound/port.h"
#include "sound/stated_layout.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RUNS_MOST = 4 }; /* where a plugin reports its latency late, and again later */

struct render_job {
    const struct render_options *options;
    const struct render_job_settings *settings;
    struct stage_list *stages; /* of the options */
    struct source *source;
    struct workers *workers;
    struct render_passes passes;
    struct filter *chain;   /* of the last pass, */
    struct source *current; /* and what it reads */
    struct sink *sink;
    const struct sound_metadata *metadata; /* of the source, or NULL */
    struct stream_format format;           /* of the output */
    int sound_format;
    struct engine_run_settings run;
    bool may_run_again;
    struct chain_save **save; /* shared by all runs; what it points to may be NULL */
    struct report report;
    struct progress progress;
};

/* Of the output, with what a boundary adds, and without the tails that plugins do not report. */
static int64_t frames_to_come(const struct render_job *job)
{
    const struct render_options *options = job->options;
    int64_t frames = job->source->frames;
    bool has_more = options->tail != TAIL_NONE || options->boundary != BOUNDARY_ZERO;
    for (size_t i = 0; frames != FRAMES_UNKNOWN && has_more && i < job->stages->count; i++) {
        size_t taps = stage_describe(&job->stages->stages[i]).taps;
        frames += taps > 0 ? (int64_t)taps - 1 : 0;
    }
    return frames;
}

static enum status check_peak(const struct render_job *job)
{
    const struct render_options *options = job->options;
    if (!options->normalize || options->peak_db <= 0 || !sound_format_is_limited(job->sound_format))
        return STATUS_OK;
    return fail(
        STATUS_USAGE,
        "--normalize %g: %s holds no peak above 0 dBFS; choose 0 or less, or --format float",
        options->peak_db, sound_format_name(job->sound_format));
}

static bool is_double(const struct render_job *job)
{
    return job->options->chain.settings.convolver.precision == PRECISION_DOUBLE;
}

static bool is_reproducible(const struct render_job *job)
{
    return job->options->chain.settings.convolver.reproducible;
}

static enum status check_container(const struct render_job *job)
{
    if (!is_reproducible(job) || !sound_format_varies(job->sound_format))
        return STATUS_OK;
    return fail(STATUS_USAGE,
                "--reproducible: each file in the container of %s differs, by a random number or "
                "the date; choose another, such as wav or flac",
                job->options->output);
}

/* Where convolvers are shared with other jobs, all of a sound is one block, if it fits: 0: it
 * cannot. The sound's end shows in a block that is not full. */
static size_t whole_block(const struct render_job *job)
{
    enum { UNKNOWN_BLOCK = 1 << 17, LEAST = 1 << 12 };
    const struct convolver_service *service = job->options->chain.settings.convolver.service;
    int64_t frames = frames_to_come(job);
    size_t widest = job->source->format.channels, taps = 1, grain = stage_list_grain(job->stages);
    size_t whole = frames == FRAMES_UNKNOWN ? UNKNOWN_BLOCK : (size_t)frames + 1;
    for (size_t i = 0; i < job->stages->count; i++) {
        const struct stage *stage = &job->stages->stages[i];
        const struct stage_info info = stage_describe(stage);
        widest = stage->outputs > widest ? stage->outputs : widest;
        taps = info.taps > taps ? info.taps : taps;
        whole += info.origin;
    }
    size_t most = service ? service->block_most(widest, taps) : 0;
    if (most < LEAST)
        return 0;
    whole = (whole + grain - 1) / grain * grain;
    return whole < most ? whole : most / grain * grain;
}

/* That of a reproducible render depends on the chain alone. */
static size_t choose_block(const struct render_job *job)
{
    const struct render_options *options = job->options;
    const struct stage_list *stages = &options->chain.stages;
    if (options->block && !is_reproducible(job))
        return options->block;
    if (options->block)
        note("--block %zu is not used: --reproducible leaves the block to the masks",
             options->block);
    size_t whole = whole_block(job);
    if (whole > 0)
        return whole;
    int64_t frames = is_reproducible(job) ? FRAMES_UNKNOWN : frames_to_come(job);
    return stage_list_block(stages, job->source->format.channels, job->workers,
                            frames == FRAMES_UNKNOWN ? UINT64_MAX : (uint64_t)frames);
}

/* Unless it is asked for: that which keeps the bits of the samples. Some options of a GPU are for
 * single precision alone. */
static void settle_precision(const struct render_job *job, struct render_options *options)
{
    const struct source *source = job->source;
    struct convolver_settings *convolver = &options->chain.settings.convolver;
    const struct gpu_settings *gpu = &convolver->gpu;
    bool wide = sound_format_stays_wide(options->output, &options->request, &source->traits,
                                        &source->format);
    if (options->chain.precision_given || !wide)
        return;
    if (gpu->kernel || gpu->mode != GPU_MODE_AUTO || gpu_devices_are_given(&gpu->devices))
        note("computed in single precision, which keeps 24 bits of the samples, because of "
             "--kernel, --gpu-mode or --devices");
    else
        convolver->precision = PRECISION_DOUBLE;
}

static enum status open_part(struct render_job *job)
{
    const struct render_options *options = job->options;
    struct source *inner = job->source;
    if (options->start == 0 && !options->duration_given)
        return STATUS_OK;
    job->source = NULL; /* taken over, also on failure */
    return source_open_span(inner, options->start, options->duration, &job->source);
}

static enum status make_chains(struct render_job *job)
{
    struct stage_list *stages = job->stages;
    TRY(render_passes_create(&job->passes, stages, job->source->format.channels, choose_block(job),
                             job->workers));
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
    TRY(stated_layout_apply(options->layout, job->source->name, &job->source->format));
    TRY(render_read_metadata(options, job->source));
    TRY(open_part(job));
    job->format = job->source->format;
    settle_precision(job, options);
    settings->convolver.frames = job->source->frames;
    settings->convolver.mask_stays = true;
    TRY(workers_create(job->settings->alone ? 1 : options->chain.threads, &job->workers));
    settings->convolver.workers = job->workers;
    settings->masks = job->settings->masks;
    settings->in_passes = true;
    if (!settings->masks) /* the others were expected with the first */
        stage_list_expect(&options->chain.stages, settings, &job->format);
    lap_end(LAP_OPEN, lap);
    lap = lap_begin();
    TRY(stage_list_load(&options->chain.stages, settings, &job->format));
    lap_end(LAP_MASKS, lap);
    int64_t frames = frames_to_come(job);
    TRY(proof_begin(&options->proof, job->stages, frames == FRAMES_UNKNOWN ? 0 : frames));
    TRY(sound_format_choose(options->output, &options->request, &job->source->traits, &job->format,
                            &job->sound_format));
    TRY(check_peak(job));
    TRY(check_container(job));
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
        return fail(STATUS_USAGE,
                    "--edge is for masks and gains: how far a plugin looks back is unknown");
    for (size_t i = 0; i < options->chain.stages.count; i++) {
        const struct stage *stage = &options->chain.stages.stages[i];
        if (stage->ops->no_boundary)
            return fail(STATUS_USAGE, "%s", stage->ops->no_boundary);
        if (stage->automated)
            return fail(STATUS_USAGE, "at= cannot be used with --edge");
    }
    job->run.lead = job->chain->tail - job->chain->latency;
    job->run.trail = job->chain->latency;
    struct source *inner = job->source;
    job->source = NULL; /* the boundary owns it, also on failure */
    return (is_double(job) ? source_open_boundary_in_double : source_open_boundary)(
        inner, options->boundary, job->run.lead, job->run.trail, &job->source);
}

/* A plugin reported more latency while it ran: the output would be late. */
static bool is_too_late(const struct render_job *job)
{
    return job->run.stop_late && job->chain->late + job->passes.whole.late > 0;
}

static enum status run_engine(const struct render_job *job, struct filter *filter,
                              struct source *source, struct sink *sink,
                              const struct engine_run_settings *settings,
                              struct engine_totals *totals)
{
    return (is_double(job) ? engine_run_in_double : engine_run)(filter, source, sink, settings,
                                                                totals);
}

/* Writes the spooled sound, scaled to the peak asked for. */
static enum status write_scaled(struct render_job *job, struct source *spooled)
{
    unsigned bits = sound_format_bits(job->sound_format);
    double most = bits ? 1 - ldexp(1, 1 - (int)bits) : INFINITY; /* largest integer sample */
    double peak = job->report.totals.peak;
    struct filter *gain;
    struct engine_totals totals = {0};
    const struct engine_run_settings run = {
        .tail = TAIL_NONE,
        .true_peak = job->run.true_peak,
        .alone = job->run.alone,
        .progress = job->run.progress,
        .progress_context = job->run.progress_context,
    };
    if (peak == 0)
        note("the sound is silent: there is nothing to normalize");
    job->report.scale = peak > 0 ? fmin(audio_from_db(job->options->peak_db), most) / peak : 1;
    TRY((is_double(job) ? gain_create_in_double : gain_create)(job->format.channels, 1 << 14,
                                                               job->report.scale, &gain));
    spooled->frames = (int64_t)job->report.totals.frames_out;
    enum status status = run_engine(job, gain, spooled, job->sink, &run, &totals);
    job->report.totals.peak = totals.peak;
    job->report.totals.true_peak = totals.true_peak;
    filter_destroy(gain);
    return status;
}

/* Two passes: the first finds the peak. */
static enum status run_normalized(struct render_job *job)
{
    struct sink *spool = NULL;
    struct source *spooled = NULL;
    enum status status = (is_double(job) ? spool_open_in_double : spool_open)(
        job->sink->beside, job->source, job->format.channels, &spool, &spooled);
    if (status == STATUS_OK)
        status = run_engine(job, job->chain, job->current, spool, &job->run, &job->report.totals);
    if (status == STATUS_OK)
        status = sink_commit(spool);
    if (status == STATUS_OK && !is_too_late(job))
        status = write_scaled(job, spooled);
    source_close(spooled);
    sink_close(spool);
    return status;
}

/* The last one into the sink. */
static enum status run_passes(struct render_job *job)
{
    const struct render_options *options = job->options;
    struct render_passes *passes = &job->passes;
    struct engine_totals *totals = &job->report.totals;
    TRY(render_passes_run(passes, job->source, job->sink->beside, options->tail, &job->run));
    if (is_too_late(job))
        return STATUS_OK;
    struct source *spooled = render_passes_last(passes)->source;
    if (spooled)
        job->run.lead = render_passes_last(passes)->stages.before;
    job->run.knows_sound = spooled != NULL;
    job->run.sound_frames = passes->sound;
    job->current = spooled ? spooled : job->source;
    TRY(options->normalize
            ? run_normalized(job)
            : run_engine(job, job->chain, job->current, job->sink, &job->run, totals));
    if (spooled)
        totals->frames_in = passes->sound;
    return STATUS_OK;
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
    job->run.alone = job->settings->alone;
    job->run.true_peak = options->verbosity == VERBOSITY_VERBOSE;
    job->run.progress = progress_update;
    job->run.progress_context = &job->progress;
    int64_t lap = lap_begin();
    const struct filter *whole = &job->passes.whole;
    struct metadata_change change = {.start = (uint64_t)rint(options->start * job->format.rate),
                                     .has_memory = whole->tail > 0 || whole->tail_unknown ||
                                                   stage_list_is_uneven(&options->chain.stages),
                                     .wraps = options->boundary == BOUNDARY_WRAP};
    TRY(render_open_sink(options, job->source, &job->format, job->sound_format,
                         engine_frames_out(whole, job->source->frames, options->tail), &change,
                         &job->sink));
    struct source *input = job->source; /* which a boundary may own from here on */
    job->metadata = input->traits.metadata;
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
    TRY(run_passes(job));
    if (is_too_late(job))
        return STATUS_OK;
    TRY(prove(job));
    lap = lap_begin();
    TRY(render_end_metadata(options, input, job->report.totals.frames_out, &change, job->sink));
    TRY(sink_commit(job->sink));
    lap_end(LAP_COMMIT, lap);
    if (*job->save)
        TRY(keep_chain(*job->save));
    job->report.seconds = monotonic_seconds() - job->progress.start;
    return STATUS_OK;
}

/* Of a run that `auto` may choose the backend of again. A true peak slows writing. */
static void learn(const struct render_job *job)
{
    struct machine_speed measured = {0};
    if (!job->settings->teaches || job->options->normalize || job->run.true_peak ||
        job->passes.count > 1)
        return;
    stage_list_learn(job->stages, job->workers, &measured);
    machine_speed_keep(&measured, false);
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
    report->reproducible = is_reproducible(job);
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
    *again = status == STATUS_OK && is_too_late(&job);
    if (*again)
        stage_list_keep_latencies(&options->chain.stages);
    else if (status == STATUS_OK) {
        learn(&job);
        status = tell(&job);
    }
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
