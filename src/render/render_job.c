#include "render/render_job.h"

#include "base/build_info.h"
#include "base/laps.h"
#include "base/monotonic.h"
#include "base/progress.h"
#include "base/workers.h"
#include "chain/chain_save.h"
#include "convolve/convolver_backend.h"
#include "render/render_passes.h"
#include "signal/loudness.h"
#include "sound/engine.h"
#include "sound/file/sound_format.h"
#include "sound/gain.h"
#include "sound/metadata/metadata_json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Settings of a render that are fixed before it runs, from the options, the input's format and the
 * stages. prepare() sets them; nothing changes them afterwards. */
struct render_plan {
    struct stage_settings settings; /* settings of the options, adapted to this sound */
    struct stream_format format;    /* format of the output */
    int sound_format;
    /* Frames of the output, with boundaries but without unreported tails; or FRAMES_UNKNOWN. */
    int64_t frames;
    size_t block; /* frames */
};

struct render_job {
    const struct render_options *options;
    const struct render_job_settings *settings;
    struct stage_list *stages; /* stages of the options */
    struct render_plan plan;
    struct source *source;
    struct source *sound; /* the file or stream itself: the same as `source`, or owned by it */
    struct workers *workers;
    struct render_passes passes;
    struct filter *chain;   /* chain of the last pass */
    struct source *current; /* source that the last pass reads */
    struct sink *sink;
    const struct sound_metadata *metadata; /* metadata of the source, or NULL */
    struct engine_run_settings run;
    bool may_run_again;
    struct chain_save **save; /* shared by all runs; *save may be NULL */
    struct report report;
    struct progress progress;
};

/* ---- the plan ---- */

static bool is_double(const struct render_job *job)
{
    return job->plan.settings.convolver.precision == PRECISION_DOUBLE;
}

static int64_t frames_to_come(const struct render_job *job)
{
    const struct render_options *options = job->options;
    int64_t frames = job->source->frames;
    bool has_more = options->tail != TAIL_NONE || options->boundary != BOUNDARY_ZERO;
    if (options->tail == TAIL_TIME && frames != FRAMES_UNKNOWN)
        return frames + (int64_t)sound_part_frames(options->until, job->source->format.rate);
    for (size_t i = 0; frames != FRAMES_UNKNOWN && has_more && i < job->stages->count; i++) {
        size_t taps = stage_describe(&job->stages->stages[i]).taps;
        frames += taps > 0 ? (int64_t)taps - 1 : 0;
    }
    return frames;
}

/* Whether the sound is so short that threads for reading and writing would save no time. */
static bool is_brief(const struct render_job *job)
{
    enum { BRIEF = 1 << 18 };
    size_t in = job->source->format.channels, out = job->plan.format.channels;
    size_t most = BRIEF / (in > out ? in : out);
    return job->plan.frames != FRAMES_UNKNOWN && (uint64_t)job->plan.frames <= most;
}

/* Errors (usage): the format cannot hold the peak, has no quality, or is not reproducible. */
static enum status check_output(const struct render_options *options, int format)
{
    const char *name = sound_format_name(format);
    if (options->normalize && options->level > 0 && sound_format_is_limited(format))
        return fail(
            CAUSE_USAGE,
            "--normalize %g: %s holds no peak above 0 dBFS; choose 0 or less, or --format float",
            options->level, name);
    if (options->quality != 0 && !sound_format_is_lossy(format))
        return fail(CAUSE_USAGE, "--quality is for mp3, ogg and opus; %s, in %s, loses nothing",
                    options->output, name);
    if (options->chain.reproducible && sound_format_varies(format))
        return fail(
            CAUSE_USAGE,
            "--reproducible: each file in the container of %s differs, by a random number or "
            "the date; choose another, such as wav or flac",
            options->output);
    return STATUS_OK;
}

/* The block for a sound whose convolvers are shared with other jobs: longer than all of the sound,
 * since an incomplete block shows its end. 0: the sound does not fit. */
static size_t whole_block(const struct render_job *job)
{
    enum { UNKNOWN_BLOCK = 1 << 17, LEAST = 1 << 12 };
    const struct convolver_service *service = job->plan.settings.convolver.service;
    int64_t frames = job->plan.frames;
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

/* On the CPU the block depends on chain and length only; if reproducible, on the chain only. */
static size_t choose_block(const struct render_job *job)
{
    const struct render_options *options = job->options;
    size_t whole = whole_block(job);
    if (whole > 0)
        return whole;
    bool is_known = !options->chain.reproducible && job->plan.frames != FRAMES_UNKNOWN;
    size_t block =
        stage_list_block(job->stages, job->source->format.channels, job->workers,
                         is_known ? (uint64_t)job->plan.frames : UINT64_MAX, options->block);
    if (options->block && block != options->block)
        note("--block %zu is not used: on the CPU the masks choose the block (%zu)", options->block,
             block);
    return block;
}

/* The requested precision, or the lowest for all bits. Some GPU options need single precision. */
static enum precision choose_precision(const struct render_job *job)
{
    const struct render_options *options = job->options;
    const struct source *source = job->source;
    const struct convolver_settings *convolver = &options->chain.settings.convolver;
    const struct gpu_settings *gpu = &convolver->gpu;
    if (options->chain.precision_given ||
        !sound_format_stays_wide(options->output, &options->request, &source->traits,
                                 &source->format))
        return convolver->precision;
    if (!gpu->kernel && gpu->mode == GPU_MODE_AUTO && !gpu_devices_are_given(&gpu->devices))
        return PRECISION_DOUBLE;
    note("computed in single precision, which keeps 24 bits of the samples, because of "
         "--kernel, --gpu-mode or --devices");
    return convolver->precision;
}

/* Plan the output, after the stages are loaded. */
static enum status plan_output(struct render_job *job)
{
    struct render_plan *plan = &job->plan;
    const struct render_options *options = job->options;
    plan->frames = frames_to_come(job);
    TRY(proof_begin(&options->proof, job->stages,
                    plan->frames == FRAMES_UNKNOWN ? 0 : plan->frames));
    TRY(sound_format_choose(options->output, &options->request, &job->source->traits, &plan->format,
                            &plan->sound_format));
    return check_output(options, plan->sound_format);
}

/* ---- the runs of the engine ---- */

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

/* The factor for the requested loudness, or less if the true peak would exceed TRUE_PEAK_MOST. */
static double factor_to_loudness(struct render_job *job, const struct loudness *meter)
{
    enum { TRUE_PEAK_MOST = -1, ROUNDING = 4 }; /* dBTP; steps of integers, dithered */
    unsigned bits = sound_format_bits(job->plan.sound_format);
    const struct render_options *options = job->options;
    double most = audio_from_db(TRUE_PEAK_MOST) - (bits ? ldexp(ROUNDING, 1 - (int)bits) : 0);
    double room = floor(100 * audio_to_db(most / job->report.totals.true_peak)) / 100;
    double gain = loudness_gain_to(meter, options->level);
    if (gain > room) {
        warning("%s is %.1f LUFS, not %g: a peak would be above %d dBTP", options->output,
                loudness_integrated_with(meter, room), options->level, TRUE_PEAK_MOST);
        gain = room;
    }
    job->report.loudness = loudness_integrated_with(meter, gain);
    return isfinite(gain) ? audio_from_db(gain) : 1;
}

/* Write the spooled sound, scaled to the requested peak or loudness. */
static enum status write_scaled(struct render_job *job, struct source *spooled)
{
    unsigned bits = sound_format_bits(job->plan.sound_format);
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
    else if (job->run.loudness)
        job->report.scale = factor_to_loudness(job, job->run.loudness);
    else
        job->report.scale = fmin(audio_from_db(job->options->level), most) / peak;
    TRY((is_double(job) ? gain_create_in_double : gain_create)(job->plan.format.channels, 1 << 14,
                                                               job->report.scale, &gain));
    spooled->frames = (int64_t)job->report.totals.frames_out;
    enum status status = run_engine(job, gain, spooled, job->sink, &run, &totals);
    job->report.totals.peak = totals.peak;
    job->report.totals.true_peak = totals.true_peak;
    filter_destroy(gain);
    return status;
}

/* Two passes: the first finds the peak, and the loudness. */
static enum status run_normalized(struct render_job *job)
{
    struct sink *spool = NULL;
    struct source *spooled = NULL;
    enum status status = (is_double(job) ? spool_open_in_double : spool_open)(
        job->sink->beside, job->source, job->plan.format.channels, &spool, &spooled);
    job->run.true_peak |= job->options->to_loudness;
    if (status == STATUS_OK && job->options->to_loudness)
        status =
            loudness_create(job->plan.format.rate, job->plan.format.channels, &job->run.loudness);
    if (status == STATUS_OK)
        status = run_engine(job, job->chain, job->current, spool, &job->run, &job->report.totals);
    if (status == STATUS_OK)
        status = sink_commit(spool);
    if (status == STATUS_OK && !is_too_late(job))
        status = write_scaled(job, spooled);
    loudness_destroy(job->run.loudness);
    job->run.loudness = NULL;
    source_close(spooled);
    sink_close(spool);
    return status;
}

static enum status run_sound(struct render_job *job)
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

/* ---- the output ---- */

/* Put the tags of the file of --metadata into the metadata. */
static enum status put_tags(const struct render_options *options, struct sound_metadata *metadata)
{
    return strcmp(options->metadata, "keep") == 0 ? STATUS_OK
                                                  : metadata_load(options->metadata, metadata);
}

enum status render_read_metadata(const struct render_options *options, struct source *source)
{
    bool none = strcmp(options->metadata, "none") == 0;
    if (none) {
        metadata_destroy(source->traits.metadata);
        source->traits.metadata = NULL;
        return STATUS_OK;
    }
    TRY(source_read_metadata(source));
    return put_tags(options, source->traits.metadata);
}

enum status render_open_sink(const struct render_options *options, const struct source *source,
                             const struct stream_format *format, int sound_format, int64_t frames,
                             struct metadata_change *change, struct sink **sink)
{
    struct sound_metadata *metadata = source->traits.metadata;
    struct sink_settings settings = {
        .path = options->output,
        .format = *format,
        .sound_format = sound_format,
        .frames = frames,
        .dither = options->dither,
        .quality = options->quality,
        .force = options->force,
        .record = options->record,
    };
    change->frames = frames;
    change->rate = format->rate;
    change->channels = format->channels;
    change->inputs = source->format.channels;
    change->bits = sound_format_bits(sound_format);
    change->bytes = sound_format_bytes(sound_format);
    change->maker = "halo " HALO_VERSION;
    if (!metadata || sink_puts_metadata_after(&settings))
        return sink_open_sound(&settings, sink);
    settings.metadata = metadata;
    TRY(metadata_remove_unplaced(metadata));
    TRY(metadata_adjust(metadata, change));
    TRY(sink_open_sound(&settings, sink));
    return metadata_conclude(metadata);
}

static enum status name_late(struct source *source, struct sound_metadata *metadata)
{
    struct sound_metadata *late;
    TRY(metadata_create(&late));
    enum status status = source_read_metadata_after(source, late);
    if (status == STATUS_OK)
        status = metadata_conclude_late(metadata, late);
    metadata_destroy(late);
    return status;
}

enum status render_end_metadata(const struct render_options *options, struct source *source,
                                uint64_t frames, struct metadata_change *change, struct sink *sink)
{
    struct sound_metadata *metadata = source->traits.metadata;
    if (!metadata)
        return STATUS_OK;
    if (!sink->takes_metadata)
        return metadata->more_follows ? name_late(source, metadata) : STATUS_OK;
    change->frames = (int64_t)frames;
    if (metadata->more_follows) {
        TRY(source_read_metadata_after(source, metadata));
        TRY(put_tags(options, metadata));
    }
    TRY(metadata_remove_unplaced(metadata));
    TRY(metadata_adjust(metadata, change));
    TRY(sink_put_metadata(sink, metadata));
    return metadata_conclude(metadata);
}

enum status render_judge(const struct render_options *options, const struct sink *sink,
                         const struct proof_result *result)
{
    char consequence[300];
    snprintf(consequence, sizeof consequence,
             sink->beside ? "%s is not written" : "what %s got cannot be trusted",
             strcmp(options->output, "-") == 0 ? "standard output" : options->output);
    return proof_judge(result, consequence);
}

/* ---- a run ---- */

enum { RUNS_MOST = 4 }; /* most runs, if a plugin reports a longer latency late, repeatedly */

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
    return (is_double(job) ? source_open_resampled_in_double : source_open_resampled)(inner, rate,
                                                                                      &job->source);
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
    job->plan.block = choose_block(job);
    TRY(render_passes_create(&job->passes, job->stages, job->source->format.channels,
                             job->plan.block, job->workers));
    job->chain = render_passes_last(&job->passes)->chain;
    stage_list_discard(job->stages);
    return render_passes_check(&job->passes, job->options);
}

static enum status open_input(struct render_job *job)
{
    const struct render_options *options = job->options;
    TRY(source_open_sound(options->input, options->chain.settings.allow_truncated, &job->source));
    job->sound = job->source;
    job->source->wide_option = "--precision double";
    job->report.length_is_open = job->source->length_is_open;
    TRY(stated_layout_apply(options->layout, job->source->name, &job->source->format));
    TRY(render_read_metadata(options, job->source));
    TRY(open_channels(job));
    TRY(open_part(job));
    job->plan.settings = options->chain.settings;
    job->plan.settings.convolver.precision = choose_precision(job);
    return open_rate(job);
}

static enum status plan_stages(struct render_job *job)
{
    const struct render_options *options = job->options;
    struct stage_settings *settings = &job->plan.settings;
    TRY(workers_create_for_later(job->settings->alone ? 1 : options->chain.threads, &job->workers));
    job->plan.format = job->source->format;
    settings->convolver.frames = job->source->frames;
    settings->convolver.mask_stays = true;
    settings->convolver.block = options->block;
    settings->convolver.workers = job->workers;
    settings->masks = job->settings->masks;
    settings->in_passes = true;
    if (!settings->masks) /* with shared masks, they were announced with the first file */
        stage_list_expect(job->stages, settings, &job->plan.format);
    return STATUS_OK;
}

/* Open the input and make the chain, which reports errors in specs and files. */
static enum status prepare(struct render_job *job)
{
    int64_t lap = lap_begin();
    TRY(open_input(job));
    TRY(plan_stages(job));
    lap_end(LAP_OPEN, lap);
    lap = lap_begin();
    TRY(stage_list_load(job->stages, &job->plan.settings, &job->plan.format));
    lap_end(LAP_MASKS, lap);
    TRY(plan_output(job));
    lap = lap_begin();
    TRY(make_chains(job));
    lap_end(LAP_CHAIN, lap);
    return STATUS_OK;
}

/* Extend the source on both sides by as many frames as the chain needs. */
static enum status lay_boundaries(struct render_job *job)
{
    const struct render_options *options = job->options;
    if (options->boundary == BOUNDARY_ZERO)
        return STATUS_OK;
    if (job->chain->tail_unknown)
        return fail(CAUSE_USAGE,
                    "--edge is for masks and gains: how far a plugin looks back is unknown");
    for (size_t i = 0; i < job->stages->count; i++) {
        const struct stage *stage = &job->stages->stages[i];
        if (stage->ops->no_boundary)
            return fail(CAUSE_USAGE, "%s", stage->ops->no_boundary);
        if (stage->automated)
            return fail(CAUSE_USAGE, "at= cannot be used with --edge");
    }
    job->run.lead = job->chain->tail - job->chain->latency;
    job->run.trail = job->chain->latency;
    struct source *inner = job->source;
    job->source = NULL; /* the boundary owns it, also on failure */
    return (is_double(job) ? source_open_boundary_in_double : source_open_boundary)(
        inner, options->boundary, job->run.lead, job->run.trail, &job->source);
}

static enum status prove(struct render_job *job)
{
    const struct render_options *options = job->options;
    proof_end(&options->proof, job->stages, 0, job->report.totals.frames_out, job->plan.format.rate,
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
    job->run.alone = job->settings->alone || is_brief(job);
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
                       stage_list_is_memoryless(job->stages)};
    TRY(render_open_sink(
        options, job->source, &job->plan.format, job->plan.sound_format,
        engine_frames_out(whole, job->source->frames, options->tail,
                          sound_part_frames(options->until, job->plan.format.rate)),
        &change, &job->sink));
    job->metadata = job->sound->traits.metadata;
    lap_end(LAP_SINK, lap);
    TRY(lay_boundaries(job));
    /* create it now that OUT is writable; later runs have the same chain */
    if (options->save_chain && !*job->save)
        TRY(chain_save_create(options->save_chain, options->force, options->collect, job->stages,
                              job->save));
    /* To run again, the input must be readable again, and no output written yet. */
    struct stat about;
    job->run.stop_late = job->may_run_again && strcmp(options->input, "-") != 0 &&
                         stat(options->input, &about) == 0 && S_ISREG(about.st_mode) &&
                         job->sink->beside;
    progress_begin(&job->progress, job->plan.format.rate, job->settings->shows_progress);
    job->report.scale = 1;
    job->report.loudness = NAN;
    TRY(run_sound(job));
    if (is_too_late(job))
        return STATUS_OK;
    TRY(stage_list_confirm(job->stages));
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

static enum status report_job(struct render_job *job)
{
    const struct render_options *options = job->options;
    struct report *report = &job->report;
    report->input = options->input;
    report->output = options->output;
    report->rate = job->plan.format.rate;
    report->channels = job->plan.format.channels;
    report->channels_in = job->source->format.channels;
    report->layout = job->plan.format.layout;
    report->layout_in = job->source->format.layout;
    report->sound_format = job->plan.sound_format;
    report->stages = job->stages;
    report->chain = &job->passes.whole;
    report->tail = options->tail;
    report->true_peak = job->run.true_peak && isfinite(report->totals.true_peak);
    report->clipped = job->sink->clipped;
    report->precision_given = options->chain.precision_given;
    report->reproducible = job->options->chain.reproducible;
    report->threads = workers_count(job->workers);
    report->metadata = job->metadata;
    return job->settings->report ? job->settings->report(job->settings->context, report)
                                 : STATUS_OK;
}

static enum status render_once(const struct render_options *options, struct stage_list *stages,
                               const struct render_job_settings *settings, bool may_run_again,
                               struct chain_save **save, bool *again)
{
    struct render_job job = {.options = options,
                             .settings = settings,
                             .stages = stages,
                             .may_run_again = may_run_again,
                             .save = save};
    enum status status = prepare(&job);
    if (status == STATUS_OK)
        status = work(&job);
    *again = status == STATUS_OK && is_too_late(&job);
    if (*again)
        stage_list_keep_latencies(stages);
    else if (status == STATUS_OK)
        status = report_job(&job);
    sink_close(job.sink);
    render_passes_free(&job.passes);
    workers_destroy(job.workers);
    source_close(job.source);
    return status;
}

enum status render_job_run(const struct render_options *options, struct stage_list *stages,
                           const struct render_job_settings *settings)
{
    bool again = true;
    struct chain_save *save = NULL;
    enum status status = STATUS_OK;
    for (int run = 1; again && status == STATUS_OK; run++) {
        stage_list_unload(stages);
        status = render_once(options, stages, settings, run < RUNS_MOST, &save, &again);
    }
    stage_list_unload(stages);
    chain_save_destroy(save);
    return status;
}
