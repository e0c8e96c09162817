#include "chain/specs.h"

#include "chain/chain.h"
#include "chain/stage_gain.h"
#include "chain/stage_mask.h"
#include "chain/stage_plugin.h"
#include "chain/stage_spectral.h"

#include <stdlib.h>
#include <string.h>

enum {
    BLOCK_DEFAULT = 1 << 16, /* frames, where no stage has a wish */
    BLOCK_LEAST = 1 << 10,
    BLOCK_SAMPLES_MOST = 1 << 23, /* of all channels: 32 MiB */
};

/* ---- words ---- */

char **specs_split(const char *text)
{
    size_t length = strlen(text), count = 1;
    for (size_t i = 0; i < length; i++)
        count += text[i] == ',';
    char **spec = malloc((count + 1) * sizeof *spec + length + 1);
    if (!spec)
        return NULL;
    char *to = (char *)(spec + count + 1);
    count = 0;
    spec[count++] = to;
    for (const char *from = text; *from; from++) {
        if (from[0] == '\\' && from[1] == ',') {
            *to++ = *++from;
        } else if (*from == ',') {
            *to++ = '\0';
            spec[count++] = to;
        } else {
            *to++ = *from;
        }
    }
    *to = '\0';
    spec[count] = NULL;
    return spec;
}

/* ---- --lv2, --ladspa ---- */

/* The stage is content with any block that the plugin's divides. */
static size_t plugin_stage_grain(const struct stage *stage)
{
    return stage->plugin ? PLUGIN_FILTER_BLOCK : 1;
}

/* ---- the table ---- */

static const struct stage_kind kinds[] = {
    {
        .option = "mask",
        .argument = "MASK",
        .help = "filter with an impulse response: a sound file, text with one tap\n"
                "a line and a column a channel, or one that is made (lowpass:1000;\n"
                "halo mask make --help has all); several masks go in a row.\n"
                "Options follow after commas and take effect in this order:\n"
                "channel=N, trim=, length=, fade= (frames, or 10ms, 0.5s),\n"
                "phase=minimum, delay=, order=lllrrlrr|llrrlrrl (true\n"
                "stereo), map=auto|split|matrix, normalize=peak|energy|l1,\n"
                "invert, gain=DB. Of samples without a header raw=FORMAT, rate=HZ\n"
                "and channels=N tell; folder=FOLDER lets a configuration name files\n"
                "in there",
        .load = stage_mask_load,
        .preferred_block = stage_mask_preferred_block,
        .create = stage_mask_create,
    },
    {
        .option = "gain",
        .argument = "DB",
        .help = "amplify by DB decibels; at=12.5s:gain=-6 (a step) and\n"
                "at=10s-12.5s:gain=-6 (a ramp) change that later",
        .load = stage_gain_load,
        .create = stage_gain_create,
    },
    {
        .option = "lv2",
        .argument = "URI",
        .help = "an LV2 plugin (halo plugins list has all). Options follow after\n"
                "commas: SYMBOL=VALUE of a control (-6dB, 1kHz, a label, on),\n"
                "preset=URI, param:URI=VALUE of a parameter or a path,\n"
                "@state=FOLDER of what --save-chain kept of it,\n"
                "at=12.5s:SYMBOL=VALUE and at=10s-12.5s:SYMBOL=VALUE, a step and\n"
                "a ramp in a file; @map=each or 1:2:0, the channels that its\n"
                "inputs hear. For all stages: @mix=0..1 and @bypass",
        .load = stage_plugin_load,
        .create = stage_plugin_create,
    },
    {
        .option = "ladspa",
        .argument = "LIBRARY:LABEL",
        .help = "a LADSPA plugin; options as for --lv2, without presets and\n"
                "parameters",
        .load = stage_plugin_load,
        .create = stage_plugin_create,
    },
    {
        .option = "spectral",
        .argument = "MASK2D",
        .help = "convolve the spectrogram with a mask of two dimensions: text, a\n"
                "row a line (filters/*.mask2d), or one that is made\n"
                "(gaussian2d:7x7; halo mask make --help has all), or\n"
                "preset=harmonic or percussive: what goes on, or what strikes.\n"
                "Options: size=2048, hop=512, window=hann|hamming|blackman|sine|\n"
                "rectangle, scale=linear|db, mode=magnitude|gain,\n"
                "edge=zero|replicate|reflect, mix=0..1",
        .load = stage_spectral_load,
        .preferred_block = stage_spectral_preferred_block,
        .create = stage_spectral_create,
    },
};
enum { KINDS = sizeof kinds / sizeof *kinds };

const struct stage_kind *stage_kind_at(size_t index)
{
    return index < KINDS ? &kinds[index] : NULL;
}

const struct stage_kind *stage_kind_named(const char *option)
{
    for (size_t i = 0; i < KINDS; i++)
        if (strcmp(kinds[i].option, option) == 0)
            return &kinds[i];
    return NULL;
}

/* ---- lists ---- */

enum status stage_list_add(struct stage_list *list, const struct stage_kind *kind, const char *text,
                           const char *origin)
{
    struct stage *stages = realloc(list->stages, (list->count + 1) * sizeof *stages);
    if (stages)
        list->stages = stages;
    struct stage stage = {
        .kind = kind, .text = strdup(text), .origin = origin ? strdup(origin) : NULL};
    if (!stages || !stage.text || (origin && !stage.origin)) {
        free(stage.text);
        free(stage.origin);
        return fail_memory("a stage");
    }
    stages[list->count++] = stage;
    return STATUS_OK;
}

void stage_list_unload(struct stage_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        struct stage *stage = &list->stages[i];
        mask_destroy(stage->mask);
        stage_plugin_destroy(stage->plugin);
        stage_spectral_destroy(stage->spectral);
        automation_free(&stage->automation);
        automation_free(&stage->mix.automation);
        *stage = (struct stage){.kind = stage->kind,
                                .text = stage->text,
                                .origin = stage->origin,
                                .latency = stage->latency};
    }
}

void stage_list_free(struct stage_list *list)
{
    stage_list_unload(list);
    for (size_t i = 0; i < list->count; i++) {
        free(list->stages[i].text);
        free(list->stages[i].origin);
    }
    free(list->stages);
    *list = (struct stage_list){0};
}

/* Takes out the words that every stage knows. */
static enum status parse_mix_spec(struct stage *stage, char **spec)
{
    enum status status = STATUS_OK;
    char **kept = spec;
    for (char **word = spec; *word && status == STATUS_OK; word++) {
        if (word > spec && stage_mix_is_word(*word))
            status = stage_mix_take(&stage->mix, stage->rate, *word);
        else
            *kept++ = *word;
    }
    *kept = NULL;
    return status;
}

static enum status load_stage(struct stage *stage, char **spec, const struct stream_format *format,
                              const struct stage_settings *settings)
{
    stage->inputs = format->channels;
    stage->rate = format->rate;
    stage->live = settings->convolver.live;
    stage->streamed = settings->streamed;
    stage->replayed = settings->replayed;
    stage->held_back = settings->held_back;
    enum status status = parse_mix_spec(stage, spec);
    if (status == STATUS_OK)
        status = stage->kind->load(stage, spec, format, settings);
    if (status == STATUS_OK && stage->streamed &&
        stage->automation.count + stage->mix.automation.count > 0)
        status = fail(STATUS_USAGE, "at= is for files: a stream has no beginning to count from");
    return status;
}

enum status stage_list_load(struct stage_list *list, const struct stage_settings *settings,
                            struct stream_format *format)
{
    for (size_t i = 0; i < list->count; i++) {
        struct stage *stage = &list->stages[i];
        char **spec = specs_split(stage->text);
        if (!spec)
            return fail_memory("a stage");
        const char *before = log_prefix(stage->origin);
        enum status status = load_stage(stage, spec, format, settings);
        log_prefix(before);
        free(spec);
        if (status != STATUS_OK)
            return status;
        format->channels = stage->outputs;
    }
    return STATUS_OK;
}

size_t stage_list_block(const struct stage_list *list, size_t channels, struct workers *workers,
                        uint64_t most)
{
    size_t widest = channels, block = 0, grain = 1;
    for (size_t i = 0; i < list->count; i++)
        if (list->stages[i].outputs > widest)
            widest = list->stages[i].outputs;
    if (most > BLOCK_SAMPLES_MOST / widest)
        most = BLOCK_SAMPLES_MOST / widest;
    if (most < BLOCK_LEAST)
        most = BLOCK_LEAST;
    for (size_t i = 0; i < list->count; i++) {
        const struct stage *stage = &list->stages[i];
        size_t preferred = stage->kind->preferred_block ? stage->kind->preferred_block(stage, workers, (size_t)most) : 0;
        if (preferred > block)
            block = preferred;
        if (plugin_stage_grain(stage) > grain)
            grain = plugin_stage_grain(stage);
    }
    if (block == 0)
        block = most < BLOCK_DEFAULT ? (size_t)most : BLOCK_DEFAULT;
    return block > grain ? block / grain * grain : grain;
}

/* A stage with a mix is in a filter of its own; so is a plugin of a stream, which may be left out.
 */
static enum status wrap(struct stage *stage, size_t number)
{
    struct stage_mix_settings settings = {.spec = &stage->mix,
                                          .rate = stage->rate,
                                          .before = stage->before,
                                          .number = number,
                                          .live = stage->live};
    if (!stage->mix.given && !(stage->plugin && stage->streamed))
        return STATUS_OK;
    return stage_mix_create(stage->filter, &settings, &stage->mixed);
}

enum status stage_list_create(struct stage_list *list, size_t channels, size_t block,
                              struct workers *workers, struct filter **result)
{
    struct filter *chain;
    enum status status = chain_create(channels, block, &chain);
    if (status != STATUS_OK)
        return status;
    for (size_t i = 0; i < list->count && status == STATUS_OK; i++) {
        struct stage *stage = &list->stages[i];
        stage->before = chain->latency;
        stage->tail_before = chain->tail;
        stage->tail_unknown = chain->tail_unknown;
        status = stage->kind->create(stage, block, workers, &stage->filter);
        if (status == STATUS_OK)
            status = wrap(stage, i + 1);
        if (status == STATUS_OK)
            status = chain_append(chain, stage->mixed ? stage->mixed : stage->filter);
    }
    if (status != STATUS_OK) {
        filter_destroy(chain);
        return status;
    }
    *result = chain;
    return STATUS_OK;
}
