#include "listen/listen_fair.h"

#include "base/json_text.h"
#include "base/progress.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double CHANGE_DB = 0.3; /* of a live input's gains that is worth a fade */

void listen_fair_free(struct listen_fair *fair)
{
    for (size_t i = 0; i < fair->count; i++)
        mask_destroy(fair->originals[i]);
    fair->count = 0;
}

/* What the other stages make of any mask's sound. */
static double gain_of_chain(const struct live_chain *chain)
{
    double gain = 1;
    for (size_t i = 0; i < chain->stages.count; i++)
        if (strcmp(chain->stages.stages[i].kind->option, "gain") == 0)
            gain *= fabs(chain->stages.stages[i].factor);
    return gain;
}

static bool has_other_filters(const struct live_chain *chain)
{
    for (size_t i = 0; i < chain->stages.count; i++)
        if (chain->stages.stages[i].plugin ||
            (i != chain->request.stage && chain->stages.stages[i].mask))
            return true;
    return false;
}

/* No choice passes the limiter's ceiling, so that it treats none of them worse than others. */
static struct match_settings settings_of(const struct listen_fair *fair)
{
    double gain = gain_of_chain(fair->chain);
    struct match_settings settings = {.by = fair->options->by, .align = fair->options->align};
    if (gain > 0 && !has_other_filters(fair->chain))
        settings.ceiling = audio_from_db(fair->options->play.ceiling_db) / gain;
    return settings;
}

static void report(const struct listen_fair *fair)
{
    char text[400];
    bool changed = fair->count > 1 || fabs(fair->matches[0].gain_db) >= 0.05;
    for (size_t i = 0; i < fair->count && changed; i++) {
        listen_fair_describe(fair, i, text, sizeof text);
        note("%s", text);
    }
}

static enum status measure(struct listen_fair *fair, const struct mask *const *masks)
{
    struct match_settings settings = settings_of(fair);
    const struct mask_levels_sound sound = {.region = fair->region};
    struct progress progress;
    progress_begin(&progress, fair->rate,
                   fair->options->play.verbosity != VERBOSITY_QUIET && !fair->options->play.json);
    settings.progress = (struct mask_levels_progress){progress_update, &progress};
    if (!fair->region) { /* delays are the masks' alone */
        settings.by = MATCH_NONE;
        settings.ceiling = 0;
    }
    return match_measure(&settings, &sound, masks, fair->count, fair->matches);
}

enum status listen_fair_adapt(void *context, struct mask **masks, size_t count)
{
    struct listen_fair *fair = context;
    fair->count = count;
    enum status status = measure(fair, (const struct mask *const *)masks);
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        struct mask *fairly;
        status = match_apply(masks[i], &fair->matches[i], &fairly);
        if (status != STATUS_OK)
            break;
        fair->originals[i] = masks[i];
        masks[i] = fairly;
    }
    if (status == STATUS_OK)
        report(fair);
    return status;
}

enum status listen_fair_measure(struct listen_fair *fair, const struct mask_levels_sound *sound,
                                bool *changed)
{
    const struct match_settings settings = settings_of(fair);
    struct match matches[LISTEN_CHOICES_MOST];
    *changed = false;
    enum status status = match_measure(
        &settings, sound, (const struct mask *const *)fair->originals, fair->count, matches);
    for (size_t i = 0; i < fair->count && status == STATUS_OK; i++)
        if (settings.by != MATCH_NONE && !isfinite(matches[i].loudness))
            return STATUS_OK;
    for (size_t i = 0; i < fair->count && status == STATUS_OK; i++)
        *changed = *changed || fabs(matches[i].gain_db - fair->matches[i].gain_db) >= CHANGE_DB;
    if (*changed)
        memcpy(fair->matches, matches, fair->count * sizeof *matches);
    return status;
}

enum status listen_fair_mask(const struct listen_fair *fair, size_t choice, struct mask **mask)
{
    return match_apply(fair->originals[choice], &fair->matches[choice], mask);
}

void listen_fair_describe(const struct listen_fair *fair, size_t choice, char *text, size_t size)
{
    char label[] = "A", number[] = "mask 1";
    const char *name = fair->originals[choice]->name;
    bool ranking = fair->options->blind > 0; /* whose letters are others */
    label[0] = (char)('A' + choice);
    number[5] = (char)('1' + choice);
    match_describe(&fair->matches[choice], ranking ? number : label, fair->rate,
                   fair->options->align, text, size);
    size_t length = strlen(text);
    if (!ranking)
        snprintf(text + length, size - length, " (%s)", name);
}

json_t *listen_fair_json(const struct listen_fair *fair)
{
    json_t *array = json_array();
    for (size_t i = 0; i < fair->count; i++) {
        const struct match *match = &fair->matches[i];
        json_array_append_new(array, json_pack("{s:o, s:f, s:I, s:b}", "name",
                                               json_text(fair->originals[i]->name), "gain_db",
                                               match->gain_db, "later", (json_int_t)match->later,
                                               "aligned", fair->options->align));
    }
    return array;
}
