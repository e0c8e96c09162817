#include "command/render_replay.h"

#include "live/replay.h"

static enum status check_source(const struct replay *replay, const struct source *source)
{
    const struct stream_format *format = &source->format;
    if (format->rate == replay->format.rate && format->channels == replay->format.channels)
        return STATUS_OK;
    return fail(STATUS_FAILED,
                "%s does not belong to %s: it has %zu channels at %u Hz, the log %zu at %u Hz",
                source->name, replay->path, format->channels, format->rate, replay->format.channels,
                replay->format.rate);
}

static enum status open_sink(const struct render_options *options, const struct source *source,
                             const struct live_chain *chain, struct sink **sink)
{
    int sound_format;
    const struct stream_format format = {.rate = source->format.rate,
                                         .channels = chain->filter->outputs};
    enum status status = sound_format_choose(options->output, &options->request, &source->traits,
                                             &format, &sound_format);
    if (status != STATUS_OK)
        return status;
    const struct sink_settings settings = {
        .path = options->output,
        .input = options->input,
        .format = format,
        .sound_format = sound_format,
        .traits = &source->traits,
        .frames = source->frames,
        .dither = options->dither,
        .force = options->force,
    };
    return sink_open_sound(&settings, sink);
}

enum status render_replay(const struct render_options *options)
{
    struct replay replay;
    struct live_chain chain = {0};
    struct source *source = NULL;
    struct sink *sink = NULL;
    uint64_t frames = 0;
    enum status status = replay_load(&replay, options->replay, &options->chain);
    if (status == STATUS_OK)
        status =
            source_open_sound(options->input, options->chain.settings.allow_truncated, &source);
    if (status == STATUS_OK)
        status = check_source(&replay, source);
    if (status == STATUS_OK)
        status = live_chain_init(&chain, &replay.request);
    if (status == STATUS_OK)
        status = open_sink(options, source, &chain, &sink);
    if (status == STATUS_OK)
        status = replay_run(&replay, &chain, source, sink, &frames);
    if (status == STATUS_OK)
        status = sink_commit(sink);
    if (status == STATUS_OK)
        note("%s: %.3f s as they were heard, %zu events", options->output,
             (double)frames / (double)replay.format.rate, replay.event_count);
    sink_close(sink);
    live_chain_free(&chain);
    source_close(source);
    replay_free(&replay);
    return status;
}
