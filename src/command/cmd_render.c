#include "base/monotonic.h"
#include "base/progress.h"
#include "base/stop.h"
#include "base/workers.h"
#include "chain/chain_save.h"
#include "chain/report.h"
#include "command/render_options.h"
#include "command/render_replay.h"
#include "sound/engine.h"
#include "sound/gain.h"
#include "sound/port.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RUNS_MOST = 4 }; /* where a plugin tells its latency late, and later still */

struct job {
    const struct render_options *options;
    struct source *source;
    struct workers *workers;
    struct filter *chain;
    struct sink *sink;
    struct stream_format format; /* of the output */
    int sound_format;
    struct engine_run_settings run;
    bool may_run_again;
    struct chain_save **save; /* of all runs over this sound; what it points to may be NULL */
    struct report report;
    struct progress progress;
};

static uint64_t frames_to_come(const struct source *source, const struct stage_list *stages)
{
    if (source->frames == FRAMES_UNKNOWN)
        return UINT64_MAX;
    uint64_t frames = (uint64_t)source->frames;
    for (size_t i = 0; i < stages->count; i++)
        frames += stage_describe(&stages->stages[i]).taps;
    return frames;
}

/* Everything up to the chain: what is wrong with the words or files shows here. */
static enum status prepare(struct job *job, struct render_options *options)
{
    enum status status =
        source_open_sound(options->input, options->chain.settings.allow_truncated, &job->source);
    if (status != STATUS_OK)
        return status;
    job->format = job->source->format;
    options->chain.settings.convolver.frames = job->source->frames;
    status = stage_list_load(&options->chain.stages, &options->chain.settings, &job->format);
    if (status == STATUS_OK)
        status = sound_format_choose(options->output, &options->request, &job->source->traits,
                                     &job->format, &job->sound_format);
    if (status == STATUS_OK)
        status = workers_create(options->chain.threads, &job->workers);
    if (status != STATUS_OK)
        return status;
    size_t channels = job->source->format.channels;
    size_t block = stage_list_block(&options->chain.stages, channels, job->workers,
                                    frames_to_come(job->source, &options->chain.stages));
    if (options->block)
        block = options->block;
    status = stage_list_create(&options->chain.stages, channels, block, job->workers, &job->chain);
    if (status == STATUS_OK)
        stage_list_discard(&options->chain.stages);
    return status;
}

static enum status open_sink(struct job *job)
{
    const struct render_options *options = job->options;
    struct sink_settings settings = {
        .path = options->output,
        .input = options->input,
        .format = job->format,
        .sound_format = job->sound_format,
        .traits = &job->source->traits,
        .frames = engine_frames_out(job->chain, job->source->frames, options->tail),
        .dither = options->dither,
        .force = options->force,
    };
    return sink_open_sound(&settings, &job->sink);
}

/* Once OUT is known to be writable, and once: a further run is over the same chain. */
static enum status save_chain(const struct job *job)
{
    const struct render_options *options = job->options;
    if (!options->save_chain || *job->save)
        return STATUS_OK;
    return chain_save_create(options->save_chain, options->force, &options->chain.stages,
                             job->save);
}

/* The edges lie around the source, as far as the chain looks. */
static enum status lay_boundaries(struct job *job)
{
    const struct render_options *options = job->options;
    if (options->boundary == BOUNDARY_ZERO)
        return STATUS_OK;
    if (job->chain->tail_unknown)
        return fail(STATUS_USAGE,
                    "--edge is for masks and gains: how far a plugin looks back is not "
                    "known");
    for (size_t i = 0; i < options->chain.stages.count; i++) {
        const struct stage *stage = &options->chain.stages.stages[i];
        if (stage->ops->no_boundary)
            return fail(STATUS_USAGE, "%s", stage->ops->no_boundary);
        if (stage->automated)
            return fail(STATUS_USAGE, "at= does not go with --edge");
    }
    job->run.lead = job->chain->tail - job->chain->latency;
    job->run.trail = job->chain->latency;
    struct source *inner = job->source;
    job->source = NULL; /* the edge's from here, also when it fails */
    return source_open_boundary(inner, options->boundary, job->run.lead, job->run.trail, &job->source);
}

/* The sound would come late: a plugin told of its latency only while it ran. */
static bool is_too_late(const struct job *job)
{
    return job->run.stop_late && job->chain->late > 0;
}

static enum status run_once(struct job *job)
{
    return engine_run(job->chain, job->source, job->sink, &job->run, &job->report.totals);
}

/* Two passes: one to know the peak, one to scale to it. */
static enum status run_normalized(struct job *job)
{
    struct sink *spool = NULL;
    struct source *again = NULL;
    struct filter *gain = NULL;
    struct engine_totals totals = {0};
    unsigned bits = sound_format_bits(job->sound_format);
    double most = bits ? 1 - ldexp(1, 1 - (int)bits) : INFINITY; /* an integer format's */
    enum status status =
        spool_open(job->sink->beside, job->source, job->format.channels, &spool, &again);
    if (status == STATUS_OK)
        status = engine_run(job->chain, job->source, spool, &job->run, &job->report.totals);
    if (status == STATUS_OK)
        status = sink_commit(spool);
    if (is_too_late(job))
        goto done;
    double peak = job->report.totals.peak;
    if (status == STATUS_OK && peak == 0)
        note("the sound is silent: there is nothing to normalize");
    job->report.scale = peak > 0 ? fmin(audio_from_db(job->options->peak_db), most) / peak : 1;
    if (status == STATUS_OK)
        status = gain_create(job->format.channels, 1 << 14, job->report.scale, &gain);
    if (status == STATUS_OK) {
        struct engine_run_settings second = {
            .tail = TAIL_NONE,
            .true_peak = job->run.true_peak,
            .progress = job->run.progress,
            .progress_context = job->run.progress_context,
        };
        again->frames = (int64_t)job->report.totals.frames_out;
        status = engine_run(gain, again, job->sink, &second, &totals);
        job->report.totals.peak = totals.peak;
        job->report.totals.true_peak = totals.true_peak;
    }
done:
    filter_destroy(gain);
    source_close(again);
    sink_close(spool);
    return status;
}

/* The sound can be read again, and nothing of the output has gone out. */
static bool can_run_again(const struct job *job)
{
    struct stat input;
    return strcmp(job->options->input, "-") != 0 && stat(job->options->input, &input) == 0 &&
           S_ISREG(input.st_mode) && job->sink->beside;
}

static enum status work(struct job *job)
{
    const struct render_options *options = job->options;
    job->run.tail = options->tail;
    job->run.until = options->until;
    job->run.true_peak = options->verbosity == VERBOSITY_VERBOSE;
    job->run.progress = progress_update;
    job->run.progress_context = &job->progress;
    enum status status = open_sink(job);
    if (status == STATUS_OK)
        status = lay_boundaries(job);
    if (status == STATUS_OK)
        status = save_chain(job);
    job->run.stop_late = job->may_run_again && status == STATUS_OK && can_run_again(job);
    progress_begin(&job->progress, job->format.rate, options->verbosity != VERBOSITY_QUIET);
    job->report.scale = 1;
    if (status == STATUS_OK)
        status = (options->normalize ? run_normalized : run_once)(job);
    if (status == STATUS_OK && !is_too_late(job) && *job->save)
        status = chain_save_keep(*job->save);
    if (status == STATUS_OK && !is_too_late(job))
        status = sink_commit(job->sink);
    job->report.seconds = monotonic_seconds() - job->progress.start;
    return status;
}

static bool to_standard_output(const struct render_options *options)
{
    struct stat output, standard;
    return strcmp(options->output, "-") == 0 ||
           (stat(options->output, &output) == 0 && fstat(STDOUT_FILENO, &standard) == 0 &&
            output.st_dev == standard.st_dev && output.st_ino == standard.st_ino &&
            !S_ISCHR(output.st_mode));
}

static enum status print_report(struct job *job)
{
    const struct render_options *options = job->options;
    struct report *report = &job->report;
    report->input = options->input;
    report->output = options->output;
    report->rate = job->format.rate;
    report->channels = job->format.channels;
    report->channels_in = job->source->format.channels;
    report->sound_format = job->sound_format;
    report->stages = &options->chain.stages;
    report->chain = job->chain;
    report->tail = options->tail;
    report->true_peak = job->run.true_peak;
    report->clipped = job->sink->clipped;
    report->threads = workers_count(job->workers);
    report_print(report);
    if (!options->json)
        return STATUS_OK;
    return report_print_json(report, to_standard_output(options) ? stderr : stdout);
}

static enum status render_once(struct render_options *options, bool may_run_again,
                               struct chain_save **save, bool *again)
{
    struct job job = {.options = options, .may_run_again = may_run_again, .save = save};
    enum status status = prepare(&job, options);
    if (status == STATUS_OK)
        status = work(&job);
    *again = status == STATUS_OK && is_too_late(&job);
    if (*again)
        stage_list_keep_latencies(&options->chain.stages);
    else if (status == STATUS_OK)
        status = print_report(&job);
    sink_close(job.sink);
    filter_destroy(job.chain);
    workers_destroy(job.workers);
    source_close(job.source);
    return status;
}

static enum status render_sound(struct render_options *options)
{
    bool again = true;
    struct chain_save *save = NULL;
    enum status status = STATUS_OK;
    for (int run = 1; again && status == STATUS_OK; run++) {
        stage_list_unload(&options->chain.stages);
        status = render_once(options, run < RUNS_MOST, &save, &again);
    }
    chain_save_destroy(save);
    return status;
}

enum status render_run(void *context)
{
    struct render_options *options = context;
    enum status status = render_options_check(options);
    if (status != STATUS_OK)
        return status;
    /* A report on standard error stands alone there. */
    bool alone = options->json && to_standard_output(options);
    note_verbosity(alone ? VERBOSITY_QUIET : options->verbosity);
    stop_watch();
    return options->replay ? render_replay(options) : render_sound(options);
}
