#include "render/render_output.h"

#include "base/build_info.h"
#include "sound/metadata_json.h"

#include <stdio.h>
#include <string.h>

enum status render_read_metadata(const struct render_options *options, struct source *source)
{
    bool none = strcmp(options->metadata, "none") == 0;
    if (none) {
        metadata_destroy(source->traits.metadata);
        source->traits.metadata = NULL;
        return STATUS_OK;
    }
    TRY(source_read_metadata(source));
    if (strcmp(options->metadata, "keep") == 0)
        return STATUS_OK;
    return metadata_load(options->metadata, source->traits.metadata);
}

enum status render_open_sink(const struct render_options *options, const struct source *source,
                             const struct stream_format *format, int sound_format, int64_t frames,
                             struct metadata_change *change, struct sink **sink)
{
    struct sound_metadata *metadata = source->traits.metadata;
    const struct sink_settings settings = {
        .path = options->output,
        .format = *format,
        .sound_format = sound_format,
        .metadata = metadata,
        .frames = frames,
        .dither = options->dither,
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
    if (metadata)
        TRY(metadata_adjust(metadata, change));
    TRY(sink_open_sound(&settings, sink));
    return metadata ? metadata_conclude(metadata) : STATUS_OK;
}

/* What differs from the truth is not committed. */
enum status render_judge(const struct render_options *options, const struct sink *sink,
                         const struct proof_result *result)
{
    char consequence[300];
    snprintf(consequence, sizeof consequence,
             sink->beside ? "%s is not written" : "what %s got cannot be trusted",
             strcmp(options->output, "-") == 0 ? "standard output" : options->output);
    return proof_judge(result, consequence);
}
