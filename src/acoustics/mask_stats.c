#include "acoustics/mask_stats.h"

#include "acoustics/response.h"
#include "base/plural.h"
#include "signal/audio.h"
#include "signal/fft_double.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH_LEAST = 1 << 16, LENGTH_WANTED = 1 << 23, PADDING = 8, TWELFTHS = 120, ENDS = 10 };

static const double silence = 1e-5, quiet = 1e-3, loud = 0.1; /* parts of the peak */
static const double likeness = 5e-4; /* part of the peak; rounding to 16 bits */
static const double edge_seconds = 1e-3;
static const double excess_most = 0.01;              /* nepers */
static const double pink_low = 20, pink_high = 20e3; /* Hz */
static const double crest_in = 9, crest_out = 12;    /* dB */
const int mask_stats_levels[MASK_STATS_LEVELS] = {-60, -90, -120};

static size_t last_above(const double *taps, size_t count, double level)
{
    while (count > 0 && fabs(taps[count - 1]) < level)
        count--;
    return count;
}

static size_t first_above(const double *taps, size_t count, double level)
{
    size_t k = 0;
    while (k < count && fabs(taps[k]) < level)
        k++;
    return k;
}

static void find_sums(const double *taps, size_t count, struct mask_column_stats *stats)
{
    double moment = 0;
    for (size_t k = 0; k < count; k++) {
        double tap = taps[k];
        if (fabs(tap) > fabs(stats->peak)) {
            stats->peak = tap;
            stats->peak_at = k;
        }
        stats->dc += tap;
        stats->magnitude += fabs(tap);
        stats->energy += tap * tap;
        moment += tap * tap * (double)k;
    }
    stats->silent = stats->energy <= 0;
    stats->rms = sqrt(stats->energy / (double)count);
    stats->group_delay = stats->silent ? 0 : moment / stats->energy;
}

static void find_symmetry(const double *taps, size_t count, struct mask_column_stats *stats)
{
    size_t first = 0, last = count - 1;
    bool even = true, odd = true;
    while (taps[first] == 0)
        first++;
    while (taps[last] == 0)
        last--;
    stats->middle = ((double)first + (double)last) / 2;
    for (size_t i = first, j = last; i <= j && (even || odd); i++, j--) {
        even = even && fabs(taps[i] - taps[j]) <= likeness * fabs(stats->peak);
        odd = odd && fabs(taps[i] + taps[j]) <= likeness * fabs(stats->peak);
        if (j == 0)
            break;
    }
    stats->symmetry = even ? MASK_SYMMETRIC : odd ? MASK_ANTISYMMETRIC : MASK_ASYMMETRIC;
}

static void find_ends(const double *taps, size_t count, uint32_t rate,
                      struct mask_column_stats *stats)
{
    double peak = fabs(stats->peak);
    size_t edge = (size_t)ceil(edge_seconds * rate);
    if (edge > count)
        edge = count;
    for (size_t i = 0; i < MASK_STATS_LEVELS; i++)
        stats->taps[i] = last_above(taps, count, audio_from_db(mask_stats_levels[i]) * peak);
    stats->silence_before = first_above(taps, count, silence * peak);
    stats->silence_after = count - last_above(taps, count, silence * peak);
    stats->onset = first_above(taps, count, quiet * peak);
    stats->attack = first_above(taps, count, loud * peak) - stats->onset;
    stats->start = audio_peak_in_double(taps, edge) / peak;
    stats->end = audio_peak_in_double(taps + count - edge, edge) / peak;
    if (count >= ENDS * edge)
        stats->before_end =
            audio_peak_in_double(taps + count - ENDS * edge, (ENDS - 1) * edge) / peak;
}

static double pink_share(double bin, double hz_of_bin)
{
    double from = fmax((bin - 0.5) * hz_of_bin, pink_low);
    double to = fmin((bin + 0.5) * hz_of_bin, pink_high);
    return to > from ? log(to / from) : 0;
}

static double pink_gain(const double complex *bins, size_t length, uint32_t rate)
{
    double power = 0, shares = 0, hz = (double)rate / (double)length;
    for (size_t b = 0; b <= length / 2; b++) {
        double share = pink_share((double)b, hz);
        power += share * pow(cabs(bins[b]), 2);
        shares += share;
    }
    return shares > 0 ? sqrt(power / shares) : 0;
}

static void find_largest(const double complex *bins, size_t length, uint32_t rate, double *gain,
                         double *hz)
{
    *gain = *hz = 0;
    for (size_t b = 0; b <= length / 2; b++)
        if (cabs(bins[b]) > *gain * (1 + 1e-9)) {
            *gain = cabs(bins[b]);
            *hz = (double)b * rate / (double)length;
        }
}

/* The gain between two bins, for a mean of logarithms. The floor makes the mean exact if a bin is
 * on a zero, since the product of |1 - exp(2 pi i k / n)| over k = 1..n-1 is n. */
static double gain_between(const double complex *bins, size_t bin, size_t last)
{
    double before = cabs(bins[bin > 0 ? bin - 1 : 1]);
    double after = cabs(bins[bin < last ? bin + 1 : last - 1]);
    return fmax(cabs(bins[bin]), (before + after) / (4 * M_PI));
}

/* By Jensen's formula: zeros outside the unit circle raise the mean of log |H| above the log of the
 * first tap. */
static bool is_minimum_phase(const double complex *bins, size_t length, double first, double gain)
{
    double sum = 0;
    for (size_t b = 0; b <= length / 2; b++)
        sum += (b == 0 || b == length / 2 ? 1 : 2) *
               log(fmax(gain_between(bins, b, length / 2), 1e-12 * gain));
    return sum / (double)length - log(fabs(first)) < excess_most;
}

static void add_column(const struct fft_double *fft, const struct response_span *span,
                       const double *taps)
{
    double *samples = fft_double_samples(fft);
    for (size_t k = 0; k < span->count; k++)
        samples[k] += taps[span->first + k];
}

static void clear(const struct fft_double *fft)
{
    memset(fft_double_samples(fft), 0, fft_double_length(fft) * sizeof(double));
}

static enum status find_column(const struct fft_double *fft, const struct response_span *span,
                               const struct mask *mask, size_t column, struct mask_stats *stats)
{
    const double *taps = mask_column(mask, column);
    struct mask_column_stats *own = &stats->column[column];
    find_sums(taps, mask->taps, own);
    TRY(room_acoustics_measure(taps, mask->taps, stats->rate, &own->room));
    if (own->silent)
        return STATUS_OK;
    find_symmetry(taps, mask->taps, own);
    find_ends(taps, mask->taps, stats->rate, own);
    clear(fft);
    add_column(fft, span, taps);
    fft_double_forward(fft);
    const double complex *bins = fft_double_bins(fft);
    size_t length = fft_double_length(fft);
    find_largest(bins, length, stats->rate, &own->gain, &own->gain_hz);
    own->pink = pink_gain(bins, length, stats->rate);
    double first = taps[first_above(taps, mask->taps, 1e-45)];
    own->minimum_phase = is_minimum_phase(bins, length, first, own->gain);
    return STATUS_OK;
}

/* Computes an output's statistics. Identical inputs add columns, uncorrelated ones add powers. */
static void find_output(const struct fft_double *fft, const struct response_span *span,
                        const struct mask *mask, size_t output, struct mask_stats *stats)
{
    struct mask_output_stats *own = &stats->output[output];
    double power = 0;
    clear(fft);
    for (size_t p = 0; p < mask->path_count; p++) {
        size_t column = mask->paths[p].column;
        if (mask->paths[p].output != output)
            continue;
        add_column(fft, span, mask_column(mask, column));
        own->magnitude += stats->column[column].magnitude;
        power += pow(stats->column[column].pink, 2);
    }
    fft_double_forward(fft);
    const double complex *bins = fft_double_bins(fft);
    size_t length = fft_double_length(fft);
    find_largest(bins, length, stats->rate, &own->gain, &own->gain_hz);
    own->pink = fmax(pink_gain(bins, length, stats->rate), sqrt(power));
    own->headroom =
        fmax(0, fmin(audio_to_db(own->magnitude), audio_to_db(own->pink) + crest_out - crest_in));
}

static enum status find_loudest(const struct mask *mask, struct mask_stats *stats)
{
    struct response_axis axis = {
        .low = pink_low, .high = fmin(pink_high, stats->rate / 2.0), .points = TWELFTHS};
    double db[TWELFTHS];
    if (axis.low * 2 > axis.high) /* the rate is very low */
        axis.low = axis.high / 2;
    TRY(response_measure(mask, stats->rate, &axis, db));
    stats->loudest = -INFINITY;
    for (size_t p = 0; p < TWELFTHS; p++)
        if (db[p] > stats->loudest) {
            stats->loudest = db[p];
            stats->loudest_hz = response_frequency(&axis, (double)p);
        }
    return STATUS_OK;
}

enum status mask_stats_init(struct mask_stats *stats, const struct mask *mask, uint32_t rate)
{
    struct fft_double *fft = NULL;
    struct response_span span = response_span(mask);
    size_t length = LENGTH_LEAST;
    while (length < span.count || (length < PADDING * span.count && length < LENGTH_WANTED))
        length *= 2;
    *stats = (struct mask_stats){
        .columns = mask->columns,
        .outputs = mask->outputs,
        .taps = mask->taps,
        .rate = rate,
        .column = calloc(mask->columns, sizeof *stats->column),
        .output = calloc(mask->outputs, sizeof *stats->output),
    };
    enum status status = stats->column && stats->output ? fft_double_create(length, &fft)
                                                        : fail_memory("statistics of a mask");
    for (size_t c = 0; c < mask->columns && status == STATUS_OK; c++)
        status = find_column(fft, &span, mask, c, stats);
    for (size_t o = 0; o < mask->outputs && status == STATUS_OK; o++)
        find_output(fft, &span, mask, o, stats);
    if (status == STATUS_OK)
        status = find_loudest(mask, stats);
    fft_double_destroy(fft);
    if (status != STATUS_OK)
        mask_stats_free(stats);
    return status;
}

void mask_stats_free(struct mask_stats *stats)
{
    free(stats->column);
    free(stats->output);
    *stats = (struct mask_stats){0};
}

/* ---- likely defects ---- */

static const double silence_seconds = 0.005, attack_seconds = 0.01, waste_seconds = 0.25;
static const double cut_seconds = 0.01, cut_level = 1e-3, echo_ratio = 0.1;
static const double fade_seconds = 0.05, fade_share = 0.1;
static const double loud_db = 9, headroom_db = 6, quiet_db = -20;
static const double clear_share = 0.1, rise_seconds = 1e-4, order_ratio = 2;
static const double missed_db = -34, unheard_db = -100; /* level of the part that is cut */
static const double computed_end = 1e-8;                /* no recording falls so low, except to 0 */
static const double low = 10, high = 20e3;              /* Hz */
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

/* The sign of a peak that stands out at the start. 0: there is none. */
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

/* ---- comparing channels ---- */

/* Whether a column goes from an input to the output of the same number, and this is no LFE. */
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

/* Finds the channel, counted from 1, whose value is farthest from the median, and by how much. 0:
 * no value is farther than `most`. `sorted` has room for all values. */
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

/* Whether the whole column needs taps [from, from + count). */
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

/* Limits *count so that the column does not need that many first or last taps. */
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

/* Limits *count so that no column needs that many taps. */
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
    bool resonant = stats->loudest > loud_db, is_loud = headroom > headroom_db;
    double over = fmax(resonant ? stats->loudest : 0, is_loud ? headroom : 0);
    if (resonant)
        snprintf(report(at, "%+.1f dB at %.0f Hz", stats->loudest, stats->loudest_hz), REMEDY,
                 "gain=-%.0f", ceil(over));
    else if (is_loud)
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
