#include "specs.h"

#include "chain.h"
#include "convolver.h"
#include "gain.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    BLOCK_DEFAULT = 1 << 16, /* frames, where no stage has a wish */
    BLOCK_LEAST = 1 << 10,
    BLOCK_SAMPLES_MOST = 1 << 23, /* of all channels: 32 MiB */
    DB_MOST = 300,
};

/* ---- words ---- */

/* Split at commas, in place; `\,` stands for a comma. NULL-terminated, one allocation. */
static char **split_words(const char *text)
{
    size_t length = strlen(text), count = 1;
    for (size_t i = 0; i < length; i++)
        count += text[i] == ',';
    char **words = malloc((count + 1) * sizeof *words + length + 1);
    if (!words)
        return NULL;
    char *to = (char *)(words + count + 1);
    count = 0;
    words[count++] = to;
    for (const char *from = text; *from; from++) {
        if (from[0] == '\\' && from[1] == ',') {
            *to++ = *++from;
        } else if (*from == ',') {
            *to++ = '\0';
            words[count++] = to;
        } else {
            *to++ = *from;
        }
    }
    *to = '\0';
    words[count] = NULL;
    return words;
}

static const char *value_of(const char *word, const char *key)
{
    size_t length = strlen(key);
    return strncmp(word, key, length) == 0 && word[length] == '=' ? word + length + 1 : NULL;
}

enum status specs_parse_db(const char *text, const char *what, double *db)
{
    char *end;
    double value = strtod(text, &end);
    bool number = end != text;
    if (number && strcasecmp(end, "dB") == 0)
        end += 2;
    if (!number || *end || !isfinite(value) || fabs(value) > DB_MOST)
        return fail(STATUS_USAGE, "%s must be a number of dB from -%d to %d, such as -6, not '%s'",
                    what, DB_MOST, DB_MOST, text);
    *db = value;
    return STATUS_OK;
}

/* ---- --mask ---- */

struct mask_options {
    double gain;    /* dB */
    size_t channel; /* 0: all */
    enum mask_order order;
    enum mask_map map;
};

static enum status parse_channel(const char *text, size_t *channel)
{
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (errno || end == text || *end || value == 0 || strchr(text, '-'))
        return fail(STATUS_USAGE, "channel= must be a whole number from 1 on, not '%s'", text);
    *channel = value;
    return STATUS_OK;
}

static enum status parse_mask_option(const char *word, struct mask_options *options)
{
    const char *value;
    if ((value = value_of(word, "gain")))
        return specs_parse_db(value, "gain=", &options->gain);
    if ((value = value_of(word, "channel")))
        return parse_channel(value, &options->channel);
    if ((value = value_of(word, "order"))) {
        if (strcasecmp(value, "lllrrlrr") == 0)
            options->order = MASK_ORDER_LL_LR_RL_RR;
        else if (strcasecmp(value, "llrrlrrl") == 0)
            options->order = MASK_ORDER_LL_RR_LR_RL;
        else
            return fail(STATUS_USAGE, "order= is lllrrlrr or llrrlrrl, not '%s'", value);
        return STATUS_OK;
    }
    if ((value = value_of(word, "map"))) {
        if (strcmp(value, "auto") == 0)
            options->map = MASK_MAP_AUTO;
        else if (strcmp(value, "split") == 0)
            options->map = MASK_MAP_SPLIT;
        else if (strcmp(value, "matrix") == 0)
            options->map = MASK_MAP_MATRIX;
        else
            return fail(STATUS_USAGE, "map= is auto, split or matrix, not '%s'", value);
        return STATUS_OK;
    }
    return fail(
        STATUS_USAGE,
        "unknown mask option '%s'; there are gain=DB, channel=N, "
        "order=lllrrlrr|llrrlrrl and map=auto|split|matrix (a comma in a name is written \\,)",
        word);
}

static enum status fit_mask(struct mask *mask, const struct mask_options *options,
                            const struct stream_format *format,
                            const struct stage_settings *settings)
{
    enum status status = STATUS_OK;
    if (options->channel)
        status = mask_select(mask, options->channel);
    if (status == STATUS_OK && options->gain != 0)
        mask_scale(mask, audio_from_db(options->gain));
    mask_align(mask, settings->align);
    if (status == STATUS_OK && mask->rate && mask->rate != format->rate) {
        size_t taps = mask->taps;
        uint32_t rate = mask->rate;
        status = mask_resample(mask, format->rate);
        if (status == STATUS_OK)
            note("mask %s is resampled from %u to %u Hz (%zu to %zu taps)", mask->name, rate,
                 format->rate, taps, mask->taps);
    }
    if (status == STATUS_OK)
        status = mask_route(mask, format->channels, options->order, options->map);
    return status;
}

static enum status load_mask(char **words, const struct stream_format *format,
                             const struct stage_settings *settings, struct mask **mask)
{
    struct mask_options options = {0};
    for (char **word = words + 1; *word; word++) {
        enum status status = parse_mask_option(*word, &options);
        if (status != STATUS_OK)
            return status;
    }
    enum status status = mask_load(words[0], settings->allow_truncated, mask);
    if (status == STATUS_OK)
        status = fit_mask(*mask, &options, format, settings);
    return status;
}

static void note_mask(const struct mask *mask)
{
    note_detail("mask %s: %zu channels, %zu taps, time zero at tap %zu", mask->name, mask->columns,
                mask->taps, mask->origin);
    for (size_t p = 0; p < mask->path_count; p++)
        note_detail("  input %zu -> mask channel %zu -> output %zu", mask->paths[p].input + 1,
                    mask->paths[p].column + 1, mask->paths[p].output + 1);
}

static enum status mask_stage_load(struct stage *stage, char **words,
                                   const struct stream_format *format,
                                   const struct stage_settings *settings)
{
    stage->convolver = settings->convolver;
    stage->convolver.rate = format->rate;
    enum status status = load_mask(words, format, settings, &stage->mask);
    if (status != STATUS_OK)
        return status;
    stage->outputs = stage->mask->outputs;
    note_mask(stage->mask);
    return STATUS_OK;
}

enum status specs_load_mask(const char *text, const struct stream_format *format,
                            const struct stage_settings *settings, struct mask **result)
{
    char **words = split_words(text);
    if (!words)
        return fail_memory("a mask");
    struct mask *mask = NULL;
    enum status status = load_mask(words, format, settings, &mask);
    free(words);
    if (status != STATUS_OK) {
        mask_destroy(mask);
        return status;
    }
    note_mask(mask);
    *result = mask;
    return STATUS_OK;
}

enum status specs_mask_file(const char *text, char **file)
{
    char **words = split_words(text);
    *file = words ? strdup(words[0]) : NULL;
    free(words);
    return *file ? STATUS_OK : fail_memory("a mask");
}

static size_t mask_stage_wish(const struct stage *stage, struct workers *workers, size_t most)
{
    struct convolver_settings settings = stage->convolver;
    settings.workers = workers;
    return convolver_wish(&settings, stage->mask, most);
}

static enum status mask_stage_create(struct stage *stage, size_t block, struct workers *workers,
                                     struct filter **filter)
{
    struct convolver_settings settings = stage->convolver;
    settings.block = block;
    settings.workers = workers;
    enum status status = convolver_create(&settings, stage->mask, filter);
    if (status != STATUS_OK)
        return status;
    note_detail("mask %s: backend %s, %s, blocks of %zu frames on %zu threads", stage->mask->name,
                convolver_backend(*filter), convolver_algorithm(*filter), block,
                workers_count(workers));
    if (*convolver_reason(*filter))
        note_detail("mask %s: auto took that backend: %s", stage->mask->name,
                    convolver_reason(*filter));
    return STATUS_OK;
}

/* ---- --gain ---- */

static enum status gain_stage_load(struct stage *stage, char **words,
                                   const struct stream_format *format,
                                   const struct stage_settings *settings)
{
    (void)settings;
    double db = 0;
    enum status status = specs_parse_db(words[0], "--gain", &db);
    if (status == STATUS_OK && words[1])
        status = fail(STATUS_USAGE, "--gain has no option '%s'", words[1]);
    if (status != STATUS_OK)
        return status;
    stage->factor = audio_from_db(db);
    stage->outputs = format->channels;
    return STATUS_OK;
}

static enum status gain_stage_create(struct stage *stage, size_t block, struct workers *workers,
                                     struct filter **filter)
{
    (void)workers;
    return gain_create(stage->inputs, block, stage->factor, filter);
}

/* ---- the table ---- */

static const struct stage_kind kinds[] = {
    {
        .option = "mask",
        .argument = "MASK",
        .help = "filter with an impulse response: a sound file, or text with one\n"
                "tap a line and a column a channel; several masks go in a row.\n"
                "Options follow after commas: gain=DB, channel=N,\n"
                "order=lllrrlrr|llrrlrrl (true stereo), map=auto|split|matrix",
        .load = mask_stage_load,
        .wish = mask_stage_wish,
        .create = mask_stage_create,
    },
    {
        .option = "gain",
        .argument = "DB",
        .help = "amplify by DB decibels",
        .load = gain_stage_load,
        .create = gain_stage_create,
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

enum status stage_list_add(struct stage_list *list, const struct stage_kind *kind, const char *text)
{
    struct stage *stages = realloc(list->stages, (list->count + 1) * sizeof *stages);
    if (!stages)
        return fail_memory("a stage");
    list->stages = stages;
    stages[list->count++] = (struct stage){.kind = kind, .text = text};
    return STATUS_OK;
}

void stage_list_free(struct stage_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        mask_destroy(list->stages[i].mask);
    free(list->stages);
    *list = (struct stage_list){0};
}

enum status stage_list_load(struct stage_list *list, const struct stage_settings *settings,
                            struct stream_format *format)
{
    for (size_t i = 0; i < list->count; i++) {
        struct stage *stage = &list->stages[i];
        char **words = split_words(stage->text);
        if (!words)
            return fail_memory("a stage");
        stage->inputs = format->channels;
        enum status status = stage->kind->load(stage, words, format, settings);
        free(words);
        if (status != STATUS_OK)
            return status;
        format->channels = stage->outputs;
    }
    return STATUS_OK;
}

size_t stage_list_block(const struct stage_list *list, size_t channels, struct workers *workers,
                        uint64_t most)
{
    size_t widest = channels, block = 0;
    for (size_t i = 0; i < list->count; i++)
        if (list->stages[i].outputs > widest)
            widest = list->stages[i].outputs;
    if (most > BLOCK_SAMPLES_MOST / widest)
        most = BLOCK_SAMPLES_MOST / widest;
    if (most < BLOCK_LEAST)
        most = BLOCK_LEAST;
    for (size_t i = 0; i < list->count; i++) {
        const struct stage *stage = &list->stages[i];
        size_t wish = stage->kind->wish ? stage->kind->wish(stage, workers, (size_t)most) : 0;
        if (wish > block)
            block = wish;
    }
    if (block == 0)
        block = most < BLOCK_DEFAULT ? (size_t)most : BLOCK_DEFAULT;
    return block;
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
        status = stage->kind->create(stage, block, workers, &stage->filter);
        if (status == STATUS_OK)
            status = chain_append(chain, stage->filter);
    }
    if (status != STATUS_OK) {
        filter_destroy(chain);
        return status;
    }
    *result = chain;
    return STATUS_OK;
}
