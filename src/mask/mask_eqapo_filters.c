/* The filters of a configuration of Equalizer APO, as changes of a matrix of responses. */
#include "mask/eq_listing.h"
#include "mask/level_curve.h"
#include "mask/mask_eqapo.h"
#include "signal/phase.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    FILTERS_MOST = 1000,
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
    GRAPHIC_TAPS = 1 << 8,
#else
    GRAPHIC_TAPS = 1 << 14, /* to 48 kHz, and more above: Equalizer APO's are as many at any rate */
#endif
    GRAPHIC_TIMES_MOST = 8, /* as many for what is steep */
    GRAPHIC_TURNS = 2,      /* of each length: the second corrects the first */
    GRAPHIC_WORK = 256,     /* designs of the shortest length, in a configuration */
};
static const double DB_MOST = 300;
static const double GRAPHIC_CORRECTED = 0.5; /* dB: what is more takes a longer filter */
static const double GRAPHIC_ERROR = 0.1;     /* dB, at its points */
static const double GRAPHIC_DEPTH = 0.01;    /* -40 dB of the largest: errors count less below */
static const double GRAPHIC_LEAST = 1e-5;    /* -100 dB, as in Equalizer APO */

static enum status count_filter(struct eqapo *reading)
{
    if (++reading->filters > FILTERS_MOST)
        return mask_config_refuse(reading->now, "more than %d filters", FILTERS_MOST);
    return mask_config_settle_rate(reading->config);
}

static enum status filter_all(struct eqapo *reading, double gain, uint64_t delay,
                              const double *taps, size_t count)
{
    size_t channels = mask_matrix_outputs(reading->matrix);
    for (size_t c = 0; c < channels; c++)
        if (reading->is_selected[c])
            TRY(mask_matrix_filter(reading->matrix, c, gain, delay, taps, count));
    return STATUS_OK;
}

static enum status gain_all(struct eqapo *reading, double gain, uint64_t delay)
{
    static const double one = 1;
    return filter_all(reading, gain, delay, &one, 1);
}

/* ---- Preamp: and Delay: ---- */

enum status eqapo_preamp(struct eqapo *reading, char *text)
{
    double db;
    if (!eq_number_read(&text, "dB", &db) || fabs(db) > DB_MOST)
        return mask_config_refuse(reading->now, "Preamp: must be a number of dB");
    return gain_all(reading, audio_from_db(db), 0);
}

enum status eqapo_delay(struct eqapo *reading, char *text)
{
    double value;
    if (!eq_number_read(&text, NULL, &value))
        return mask_config_refuse(reading->now, "Delay: must be a number of ms or samples");
    if (value < 0)
        return mask_config_refuse(
            reading->now,
            "Delay: %g would be before the sound; Equalizer APO passes over it: "
            "delay the other channels instead, or leave it out",
            value);
    bool is_ms = eq_number_take(&text, "ms");
    if ((!is_ms && !eq_number_take(&text, "samples")) || !strchr(" \t", *text))
        return mask_config_refuse(reading->now, "Delay: must be in ms or samples");
    if (is_ms)
        TRY(mask_config_settle_rate(reading->config));
    double frames = floor((is_ms ? value * reading->config->rate / 1000 : value) + 0.5);
    if (frames > MATRIX_TAPS_MOST)
        return mask_config_refuse(reading->now, "the delay is too long");
    return gain_all(reading, 1, (uint64_t)frames);
}

/* ---- Filter: ---- */

enum status eqapo_filter(struct eqapo *reading, char *text)
{
    struct eq_filter filter;
    TRY(count_filter(reading));
    TRY(eq_listing_filter(reading->now, text, reading->config->rate, &filter));
    eq_filter_note_grouped(&filter, reading->now, reading->has_grouped);
    if (filter.foreign)
        eqapo_note_foreign(reading, filter.foreign);
    enum status status = eq_filter_apply(&filter, reading->matrix, reading->is_selected);
    eq_filter_free(&filter);
    return status;
}

/* ---- Convolution: ---- */

static enum status load(struct eqapo *reading, char *text, const struct mask **mask)
{
    reading->now->rate = reading->config->rate;
    TRY(mask_config_mask(reading->now, eqapo_file_name(reading, text), NULL, mask));
    return mask_config_rate(reading->config, reading->now->rate);
}

/* A file of several channels makes channels differ. */
enum status eqapo_see_convolution(struct eqapo *reading, char *text)
{
    const struct mask *mask;
    TRY(load(reading, text, &mask));
    if (mask->columns == 1)
        return STATUS_OK;
    reading->has_routes = true;
    if (mask->columns > reading->channels_seen && mask->columns <= EQAPO_CHANNELS_MOST)
        reading->channels_seen = mask->columns;
    return STATUS_OK;
}

/* The file's channels serve the selected channels in turn. */
enum status eqapo_convolution(struct eqapo *reading, char *text)
{
    const struct mask *mask;
    size_t column = 0, channels = mask_matrix_outputs(reading->matrix);
    TRY(load(reading, text, &mask));
    for (size_t c = 0; c < channels; c++)
        if (reading->is_selected[c])
            TRY(mask_matrix_filter(reading->matrix, c, 1, 0,
                                   mask_column(mask, column++ % mask->columns), mask->taps));
    return STATUS_OK;
}

/* ---- GraphicEQ: ---- */

struct point {
    double hertz, level;
};

static int compare(const void *a, const void *b)
{
    double first = ((const struct point *)a)->hertz, second = ((const struct point *)b)->hertz;
    return (first > second) - (first < second);
}

static double graphic_at(const void *context, double hertz)
{
    return fmax(audio_from_db(level_curve_at(context, hertz)), GRAPHIC_LEAST);
}

/* Points in any order, separated by semicolons. */
static enum status parse_points(const struct eqapo *reading, char *text, struct point *points,
                                size_t *count)
{
    for (char *part = text; part;) {
        char *next = strchr(part, ';');
        if (next)
            *next++ = '\0';
        struct point *point = &points[*count];
        char *rest = part;
        rest += strspn(rest, " \t");
        part = next;
        if (!*rest)
            continue;
        const char *whole = rest;
        if (!eq_number_read(&rest, "Hz", &point->hertz) ||
            !eq_number_read(&rest, "dB", &point->level) || rest[strspn(rest, " \t")])
            return mask_config_refuse(
                reading->now, "'%.40s' is not a frequency and a gain, such as 105 -6.4", whole);
        if (!(point->hertz > 0) || fabs(point->level) > DB_MOST)
            return mask_config_refuse(reading->now, "a gain of %g dB at %g Hz", point->level,
                                      point->hertz);
        ++*count;
    }
    qsort(points, *count, sizeof *points, compare);
    return STATUS_OK;
}

static enum status make_curve(const struct eqapo *reading, char *text, struct level_curve *curve)
{
    size_t most = 1, count = 0;
    for (const char *at = text; *at; at++)
        most += *at == ';';
    struct point *points = calloc(most, sizeof *points);
    if (!points)
        return fail_memory("a mask");
    enum status status = parse_points(reading, text, points, &count);
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        bool is_again = i > 0 && points[i].hertz <= points[i - 1].hertz;
        if (is_again && points[i].level != points[i - 1].level)
            status = mask_config_refuse(reading->now, "two gains at %g Hz", points[i].hertz);
        else if (!is_again)
            status = level_curve_add(curve, points[i].hertz, points[i].level);
    }
    free(points);
    return status;
}

/* The filter of a curve, while it is fitted: the corners of the curve are rounded by the length. */
struct graphic {
    const struct level_curve *asked;
    struct level_curve tried; /* the same frequencies, levels that make the asked ones */
    double rate;
    size_t shortest, count; /* of taps */
    double *taps;
    double *gains; /* at the points */
    double error;  /* dB: the largest */
    double hertz;  /* where */
};

static void graphic_free(struct graphic *graphic)
{
    level_curve_free(&graphic->tried);
    free(graphic->taps);
    free(graphic->gains);
}

static enum status start_length(struct graphic *graphic, size_t count)
{
    size_t points = level_curve_count(graphic->asked);
    graphic_free(graphic);
    graphic->tried = (struct level_curve){0};
    graphic->count = count;
    graphic->taps = calloc(count, sizeof *graphic->taps);
    graphic->gains = calloc(points, sizeof *graphic->gains);
    if (!graphic->taps || !graphic->gains)
        return fail_memory("a mask");
    for (size_t i = 0; i < points; i++)
        TRY(level_curve_add(&graphic->tried, level_curve_hertz(graphic->asked, i),
                            graphic->asked->levels.values[i]));
    return STATUS_OK;
}

/* Measure the errors, and take them from the levels that are tried next. */
static void correct(struct graphic *graphic)
{
    size_t points = level_curve_count(graphic->asked);
    const double *levels = graphic->asked->levels.values;
    double largest = GRAPHIC_LEAST;
    for (size_t i = 0; i < points; i++)
        largest = fmax(largest, audio_from_db(levels[i]));
    graphic->error = 0;
    for (size_t i = 0; i < points && !isnan(graphic->gains[i]); i++) {
        double wanted = fmax(audio_from_db(levels[i]), GRAPHIC_LEAST), gain = graphic->gains[i];
        double error = level_curve_error(gain, wanted, largest * GRAPHIC_DEPTH);
        if (wanted > largest * GRAPHIC_DEPTH)
            graphic->tried.levels.values[i] += 20 * log10(wanted / fmax(gain, GRAPHIC_LEAST));
        if (error > graphic->error) {
            graphic->error = error;
            graphic->hertz = level_curve_hertz(graphic->asked, i);
        }
    }
}

static enum status try_length(struct eqapo *reading, struct graphic *graphic, size_t count)
{
    const struct phase_magnitude magnitude = {graphic_at, &graphic->tried};
    TRY(start_length(graphic, count));
    for (size_t turn = 0; turn < GRAPHIC_TURNS; turn++) {
        reading->designed += count / graphic->shortest;
        if (reading->designed > GRAPHIC_WORK)
            return mask_config_refuse(reading->now,
                                      "its GraphicEQ: lines are too many or too steep: make one of "
                                      "those that follow each other");
        TRY(phase_design(&magnitude, graphic->rate, PHASE_MINIMUM, graphic->taps, count));
        TRY(level_curve_measure(graphic->asked, graphic->rate, graphic->taps, count,
                                graphic->gains));
        correct(graphic);
        if (graphic->error <= GRAPHIC_ERROR || graphic->error > GRAPHIC_CORRECTED)
            break;
    }
    return STATUS_OK;
}

/* As the documentation says; Equalizer APO's own grid of frequencies is half a bin (0.7 Hz) off. */
static enum status fit(struct eqapo *reading, struct graphic *graphic)
{
    size_t count = GRAPHIC_TAPS;
    while (count < MATRIX_TAPS_MOST && (double)count / GRAPHIC_TAPS < graphic->rate / 48000.0)
        count *= 2;
    graphic->shortest = count;
    for (;; count *= 2) {
        TRY(try_length(reading, graphic, count));
        if (graphic->error <= GRAPHIC_ERROR || count == graphic->shortest * GRAPHIC_TIMES_MOST)
            break;
    }
    if (graphic->error > GRAPHIC_ERROR)
        note("mask %s: line %zu: GraphicEQ: is too steep for %zu taps: at %g Hz it is %.1f dB off",
             reading->now->file, reading->now->line, graphic->count, graphic->hertz,
             graphic->error);
    return filter_all(reading, 1, 0, graphic->taps, recursive_kept(graphic->taps, graphic->count));
}

static enum status filter_graphic(struct eqapo *reading, const struct level_curve *curve)
{
    struct graphic graphic = {.asked = curve, .rate = reading->config->rate};
    enum status status = fit(reading, &graphic);
    graphic_free(&graphic);
    return status;
}

enum status eqapo_graphic(struct eqapo *reading, char *text)
{
    struct level_curve curve = {0};
    if (strchr(text, ',') && strchr(text, '.'))
        return mask_config_refuse(reading->now,
                                  "GraphicEQ: with commas and points: where there is a point, a "
                                  "comma ends a number in Equalizer APO: write points alone");
    TRY(count_filter(reading));
    enum status status = make_curve(reading, text, &curve);
    if (status == STATUS_OK && level_curve_count(&curve) > 0)
        status = filter_graphic(reading, &curve);
    level_curve_free(&curve);
    return status;
}
