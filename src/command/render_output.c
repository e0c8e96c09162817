#include "command/render_output.h"

#include <stdio.h>
#include <string.h>

enum status render_open_sink(const struct render_options *options, const struct source *source,
                             const struct stream_format *format, int sound_format, int64_t frames,
                             struct sink **sink)
{
    const struct sink_settings settings = {
        .path = options->output,
        .format = *format,
        .sound_format = sound_format,
        .traits = &source->traits,
        .frames = frames,
        .dither = options->dither,
        .force = options->force,
    };
    return sink_open_sound(&settings, sink);
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
