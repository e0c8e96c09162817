#include "plot/room_mean.h"

#include "acoustics/response.h"
#include "base/json_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { HEAD = 17, CELL = 10 };

static const struct {
    const char *head, *format, *name, *spread_name;
    bool is_level; /* in dB; its mean is that of powers */
} values[ROOM_MEANS] = {
    {"level", "%.1f dB", "level_db", "level_spread_db", true},
    {"T20", "%.2f s", "t20", "t20_spread", false},
    {"T30", "%.2f s", "t30", "t30_spread", false},
};

static bool is_like(const struct room_mean *mean, const struct mask_stats *stats)
{
    bool like = stats->columns == mean->columns;
    for (size_t c = 0; c < stats->columns && like; c++)
        like = room_acoustics_is_room(&stats->column[c].room);
    return like;
}

static void add(struct room_sums *sums, double value)
{
    if (!isfinite(value))
        return;
    sums->count++;
    sums->sum += value;
    sums->squares += value * value;
    sums->power += pow(10, value / 10);
}

static enum status add_column(struct room_mean *mean, const struct mask *mask,
                              const struct mask_stats *stats, size_t column)
{
    const struct mask_column_stats *own = &stats->column[column];
    double level[ROOM_BANDS] = {10 * log10(own->energy)};
    struct mask_path path;
    struct mask alone = response_column(mask_column(mask, column), mask->taps, stats->rate, &path);
    size_t octaves = own->room.count > 1 ? own->room.count - 1 : 0;
    struct response_axis axis = {.low = own->room.band[1].hz * M_SQRT1_2, .points = octaves};
    axis.high = axis.low * exp2((double)octaves); /* a point's share is an octave */
    if (octaves > 0)
        TRY(response_measure(&alone, stats->rate, &axis, level + 1));
    for (size_t b = 0; b < own->room.count; b++) {
        struct room_mean_band *band = &mean->bands[column * ROOM_BANDS + b];
        band->hz = own->room.band[b].hz;
        add(&band->of[0], level[b]);
        add(&band->of[1], own->room.band[b].t20);
        add(&band->of[2], own->room.band[b].t30);
    }
    return STATUS_OK;
}

enum status room_mean_add(struct room_mean *mean, const struct mask *mask,
                          const struct mask_stats *stats)
{
    if (mean->masks++ == 0) {
        mean->columns = stats->columns;
        mean->bands = calloc(stats->columns * ROOM_BANDS, sizeof *mean->bands);
        if (!mean->bands)
            return fail_memory("the mean of rooms");
    }
    mean->is_mixed = mean->is_mixed || !is_like(mean, stats);
    for (size_t c = 0; c < stats->columns && !mean->is_mixed; c++)
        TRY(add_column(mean, mask, stats, c));
    return STATUS_OK;
}

void room_mean_free(struct room_mean *mean)
{
    free(mean->bands);
    mean->bands = NULL;
}

bool room_mean_is_known(const struct room_mean *mean)
{
    return mean->masks > 1 && !mean->is_mixed;
}

/* Finds the mean and the spread, which are NAN unless all rooms have the value. */
static double mean_of(const struct room_mean *mean, const struct room_mean_band *band, size_t value,
                      double *spread)
{
    const struct room_sums *sums = &band->of[value];
    double n = (double)sums->count;
    *spread = NAN;
    if (sums->count < mean->masks)
        return NAN;
    *spread = sqrt(fmax(0, sums->squares - sums->sum * sums->sum / n) / (n - 1));
    return values[value].is_level ? 10 * log10(sums->power / n) : sums->sum / n;
}

static void print_cell(const char *format, double value)
{
    char text[32] = "-";
    if (isfinite(value))
        snprintf(text, sizeof text, format, value);
    printf("%*s", CELL, text);
}

static void print_band(const struct room_mean *mean, const struct room_mean_band *band)
{
    char name[32] = "all";
    if (band->hz > 0)
        snprintf(name, sizeof name, "%.0f Hz", band->hz);
    printf("    %-*s", HEAD - 2, name);
    for (size_t v = 0; v < ROOM_MEANS; v++) {
        double spread, own = mean_of(mean, band, v, &spread);
        print_cell(values[v].format, own);
        print_cell(values[v].format, spread);
    }
    puts("");
}

void room_mean_print(const struct room_mean *mean)
{
    printf("\nmean and spread of %zu\n", mean->masks);
    for (size_t c = 0; c < mean->columns; c++) {
        char title[40] = "";
        if (mean->columns > 1)
            snprintf(title, sizeof title, "channel %zu", c + 1);
        printf("  %-*s", HEAD, title);
        for (size_t v = 0; v < ROOM_MEANS; v++)
            printf("%*s%*s", CELL, values[v].head, CELL, "spread");
        puts("");
        for (size_t b = 0; b < ROOM_BANDS; b++)
            if (mean->bands[c * ROOM_BANDS + b].of[0].count == mean->masks)
                print_band(mean, &mean->bands[c * ROOM_BANDS + b]);
    }
}

static json_t *band_object(const struct room_mean *mean, const struct room_mean_band *band)
{
    json_t *object = json_pack("{s:o}", "hz", band->hz > 0 ? json_real(band->hz) : json_null());
    for (size_t v = 0; v < ROOM_MEANS; v++) {
        double spread, own = mean_of(mean, band, v, &spread);
        json_object_set_new(object, values[v].name, json_finite(own));
        json_object_set_new(object, values[v].spread_name, json_finite(spread));
    }
    return object;
}

json_t *room_mean_object(const struct room_mean *mean)
{
    json_t *columns = json_array();
    for (size_t c = 0; c < mean->columns; c++) {
        json_t *bands = json_array();
        for (size_t b = 0; b < ROOM_BANDS; b++) {
            const struct room_mean_band *band = &mean->bands[c * ROOM_BANDS + b];
            if (band->of[0].count == mean->masks)
                json_array_append_new(bands, band_object(mean, band));
        }
        json_array_append_new(columns, bands);
    }
    return json_pack("{s:I, s:o}", "count", (json_int_t)mean->masks, "columns", columns);
}
