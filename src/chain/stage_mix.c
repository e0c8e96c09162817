#include "chain/stage_mix_state.h"

#include "base/decimal.h"
#include "base/options.h"
#include "base/realtime.h"
#include "signal/audio.h"

#include <math.h>
#include <string.h>

static const char *const switch_names[] = {"on", "off", NULL};

const struct option_row stage_mix_rows[] = {{.name = "@mix="},
                                            {.name = "@wet="},
                                            {.name = "@bypass"},
                                            {.name = "@bypass=", .names = switch_names},
                                            {0}};

static bool begins(const char *word, const char *with)
{
    return strncmp(word, with, strlen(with)) == 0;
}

static bool is_own(const char *word)
{
    return begins(word, "@mix=") || begins(word, "@wet=") || strcmp(word, "@bypass") == 0 ||
           begins(word, "@bypass=");
}

const struct plugin_port stage_mix_ports[] = {
    [STAGE_CONTROL_MIX] = {.symbol = "@mix", .maximum = 1, .initial = 1},
    [STAGE_CONTROL_WET] = {.symbol = "@wet",
                           .unit = "dB",
                           .minimum = STAGE_WET_LEAST,
                           .maximum = STAGE_WET_MOST},
    [STAGE_CONTROL_BYPASS] = {.symbol = "@bypass", .maximum = 1, .is_toggle = true},
};

bool stage_mix_is_word(const char *word)
{
    const char *colon = strchr(word, ':');
    return is_own(word) || (automation_is_word(word) && colon && is_own(colon + 1));
}

enum status stage_mix_parse(enum stage_control_kind kind, const char *text, double *value)
{
    double share;
    if (!*text)
        return fail(CAUSE_USAGE, "%s= needs a value, such as %s", stage_mix_ports[kind].symbol,
                    kind == STAGE_CONTROL_MIX   ? "0.5"
                    : kind == STAGE_CONTROL_WET ? "-12dB"
                                                : "on");
    if (kind == STAGE_CONTROL_WET)
        return options_parse_db("@wet=", text, STAGE_WET_LEAST, STAGE_WET_MOST, value);
    if (kind == STAGE_CONTROL_MIX) {
        if (!decimal_parse(text, &share) || share < 0 || share > 1)
            return fail(CAUSE_USAGE, "@mix= is a number from 0 to 1, not '%s'", text);
        *value = share;
        return STATUS_OK;
    }
    bool off = strcmp(text, "off") == 0;
    if (!off && strcmp(text, "on") != 0)
        return fail(CAUSE_USAGE, "@bypass= is on or off, not '%s'", text);
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
    point.target = begins(word, "@mix=")   ? STAGE_CONTROL_MIX
                   : begins(word, "@wet=") ? STAGE_CONTROL_WET
                                           : STAGE_CONTROL_BYPASS;
    TRY(stage_mix_parse((enum stage_control_kind)point.target, equals ? equals + 1 : "on",
                        &point.value));
    spec->given = true;
    spec->has_mix |= point.target == STAGE_CONTROL_MIX;
    spec->has_wet |= point.target == STAGE_CONTROL_WET;
    if (spec->has_mix && spec->has_wet)
        return fail(CAUSE_USAGE, "@mix= and @wet= exclude each other: @wet= leaves the dry sound "
                                 "as it is, @mix= lowers it");
    if (later)
        return automation_add(&spec->automation, &point);
    if (point.target == STAGE_CONTROL_BYPASS) {
        spec->bypass = point.value > 0;
    } else {
        spec->has_value = true;
        spec->value = point.value;
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

HALO_REALTIME static struct stage_mix_gains gains_of(bool keeps_dry, bool bypass, double value)
{
    double wet = bypass ? 0 : keeps_dry ? audio_from_db(value) : value;
    return (struct stage_mix_gains){wet, keeps_dry ? 1 : 1 - wet};
}

double stage_mix_start(const struct stage_mix_spec *spec)
{
    return spec->has_value ? spec->value : spec->has_wet ? 0 : 1;
}

struct stage_mix_gains stage_mix_gains(const struct stage_mix_spec *spec)
{
    return gains_of(spec->has_wet, spec->bypass, stage_mix_start(spec));
}

HALO_REALTIME struct stage_mix_gains stage_mix_gains_now(const struct filter *filter)
{
    const struct stage_mix_state *mix = (const struct stage_mix_state *)filter;
    return gains_of(mix->keeps_dry, atomic_load(&mix->bypass), atomic_load(&mix->value));
}

bool stage_mix_has(const struct filter *filter, enum stage_control_kind kind)
{
    return kind == STAGE_CONTROL_BYPASS ||
           (kind == STAGE_CONTROL_WET) == ((const struct stage_mix_state *)filter)->keeps_dry;
}

HALO_REALTIME void stage_mix_set(struct filter *filter, enum stage_control_kind kind, float value)
{
    struct stage_mix_state *mix = (struct stage_mix_state *)filter;
    if (kind == STAGE_CONTROL_BYPASS)
        atomic_store(&mix->bypass, value > 0);
    else
        atomic_store(&mix->value, fmax(stage_mix_ports[kind].minimum,
                                       fmin(stage_mix_ports[kind].maximum, (double)value)));
}

HALO_REALTIME float stage_mix_value(const struct filter *filter, enum stage_control_kind kind)
{
    const struct stage_mix_state *mix = (const struct stage_mix_state *)filter;
    return kind == STAGE_CONTROL_BYPASS ? (float)atomic_load(&mix->bypass)
                                        : (float)atomic_load(&mix->value);
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
