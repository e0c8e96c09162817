#include "mask/mask_lint.h"

#include "base/plural.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

static const double silence_seconds = 0.005, attack_seconds = 0.01, waste_seconds = 0.25;
static const double cut_seconds = 0.01, cut_level = 1e-3, echo_ratio = 0.1;
static const double fade_seconds = 0.05, fade_share = 0.1;
static const double loud_db = 9, headroom_db = 6, quiet_db = -20;
static const double clear_share = 0.1, rise_seconds = 1e-4, order_ratio = 2;

struct lint {
    const struct mask *mask;
    const struct mask_stats *stats;
    const struct stream_format *sound;
    struct mask_trouble *troubles;
    size_t count;
};

static PRINTF_LIKE(2, 3) char *report(struct lint *at, const char *format, ...)
{
    struct mask_trouble *trouble = &at->troubles[at->count++];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(trouble->text, sizeof trouble->text, format, arguments);
    va_end(arguments);
    return trouble->remedy;
}

enum { REMEDY = sizeof((struct mask_trouble *)0)->remedy };

bool mask_lint_fits(size_t columns, size_t channels)
{
    return columns == 1 || channels == 1 || columns == channels || (columns == 4 && channels == 2);
}

static void check_rate(struct lint *at)
{
    uint32_t own = at->mask->rate, rate = at->sound->rate;
    if (rate == 0 || own == rate)
        return;
    if (own == 0)
        snprintf(report(at, "no rate but sound %u", rate), REMEDY, "taken as %u", rate);
    else
        snprintf(report(at, "rate %u but sound %u", own, rate), REMEDY, "resampled");
}

static void check_channels(struct lint *at)
{
    size_t columns = at->stats->columns, channels = at->sound->channels;
    if (channels == 0 || mask_lint_fits(columns, channels))
        return;
    snprintf(report(at, "%zu channel%s but sound %zu", columns, plural_s(columns), channels),
             REMEDY, "%s", columns % channels == 0 ? "channel=1 or map=matrix" : "channel=1");
}

static void check_silent_channels(struct lint *at)
{
    const struct mask_stats *stats = at->stats;
    size_t silent = stats->columns, sounding = 0;
    for (size_t c = stats->columns; c-- > 0;) {
        silent = stats->column[c].silent ? c : silent;
        sounding = stats->column[c].silent ? sounding : c;
    }
    if (silent < stats->columns && stats->columns != 4)
        snprintf(report(at, "channel %zu is silent", silent + 1), REMEDY, "channel=%zu",
                 sounding + 1);
}

static void check_order(struct lint *at)
{
    const struct mask_column_stats *column = at->stats->column;
    if (at->stats->columns != 4)
        return;
    double first = fmin(column[0].energy, column[1].energy);
    double others = fmax(column[2].energy, column[3].energy);
    if (first > order_ratio * others)
        snprintf(report(at, "channels 1 and 2 are the loudest, as in the order LL RR LR RL"),
                 REMEDY, "order=llrrlrrl");
}

static void check_polarity(struct lint *at)
{
    for (size_t c = 0; c < at->stats->columns; c++) {
        const struct mask_column_stats *column = &at->stats->column[c];
        double rise = (double)(column->peak_at - column->onset - column->attack);
        bool clear = column->peak * column->peak > clear_share * column->energy &&
                     rise <= rise_seconds * at->stats->rate;
        if (!column->silent &&
            (column->peak > 0 || !clear || column->symmetry == MASK_ANTISYMMETRIC))
            return;
    }
    snprintf(report(at, "inverted polarity"), REMEDY, "invert");
}

static bool is_linear(const struct mask_column_stats *column)
{
    return column->symmetry != MASK_ASYMMETRIC;
}

static void check_silence_first(struct lint *at)
{
    const struct mask_stats *stats = at->stats;
    size_t onset = stats->taps;
    bool sudden = false;
    for (size_t c = 0; c < stats->columns; c++) {
        const struct mask_column_stats *column = &stats->column[c];
        if (column->silent)
            continue;
        if (is_linear(column))
            return;
        if (column->onset < onset) {
            onset = column->onset;
            sudden = (double)column->attack < attack_seconds * stats->rate;
        }
    }
    if (sudden && (double)onset >= silence_seconds * stats->rate)
        snprintf(report(at, "%zu sample%s of silence first", onset, plural_s(onset)), REMEDY,
                 "trim=%zu", onset);
}

static void check_silence_last(struct lint *at)
{
    const struct mask_stats *stats = at->stats;
    size_t least = stats->taps;
    for (size_t c = 0; c < stats->columns; c++)
        if (!stats->column[c].silent && stats->column[c].silence_after < least)
            least = stats->column[c].silence_after;
    if (least > stats->taps / 2 && (double)least > waste_seconds * stats->rate)
        snprintf(report(at, "%zu of %zu samples are silence at the end", least, stats->taps),
                 REMEDY, "length=%zu", stats->taps - least);
}

static void check_end(struct lint *at)
{
    const struct mask_stats *stats = at->stats;
    double worst = 0;
    if ((double)stats->taps < cut_seconds * stats->rate)
        return;
    for (size_t c = 0; c < stats->columns; c++) {
        const struct mask_column_stats *column = &stats->column[c];
        if (!column->silent && !is_linear(column) && column->before_end > echo_ratio * column->end)
            worst = fmax(worst, column->end);
    }
    if (worst > cut_level)
        snprintf(report(at, "ends at %.0f dB of its peak", audio_to_db(worst)), REMEDY, "fade=%.0f",
                 fmin(fade_seconds * stats->rate, ceil(fade_share * (double)stats->taps)));
}

static void check_level(struct lint *at)
{
    const struct mask_stats *stats = at->stats;
    double headroom = 0;
    for (size_t o = 0; o < stats->outputs; o++)
        headroom = fmax(headroom, stats->output[o].headroom);
    bool resonant = stats->loudest > loud_db, loud = headroom > headroom_db;
    double over = fmax(resonant ? stats->loudest : 0, loud ? headroom : 0);
    if (resonant)
        snprintf(report(at, "%+.1f dB at %.0f Hz", stats->loudest, stats->loudest_hz), REMEDY,
                 "gain=-%.0f", ceil(over));
    else if (loud)
        snprintf(report(at, "music would need %.1f dB of headroom", headroom), REMEDY, "gain=-%.0f",
                 ceil(over));
    else if (stats->loudest < quiet_db)
        snprintf(report(at, "quiet: %.1f dB at most", stats->loudest), REMEDY, "gain=%.0f",
                 floor(-stats->loudest));
}

size_t mask_lint(const struct mask *mask, const struct mask_stats *stats,
                 const struct stream_format *sound, struct mask_trouble *troubles)
{
    struct lint at = {mask, stats, sound, troubles, 0};
    bool is_silent = true;
    for (size_t c = 0; c < stats->columns; c++)
        is_silent = is_silent && stats->column[c].silent;
    if (is_silent) {
        snprintf(report(&at, "silent: all taps are zero"), REMEDY, "another file");
        return at.count;
    }
    check_rate(&at);
    check_channels(&at);
    check_silent_channels(&at);
    check_order(&at);
    check_polarity(&at);
    check_silence_first(&at);
    check_silence_last(&at);
    check_end(&at);
    check_level(&at);
    return at.count;
}
