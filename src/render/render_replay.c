/* halo render --replay LOG: a live recording rendered as it was heard. */
#include "base/plural.h"
#include "chain/report.h"
#include "live/replay.h"
#include "render/render_output.h"
#include "sound/metadata_json.h"
#include "sound/sound_format.h"

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

enum status render_replay(struct render_options *options)
{
    struct replay_job job = {0};
    enum status status = replay_sound(options, &job);
    sink_close(job.sink);
    live_chain_free(&job.chain);
    source_close(job.source);
    replay_free(&job.replay);
    return status;
}
