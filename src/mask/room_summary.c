#include "mask/room_summary.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>

enum { CELL = 9 };

/* The values of a band: in text multiplied by `scale`. */
static const struct room_column {
    const char *head, *name;
    size_t offset;
    const char *format; /* of a value with its unit */
    double scale;
} room_columns[] = {
    {"EDT", "edt", offsetof(struct room_band, edt), "%.2f s", 1},
    {"T20", "t20", offsetof(struct room_band, t20), "%.2f s", 1},
    {"T30", "t30", offsetof(struct room_band, t30), "%.2f s", 1},
    {"C50", "c50_db", offsetof(struct room_band, c50), "%.1f dB", 1},
    {"C80", "c80_db", offsetof(struct room_band, c80), "%.1f dB", 1},
    {"D50", "d50", offsetof(struct room_band, d50), "%.0f %%", 100},
    {"DRR", "drr_db", offsetof(struct room_band, drr), "%.1f dB", 1},
    {"range", "range_db", offsetof(struct room_band, range), "%.0f dB", 1},
};
enum { COLUMNS = sizeof room_columns / sizeof *room_columns };

static double value_of(const struct room_band *band, const struct room_column *column)
{
    return *(const double *)((const char *)band + column->offset);
}

static void print_band(const struct room_band *band, int head)
{
    char text[32];
    snprintf(text, sizeof text, "%.0f Hz", band->hz);
    printf("    %-*s", head - 2, band->hz > 0 ? text : "all");
    for (size_t c = 0; c < COLUMNS; c++) {
        double value = value_of(band, &room_columns[c]) * room_columns[c].scale;
        snprintf(text, sizeof text, "%s", "-");
        if (isfinite(value))
            snprintf(text, sizeof text, room_columns[c].format, value);
        printf("%*s", CELL, text);
    }
    puts("");
}

void room_summary_print(const struct room_acoustics *room, const char *title, int head)
{
    printf("  %-*s", head, title);
    for (size_t c = 0; c < COLUMNS; c++)
        printf("%*s", CELL, room_columns[c].head);
    puts("");
    for (size_t b = 0; b < room->count; b++)
        print_band(&room->band[b], head);
}

json_t *room_summary_array(const struct room_acoustics *room)
{
    if (!room_acoustics_is_room(room))
        return json_null();
    json_t *bands = json_array();
    for (size_t b = 0; b < room->count; b++) {
        const struct room_band *band = &room->band[b];
        json_t *object = json_pack("{s:o}", "hz", band->hz > 0 ? json_real(band->hz) : json_null());
        for (size_t c = 0; c < COLUMNS; c++) {
            double value = value_of(band, &room_columns[c]);
            json_object_set_new(object, room_columns[c].name,
                                isfinite(value) ? json_real(value) : json_null());
        }
        json_array_append_new(bands, object);
    }
    return bands;
}
