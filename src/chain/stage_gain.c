#include "chain/stage_gain.h"

#include "base/options.h"
#include "sound/gain.h"

#include <string.h>

/* at=3s:gain=-6 */
static enum status parse_gain_word(struct stage *stage, const char *word)
{
    struct automation_point point;
    const char *change;
    double db = 0;
    if (!automation_is_word(word))
        return fail(STATUS_USAGE,
                    "--gain has the options at=TIME:gain=DB, @mix= and @bypass, not "
                    "'%s'",
                    word);
    enum status status = automation_parse(word, stage->rate, &point, &change);
    if (status == STATUS_OK && strncmp(change, "gain=", 5) != 0)
        status = fail(STATUS_USAGE, "what changes of --gain is its gain=, not '%s'", change);
    if (status == STATUS_OK)
        status = options_parse_db("gain=", change + 5, -OPTIONS_DB_MOST, OPTIONS_DB_MOST, &db);
    point.value = (float)audio_from_db(db);
    return status == STATUS_OK ? automation_add(&stage->automation, &point) : status;
}

enum status stage_gain_load(struct stage *stage, char **spec, const struct stream_format *format,
                            const struct stage_settings *settings)
{
    (void)settings;
    double db = 0;
    enum status status =
        options_parse_db("--gain", spec[0], -OPTIONS_DB_MOST, OPTIONS_DB_MOST, &db);
    for (char **word = spec + 1; *word && status == STATUS_OK; word++)
        status = parse_gain_word(stage, *word);
    if (status != STATUS_OK)
        return status;
    stage->factor = audio_from_db(db);
    stage->outputs = format->channels;
    return STATUS_OK;
}

enum status stage_gain_create(struct stage *stage, size_t block, struct workers *workers,
                              struct filter **filter)
{
    (void)workers;
    struct gain_settings settings = {
        .factor = stage->factor,
        .automation = &stage->automation,
        .rate = stage->rate,
        .before = stage->before,
    };
    return gain_create_automated(stage->inputs, block, &settings, filter);
}
