#include "chain/stage_mix_state.h"

#include "base/decimal.h"
#include "base/options.h"
#include "base/realtime.h"

#include <math.h>
#include <string.h>

static const char *const switch_names[] = {"on", "off", NULL};

const struct option_row stage_mix_rows[] = {
    {.name = "@mix="}, {.name = "@bypass"}, {.name = "@bypass=", .names = switch_names}, {0}};

static bool begins(const char *word, const char *with)
{
    return strncmp(word, with, strlen(with)) == 0;
}

static bool is_own(const char *word)
{
    return begins(word, "@mix=") || strcmp(word, "@bypass") == 0 || begins(word, "@bypass=");
}

bool stage_mix_is_word(const char *word)
{
    const char *colon = strchr(word, ':');
    return is_own(word) || (automation_is_word(word) && colon && is_own(colon + 1));
}

enum status stage_mix_parse(enum stage_control_kind kind, const char *text, double *value)
{
    double share;
    if (!*text)
        return fail(STATUS_USAGE, "@%s= needs a value, such as %s",
                    kind == STAGE_CONTROL_MIX ? "mix" : "bypass",
                    kind == STAGE_CONTROL_MIX ? "0.5" : "on");
    if (kind == STAGE_CONTROL_MIX) {
        if (!decimal_parse(text, &share) || share < 0 || share > 1)
            return fail(STATUS_USAGE, "@mix= is a number from 0 to 1, not '%s'", text);
        *value = share;
        return STATUS_OK;
    }
    bool off = strcmp(text, "off") == 0;
    if (!off && strcmp(text, "on") != 0)
        return fail(STATUS_USAGE, "@bypass= is on or off, not '%s'", text);
    *value = off ? 0 : 1;
    return STATUS_OK;
}

enum status stage_mix_take(struct stage_mix_spec *spec, struct automation_time time,
                           const char *word)
{
    struct automation_point point = {0};
    bool later = automation_is_word(word);
    if (later)
        TRY(automation_parse(word, time, &point, &word));
    const char *equals = strchr(word, '='); /* "@bypass" alone means on */
    point.target = begins(word, "@mix=") ? STAGE_CONTROL_MIX : STAGE_CONTROL_BYPASS;
    TRY(stage_mix_parse((enum stage_control_kind)point.target, equals ? equals + 1 : "on",
                        &point.value));
    spec->given = true;
    if (later)
        return automation_add(&spec->automation, &point);
    if (point.target == STAGE_CONTROL_BYPASS) {
        spec->bypass = point.value > 0;
    } else {
        spec->has_mix = true;
        spec->mix = point.value;
    }
    return STATUS_OK;
}

enum status stage_mix_take_all(struct stage_mix_spec *spec, struct automation_time time,
                               char **words)
{
    char **kept = words;
    for (char **word = words; *word; word++)
        if (word > words && stage_mix_is_word(*word))
            TRY(stage_mix_take(spec, time, *word));
        else
            *kept++ = *word;
    *kept = NULL;
    return STATUS_OK;
}

double stage_mix_dry(const struct stage_mix_spec *spec)
{
    return spec->bypass ? 1 : spec->has_mix ? 1 - spec->mix : 0;
}

HALO_REALTIME void stage_mix_set(struct filter *filter, enum stage_control_kind kind, float value)
{
    struct stage_mix_state *mix = (struct stage_mix_state *)filter;
    if (kind == STAGE_CONTROL_MIX)
        atomic_store(&mix->mix, fmax(0, fmin(1, (double)value)));
    else
        atomic_store(&mix->bypass, value > 0);
}

HALO_REALTIME float stage_mix_value(const struct filter *filter, enum stage_control_kind kind)
{
    const struct stage_mix_state *mix = (const struct stage_mix_state *)filter;
    return kind == STAGE_CONTROL_MIX ? (float)atomic_load(&mix->mix)
                                     : (float)atomic_load(&mix->bypass);
}

HALO_REALTIME void stage_mix_leave_out(struct filter *filter)
{
    atomic_store(&((struct stage_mix_state *)filter)->left_out, true);
}

HALO_REALTIME void stage_mix_make_absent(struct filter *filter, bool absent)
{
    ((struct stage_mix_state *)filter)->was_absent = absent;
}

HALO_REALTIME bool stage_mix_is_absent(const struct filter *filter)
{
    return ((const struct stage_mix_state *)filter)->absent;
}

HALO_REALTIME bool stage_mix_is_left_out(const struct filter *filter)
{
    return atomic_load(&((const struct stage_mix_state *)filter)->left_out);
}
