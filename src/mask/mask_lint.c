#include "mask/mask_lint.h"

#include "base/plural.h"
#include "mask/response.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static const double silence_seconds = 0.005, attack_seconds = 0.01, waste_seconds = 0.25;
static const double cut_seconds = 0.01, cut_level = 1e-3, echo_ratio = 0.1;
static const double fade_seconds = 0.05, fade_share = 0.1;
static const double loud_db = 9, headroom_db = 6, quiet_db = -20;
static const double clear_share = 0.1, rise_seconds = 1e-4, order_ratio = 2;
static const double missed_db = -34, unheard_db = -100; /* of what is cut */
static const double computed_end = 1e-8;   /* such ends, but for zeros, no recording has: the decay
                                              is an equaliser's, and as long as it was made */
static const double low = 10, high = 20e3; /* Hz */
static const double unlike_db = 6, unlike_seconds = 1e-3, same = 1e-6;

enum { POINTS = 132 /* twelfths of an octave */, HALVINGS = 6, CLIPPED_LEAST = 3, LFE = 3 };

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

/* The sign of a peak that stands out at the start; 0: there is none. */
static int clear_sign(const struct lint *at, size_t c)
{
    const struct mask_column_stats *column = &at->stats->column[c];
    double rise = (double)(column->peak_at - column->onset - column->attack);
    if (column->silent || column->symmetry == MASK_ANTISYMMETRIC ||
        column->peak * column->peak <= clear_share * column->energy ||
        rise > rise_seconds * at->stats->rate)
        return 0;
    return column->peak > 0 ? 1 : -1;
}

static void check_polarity(struct lint *at)
{
    for (size_t c = 0; c < at->stats->columns; c++)
        if (!at->stats->column[c].silent && clear_sign(at, c) >= 0)
            return;
    snprintf(report(at, "inverted polarity"), REMEDY, "invert");
}

/* ---- channels beside each other ---- */

/* Whether a column goes from an input to the output of its number, which is no LFE. */
static bool is_beside(const struct lint *at, size_t column)
{
    size_t outputs = at->stats->outputs;
    for (size_t p = 0; p < at->mask->path_count; p++) {
        const struct mask_path *path = &at->mask->paths[p];
        bool is_lfe = path->output == LFE && (outputs == 6 || outputs == 8);
        if (path->column == column && path->input == path->output && !is_lfe)
            return !at->stats->column[column].silent;
    }
    return false;
}

static double sign_of(const struct lint *at, size_t c)
{
    int sign = clear_sign(at, c);
    return sign == 0 ? NAN : (double)sign;
}

static double level_of(const struct lint *at, size_t c)
{
    return audio_to_db(at->stats->column[c].pink);
}

static double start_of(const struct lint *at, size_t c)
{
    const struct mask_column_stats *column = &at->stats->column[c];
    return (double)(column->onset + column->attack) / at->stats->rate;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The channel whose value is the farthest from the middle one, from 1, and how far; 0: none by more
 * than `most`. `sorted` has room for all. */
static size_t find_unlike(const struct lint *at, double (*value)(const struct lint *, size_t),
                          double most, double *sorted, double *by)
{
    size_t known = 0, unlike = 0;
    for (size_t c = 0; c < at->stats->columns; c++)
        if (is_beside(at, c) && !isnan(value(at, c)))
            sorted[known++] = value(at, c);
    qsort(sorted, known, sizeof *sorted, compare);
    for (size_t c = 0; known > 1 && c < at->stats->columns; c++) {
        double distance = is_beside(at, c) ? value(at, c) - sorted[known / 2] : 0;
        if (fabs(distance) > most) {
            unlike = c + 1;
            *by = distance;
            most = fabs(distance);
        }
    }
    return unlike;
}

static enum status check_unlike(struct lint *at)
{
    double *sorted = calloc(at->stats->columns, sizeof *sorted), by;
    size_t found;
    if (!sorted)
        return fail_memory("statistics of a mask");
    if ((found = find_unlike(at, sign_of, 1, sorted, &by)))
        snprintf(report(at, "channel %zu is inverted, as others are not", found), REMEDY,
                 "if not meant, make it again");
    if ((found = find_unlike(at, level_of, unlike_db, sorted, &by)))
        snprintf(report(at, "channel %zu is %.1f dB %s than others", found, fabs(by),
                        by > 0 ? "louder" : "quieter"),
                 REMEDY, "if not meant, make it again");
    if ((found = find_unlike(at, start_of, unlike_seconds, sorted, &by)))
        snprintf(report(at, "channel %zu begins %.1f ms %s than others", found, 1e3 * fabs(by),
                        by > 0 ? "later" : "earlier"),
                 REMEDY, "if not meant, make it again");
    free(sorted);
    return STATUS_OK;
}

static bool is_linear(const struct mask_column_stats *column)
{
    return column->symmetry != MASK_ASYMMETRIC;
}

static void check_clipping(struct lint *at)
{
    for (size_t c = 0; c < at->stats->columns; c++) {
        const struct mask_column_stats *column = &at->stats->column[c];
        const double *taps = mask_column(at->mask, c);
        double most = fabs(column->peak) * (1 - same);
        size_t clipped = 0;
        for (size_t k = 1; k < at->mask->taps; k++)
            if (fabs(taps[k]) >= most && fabs(taps[k - 1]) >= most && taps[k] * taps[k - 1] > 0)
                clipped += k < 2 || fabs(taps[k - 2]) < most ? 2 : 1;
        if (!column->silent && !is_linear(column) && clipped >= CLIPPED_LEAST) {
            snprintf(
                report(at, "channel %zu is clipped: %zu taps are at its maximum", c + 1, clipped),
                REMEDY, "measure or export it again, quieter");
            return;
        }
    }
}

/* ---- silence ---- */

/* Taps [from, from + count) of a column, and whether the whole misses them. */
static enum status is_missed(const struct lint *at, const double *whole, size_t column, size_t from,
                             size_t count, bool *missed)
{
    double part[POINTS], loudest = -INFINITY;
    struct mask_path path;
    struct mask cut =
        response_column(mask_column(at->mask, column) + from, count, at->stats->rate, &path);
    struct response_axis axis = {low, fmin(high, at->stats->rate / 2.0), POINTS, 0};
    *missed = false;
    TRY(response_measure(&cut, at->stats->rate, &axis, part));
    for (size_t p = 0; p < POINTS; p++)
        loudest = fmax(loudest, whole[p]);
    for (size_t p = 0; p < POINTS; p++)
        *missed |= part[p] > whole[p] + missed_db && part[p] > loudest + unheard_db;
    return STATUS_OK;
}

/* As many of the first or last `*count` taps of a column as it does not miss. */
static enum status limit_cut(const struct lint *at, size_t column, bool at_end, size_t *count)
{
    double whole[POINTS];
    struct mask_path path;
    size_t taps = at->mask->taps, good = 0, bad = *count + 1, cut = *count;
    struct mask all = response_column(mask_column(at->mask, column), taps, at->stats->rate, &path);
    struct response_axis axis = {low, fmin(high, at->stats->rate / 2.0), POINTS, 0};
    TRY(response_measure(&all, at->stats->rate, &axis, whole));
    for (size_t i = 0; i <= HALVINGS && good < cut; i++) {
        bool missed;
        TRY(is_missed(at, whole, column, at_end ? taps - cut : 0, cut, &missed));
        *(missed ? &bad : &good) = cut;
        cut = good + (bad - good) / 2;
    }
    *count = good;
    return STATUS_OK;
}

/* The same of all columns. */
static enum status limit_cuts(const struct lint *at, bool at_end, double least, size_t *count)
{
    enum status status = STATUS_OK;
    for (size_t c = 0; c < at->stats->columns && (double)*count >= least && status == STATUS_OK;
         c++)
        if (!at->stats->column[c].silent)
            status = limit_cut(at, c, at_end, count);
    return status;
}

static enum status check_silence_first(struct lint *at)
{
    const struct mask_stats *stats = at->stats;
    size_t onset = stats->taps;
    bool sudden = false;
    double least = silence_seconds * stats->rate;
    for (size_t c = 0; c < stats->columns; c++) {
        const struct mask_column_stats *column = &stats->column[c];
        if (column->silent)
            continue;
        if (is_linear(column))
            return STATUS_OK;
        if (column->onset < onset) {
            onset = column->onset;
            sudden = (double)column->attack < attack_seconds * stats->rate;
        }
    }
    if (!sudden)
        return STATUS_OK;
    TRY(limit_cuts(at, false, least, &onset));
    if ((double)onset >= least)
        snprintf(report(at, "%zu sample%s of silence first", onset, plural_s(onset)), REMEDY,
                 "trim=%zu", onset);
    return STATUS_OK;
}

static enum status check_silence_last(struct lint *at)
{
    const struct mask_stats *stats = at->stats;
    size_t cut = stats->taps;
    double least = fmax((double)stats->taps / 2, waste_seconds * stats->rate) + 1;
    for (size_t c = 0; c < stats->columns; c++) {
        const struct mask_column_stats *column = &stats->column[c];
        if (!column->silent && column->silence_after < cut)
            cut = column->silence_after;
        if (column->end > 0 && column->end < computed_end)
            return STATUS_OK;
    }
    TRY(limit_cuts(at, true, least, &cut));
    if ((double)cut >= least)
        snprintf(report(at, "%zu of %zu samples are silence at the end", cut, stats->taps), REMEDY,
                 "length=%zu", stats->taps - cut);
    return STATUS_OK;
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

static enum status check_all(struct lint *at)
{
    check_rate(at);
    check_channels(at);
    check_silent_channels(at);
    check_order(at);
    check_polarity(at);
    check_clipping(at);
    TRY(check_unlike(at));
    TRY(check_silence_first(at));
    TRY(check_silence_last(at));
    check_end(at);
    check_level(at);
    return STATUS_OK;
}

enum status mask_lint(const struct mask *mask, const struct mask_stats *stats,
                      const struct stream_format *sound, struct mask_trouble *troubles,
                      size_t *count)
{
    struct lint at = {mask, stats, sound, troubles, 0};
    bool is_silent = true;
    for (size_t c = 0; c < stats->columns; c++)
        is_silent = is_silent && stats->column[c].silent;
    enum status status = STATUS_OK;
    if (is_silent)
        snprintf(report(&at, "silent: all taps are zero"), REMEDY, "another file");
    else
        status = check_all(&at);
    *count = at.count;
    return status;
}
