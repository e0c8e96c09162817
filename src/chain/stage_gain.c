/* The stage that amplifies (gain.h). */
#include "base/options.h"
#include "chain/stage_draw.h"
#include "chain/stages.h"
#include "sound/gain.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct stage_gain {
    double factor; /* linear */
    struct automation automation;
};

/* Parse a word "at=3s:gain=-6". */
static enum status parse_word(struct stage *stage, const char *word)
{
    struct stage_gain *gain = stage->data;
    struct automation_point point;
    const char *change;
    double db = 0;
    if (isdigit((unsigned char)*word))
        return fail(CAUSE_USAGE, "--gain %s: a comma begins an option; a decimal point is .",
                    stage->text);
    if (!automation_is_word(word))
        return fail(CAUSE_USAGE,
                    "--gain has the options at=TIME:gain=DB, @mix=, @wet= and @bypass, not "
                    "'%s'",
                    word);
    TRY(automation_parse(word, stage_time(stage), &point, &change));
    if (strncmp(change, "gain=", 5) != 0)
        return fail(CAUSE_USAGE, "at= of --gain changes gain=, not '%s'", change);
    TRY(options_parse_db("gain=", change + 5, -OPTIONS_DB_MOST, OPTIONS_DB_MOST, &db));
    point.value = audio_from_db(db);
    stage->automated = true;
    return automation_add(&gain->automation, &point);
}

static enum status stage_gain_load(struct stage *stage, char **spec,
                                   const struct stream_format *format)
{
    (void)format;
    struct stage_gain *gain = stage->data = calloc(1, sizeof *gain);
    if (!gain)
        return fail_memory("a stage");
    double db = 0;
    TRY(options_parse_db("--gain", spec[0], -OPTIONS_DB_MOST, OPTIONS_DB_MOST, &db));
    gain->factor = audio_from_db(db);
    for (char **word = spec + 1; *word; word++)
        TRY(parse_word(stage, *word));
    return STATUS_OK;
}

static void stage_gain_destroy(void *data)
{
    struct stage_gain *gain = data;
    if (gain)
        automation_free(&gain->automation);
    free(gain);
}

static enum status stage_gain_create(struct stage *stage, size_t block, struct workers *workers,
                                     struct filter **filter)
{
    (void)workers;
    const struct stage_gain *gain = stage->data;
    struct gain_settings settings = {
        .factor = gain->factor,
        .automation = &gain->automation,
        .rate = stage->rate,
        .before = stage->before,
    };
    bool in_double = stage->settings.convolver.precision == PRECISION_DOUBLE;
    return (in_double ? gain_create_automated_in_double
                      : gain_create_automated)(stage->inputs, block, &settings, filter);
}

static void stage_gain_describe(const struct stage *stage, struct stage_info *info)
{
    const struct stage_gain *gain = stage->data;
    info->gain = gain->factor;
}

static const struct option_row keys[] = {{.name = "at="}, {0}};
static const struct stage_draw draws[] = {{.key = ""}, {0}};

const struct stage_ops stage_gain_ops = {
    .option = "gain",
    .argument = "DB",
    .keys = keys,
    .draws = draws,
    .is_memoryless = true,
    .help = "amplify by DB decibels; -6..0: drawn by --seed; at=12.5s:gain=-6 (a step) and\n"
            "at=10s-12.5s:gain=-6 (a ramp) change it later, and\n"
            "at=end-5s-end:gain=-60 fades out",
    .load = stage_gain_load,
    .destroy = stage_gain_destroy,
    .create = stage_gain_create,
    .describe = stage_gain_describe,
};
