/* A filter chain, which PipeWire 0.3.65 and later play: a copy for each input, a convolver for each
 * path and mixers for each output. */
#include "mask/mask_write_pipewire.h"

#include <string.h>

enum {
    CHANNELS_MOST = 64, /* PipeWire's */
    MIXER_INPUTS = 8,
    MORE_INPUTS = MIXER_INPUTS - 1, /* of a mixer after the first, whose first is the one before */
};

enum status mask_write_pipewire_check(const struct mask *mask)
{
    if (mask->inputs <= CHANNELS_MOST && mask->outputs <= CHANNELS_MOST)
        return STATUS_OK;
    return fail(CAUSE_UNSUPPORTED, "mask %s has more than %d channels, PipeWire's most", mask->name,
                CHANNELS_MOST);
}

/* The mixer of an output's path, counted from 0. */
static size_t mixer_of(size_t index)
{
    return index < MIXER_INPUTS ? 0 : 1 + (index - MIXER_INPUTS) / MORE_INPUTS;
}

/* Counted from 1, as PipeWire does. */
static size_t mixer_input(size_t index)
{
    return index < MIXER_INPUTS ? index + 1 : 2 + (index - MIXER_INPUTS) % MORE_INPUTS;
}

static size_t last_mixer(const struct mask *mask, size_t output)
{
    size_t count = 0;
    for (size_t p = 0; p < mask->path_count; p++)
        count += mask->paths[p].output == output;
    return count > 0 ? mixer_of(count - 1) : 0;
}

static void print_nodes(const struct mask *mask, const char *stem, FILE *stream)
{
    fprintf(stream, "      nodes = [\n");
    for (size_t i = 0; i < mask->inputs; i++)
        fprintf(stream, "        { type = builtin label = copy name = in%zu }\n", i + 1);
    for (size_t p = 0; p < mask->path_count; p++)
        fprintf(stream,
                "        { type = builtin label = convolver name = path%zu\n"
                "          config = { filename = \"%s.wav\" channel = %zu } }\n",
                p + 1, stem, mask->paths[p].column);
    for (size_t o = 0; o < mask->outputs; o++)
        for (size_t m = 0; m <= last_mixer(mask, o); m++)
            fprintf(stream, "        { type = builtin label = mixer name = out%zu.%zu }\n", o + 1,
                    m);
    fprintf(stream, "      ]\n");
}

static void print_links(const struct mask *mask, FILE *stream)
{
    fprintf(stream, "      links = [\n");
    for (size_t p = 0; p < mask->path_count; p++)
        fprintf(stream, "        { output = \"in%zu:Out\" input = \"path%zu:In\" }\n",
                mask->paths[p].input + 1, p + 1);
    for (size_t o = 0; o < mask->outputs; o++) {
        size_t index = 0;
        for (size_t m = 1; m <= last_mixer(mask, o); m++)
            fprintf(stream, "        { output = \"out%zu.%zu:Out\" input = \"out%zu.%zu:In 1\" }\n",
                    o + 1, m - 1, o + 1, m);
        for (size_t p = 0; p < mask->path_count; p++)
            if (mask->paths[p].output == o) {
                fprintf(stream,
                        "        { output = \"path%zu:Out\" input = \"out%zu.%zu:In %zu\" }\n",
                        p + 1, o + 1, mixer_of(index), mixer_input(index));
                index++;
            }
    }
    fprintf(stream, "      ]\n");
}

static void print_ends(const struct mask *mask, FILE *stream)
{
    fprintf(stream, "      inputs = [");
    for (size_t i = 0; i < mask->inputs; i++)
        fprintf(stream, " \"in%zu:In\"", i + 1);
    fprintf(stream, " ]\n      outputs = [");
    for (size_t o = 0; o < mask->outputs; o++)
        fprintf(stream, " \"out%zu.%zu:Out\"", o + 1, last_mixer(mask, o));
    fprintf(stream, " ]\n");
}

static void print_channels(size_t channels, FILE *stream)
{
    static const char *const positions[] = {
        [1] = " MONO",
        [2] = " FL FR",
        [4] = " FL FR RL RR",
        [6] = " FL FR FC LFE RL RR",
        [8] = " FL FR FC LFE RL RR SL SR",
    };
    bool is_known = channels < sizeof positions / sizeof *positions && positions[channels];
    fprintf(stream, "        audio.channels = %zu\n        audio.position = [%s", channels,
            is_known ? positions[channels] : "");
    for (size_t c = 0; !is_known && c < channels; c++)
        fprintf(stream, " AUX%zu", c);
    fprintf(stream, " ]\n");
}

void mask_write_pipewire(const struct mask *mask, const char *stem, bool is_double, FILE *stream)
{
    (void)is_double; /* the header of a WAV says it */
    const char *slash = strrchr(stem, '/'), *name = slash ? slash + 1 : stem;
    fprintf(stream,
            "# Written by halo, for sound at %u Hz. In ~/.config/pipewire/pipewire.conf.d it is a\n"
            "# sink after PipeWire is restarted. It names its WAV where that is now.\n"
            "context.modules = [\n  { name = libpipewire-module-filter-chain\n    args = {\n"
            "      filter.graph = {\n",
            mask->rate);
    print_nodes(mask, stem, stream);
    print_links(mask, stream);
    print_ends(mask, stream);
    fprintf(stream,
            "      }\n      node.description = \"halo: %s\"\n      capture.props = {\n"
            "        node.name = \"halo_input.%s\"\n        media.class = Audio/Sink\n",
            name, name);
    print_channels(mask->inputs, stream);
    fprintf(stream,
            "      }\n      playback.props = {\n        node.name = \"halo_output.%s\"\n"
            "        node.passive = true\n",
            name);
    print_channels(mask->outputs, stream);
    fprintf(stream, "      }\n    }\n  }\n]\n");
}
