/* halo render: one sound, a replay, or many sounds. */
#include "base/failure_json.h"
#include "base/laps.h"
#include "base/plural.h"
#include "base/stop.h"
#include "chain/report.h"
#include "chain/stage_draw.h"
#include "live/session/replay.h"
#include "render/render_job.h"
#include "render/render_many.h"
#include "sound/file/sound_format.h"
#include "sound/metadata/metadata_json.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool to_standard_output(const struct render_options *options)
{
    struct stat output, standard;
    return strcmp(options->output, "-") == 0 ||
           (stat(options->output, &output) == 0 && fstat(STDOUT_FILENO, &standard) == 0 &&
            output.st_dev == standard.st_dev && output.st_ino == standard.st_ino &&
            !S_ISCHR(output.st_mode));
}

static enum status print_one(void *context, const struct report *report)
{
    const struct render_options *options = context;
    report_print(report);
    if (!options->json)
        return STATUS_OK;
    return report_print_json(report, to_standard_output(options) ? stderr : stdout);
}

static enum status render_sound(struct render_options *options)
{
    const struct render_job_settings settings = {.shows_progress =
                                                     options->verbosity != VERBOSITY_QUIET,
                                                 .report = print_one,
                                                 .context = options};
    TRY(stage_list_draw(&options->chain.stages, options->seed, ""));
    return render_job_run(options, &options->chain.stages, &settings);
}

/* ---- a replay ---- */

struct replay_job {
    struct replay replay;
    struct live_chain chain;
    struct source *source;
    struct sink *sink;
};

static enum status check_source(const struct replay *replay, const struct source *source)
{
    const struct stream_format *format = &source->format;
    if (format->rate == replay->format.rate && format->channels == replay->format.channels)
        return STATUS_OK;
    return fail(CAUSE_OTHER,
                "%s does not belong to %s: it has %zu channel%s at %u Hz, the log %zu at %u Hz",
                source->name, replay->path, format->channels, plural_s(format->channels),
                format->rate, replay->format.channels, replay->format.rate);
}

static enum status replay_sound(struct render_options *options, struct replay_job *job)
{
    int sound_format;
    uint64_t frames = 0;
    TRY(replay_load(&job->replay, options->replay, &options->chain));
    TRY(source_open_sound(options->input, options->chain.settings.allow_truncated, &job->source));
    TRY(render_read_metadata(options, job->source));
    TRY(check_source(&job->replay, job->source));
    TRY(stated_layout_apply(options->layout, job->source->name, &job->source->format));
    if (options->layout)
        job->replay.request.format.layout = job->source->format.layout;
    job->replay.request.proof = &options->proof;
    job->replay.request.frames = job->source->frames;
    TRY(live_chain_init(&job->chain, &job->replay.request));
    struct stream_format format = job->source->format;
    stream_format_set_channels(&format, job->chain.filter->outputs);
    TRY(sound_format_choose(options->output, &options->request, &job->source->traits, &format,
                            &sound_format));
    struct metadata_change change = {0};
    TRY(render_open_sink(options, job->source, &format, sound_format, job->source->frames, &change,
                         &job->sink));
    struct proof_result proof = {0};
    TRY(replay_run(&job->replay, &job->chain, job->source, job->sink, &frames, &proof));
    TRY(render_judge(options, job->sink, &proof));
    TRY(render_end_metadata(options, job->source, frames, &change, job->sink));
    TRY(sink_commit(job->sink));
    note("%s: %.3f s rendered as they were heard, %zu event%s", options->output,
         (double)frames / (double)job->replay.format.rate, job->replay.event_count,
         plural_s(job->replay.event_count));
    if (job->source->traits.metadata)
        metadata_note_losses(job->source->traits.metadata, options->output);
    proof_print(&proof);
    report_clipping(options->output, job->sink->clipped);
    return STATUS_OK;
}

/* --replay LOG: a live recording rendered as it was heard. */
static enum status render_replay(struct render_options *options)
{
    struct replay_job job = {0};
    enum status status = replay_sound(options, &job);
    sink_close(job.sink);
    live_chain_free(&job.chain);
    source_close(job.source);
    replay_free(&job.replay);
    return status;
}

/* ---- the command ---- */

enum status render_run(void *context)
{
    struct render_options *options = context;
    TRY(render_options_check(options));
    /* If the report goes to standard error, notes are off, so that they do not mix. */
    bool alone = options->json && !options->out_dir && to_standard_output(options);
    failure_json_to(alone ? stderr : stdout);
    note_verbosity(alone ? VERBOSITY_SILENT : options->verbosity);
    laps_begin(options->verbosity == VERBOSITY_VERBOSE);
    convolver_expect(&options->chain.settings.convolver, NULL);
    stop_watch();
    enum status status = options->out_dir  ? render_many(options)
                         : options->replay ? render_replay(options)
                                           : render_sound(options);
    laps_note();
    convolver_settle();
    return status;
}
