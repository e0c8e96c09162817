#include "render/render_output.h"

#include "base/build_info.h"
#include "sound/metadata_json.h"

#include <stdio.h>
#include <string.h>

/* The tags that a file has for it. */
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
