#include "plot/mask_summary.h"

#include "acoustics/room_acoustics.h"
#include "base/gnuplot.h"
#include "base/json_text.h"
#include "base/plural.h"
#include "base/printable.h"
#include "design/mask2d.h"
#include "plot/mask_measured.h"
#include "signal/audio.h"
#include "sound/file/sound_format.h"
#include "sound/sndfile_library.h"

#include <jansson.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* ---- rooms ---- */

enum { ROOM_CELL = 9 };

/* A column of the table of rooms, for a value of a band. In text the value is times `scale`. */
static const struct room_column {
    const char *head, *name;
    size_t offset;
    const char *format; /* format of a value with its unit */
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
        printf("%*s", ROOM_CELL, text);
    }
    puts("");
}

static void print_room(const struct room_acoustics *room, const char *title, int head)
{
    printf("  %-*s", head, title);
    for (size_t c = 0; c < COLUMNS; c++)
        printf("%*s", ROOM_CELL, room_columns[c].head);
    puts("");
    for (size_t b = 0; b < room->count; b++)
        print_band(&room->band[b], head);
}

static void print_reflections(const struct reflections *reflections, int head)
{
    if (reflections->count > 0)
        printf("  %-*s%*s%*s%*s\n", head, "reflections", ROOM_CELL, "after", ROOM_CELL, "path",
               ROOM_CELL, "level");
    for (size_t i = 0; i < reflections->count; i++) {
        const struct reflection *of = &reflections->of[i];
        printf("    %-*s%6.1f ms%7.2f m%6.1f dB\n", head - 2, "", 1e3 * of->seconds,
               of->seconds * SPEED_OF_SOUND, of->db);
    }
}

static json_t *reflections_array(const struct room_acoustics *room)
{
    json_t *array = json_array();
    for (size_t i = 0; i < room->reflections.count; i++) {
        const struct reflection *of = &room->reflections.of[i];
        json_array_append_new(array, json_pack("{s:f, s:f, s:f}", "seconds", of->seconds, "metres",
                                               of->seconds * SPEED_OF_SOUND, "db", of->db));
    }
    return array;
}

static json_t *room_array(const struct room_acoustics *room)
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

/* ---- masks ---- */

enum { HEAD = 17, CELL = 21, CELLS_IN_A_ROW = 4, PATHS_IN_A_ROW = 8, SPEC = 96 };

static const char *const symmetries[] = {"none", "even", "odd"};

/* Writes "WAV (Microsoft), pcm24" or the like; for other files, the reader's kind. */
static void describe_format(const struct mask *mask, char text[SPEC])
{
    SF_FORMAT_INFO container = {.format = mask->sound_format & SF_FORMAT_TYPEMASK};
    snprintf(text, SPEC, "%s", mask->kind ? mask->kind : "made");
    if (mask->sound_format &&
        sf_command(NULL, SFC_GET_FORMAT_INFO, &container, sizeof container) == 0)
        snprintf(text, SPEC, "%s, %s", container.name, sound_format_name(mask->sound_format));
}

static const char *phase_name(const struct mask_column_stats *column)
{
    bool linear = column->symmetry != MASK_ASYMMETRIC;
    return linear && column->minimum_phase ? "linear, minimum"
           : linear                        ? "linear"
           : column->minimum_phase         ? "minimum"
                                           : "mixed";
}

struct summary_cell {
    char text[40];
};

static struct summary_cell db_cell(double amplitude)
{
    struct summary_cell cell;
    if (fabs(amplitude) > 0)
        snprintf(cell.text, sizeof cell.text, "%.1f dB",
                 round(10 * audio_to_db(fabs(amplitude))) / 10 + 0.0); /* + 0.0 avoids -0.0 */
    else
        snprintf(cell.text, sizeof cell.text, "nothing");
    return cell;
}

static struct summary_cell time_cell(double frames, uint32_t rate)
{
    struct summary_cell cell;
    snprintf(cell.text, sizeof cell.text, "%.*f (%.2f ms)", frames == floor(frames) ? 0 : 1, frames,
             1e3 * frames / rate);
    return cell;
}

static struct summary_cell word_cell(const char *word)
{
    struct summary_cell cell;
    snprintf(cell.text, sizeof cell.text, "%s", word);
    return cell;
}

enum cell_kind { CELL_DB, CELL_TAPS, CELL_DELAY, CELL_PHASE, CELL_SYMMETRY, CELL_GAIN, CELL_POWER };

#define ROW(name, kind, field) {name, kind, offsetof(struct mask_column_stats, field)}
static const struct summary_row {
    const char *name;
    enum cell_kind kind;
    size_t offset; /* offset of the field in the struct */
} summary_rows[] = {
    ROW("taps to -60 dB", CELL_TAPS, taps[0]),
    ROW("taps to -90 dB", CELL_TAPS, taps[1]),
    ROW("taps to -120 dB", CELL_TAPS, taps[2]),
    ROW("peak", CELL_DB, peak),
    ROW("peak at", CELL_TAPS, peak_at),
    ROW("group delay", CELL_DELAY, group_delay),
    ROW("phase", CELL_PHASE, minimum_phase),
    ROW("symmetry", CELL_SYMMETRY, symmetry),
    ROW("gain at 0 Hz", CELL_DB, dc),
    ROW("peak gain", CELL_GAIN, gain),
    ROW("pink noise", CELL_DB, pink),
    ROW("white noise", CELL_POWER, energy),
    ROW("worst peak (L1)", CELL_DB, magnitude),
    ROW("RMS", CELL_DB, rms),
    ROW("silence before", CELL_TAPS, silence_before),
    ROW("silence after", CELL_TAPS, silence_after),
    ROW("starts at", CELL_DB, start),
    ROW("ends at", CELL_DB, end),
};
enum { ROWS = sizeof summary_rows / sizeof *summary_rows };

static struct summary_cell cell_of(const struct summary_row *row,
                                   const struct mask_column_stats *column, uint32_t rate)
{
    const void *at = (const char *)column + row->offset;
    struct summary_cell cell;
    if (column->silent)
        return word_cell(at == &column->peak ? "silent" : "-");
    switch (row->kind) {
    case CELL_TAPS:
        return time_cell((double)*(const size_t *)at, rate);
    case CELL_DELAY:
        return time_cell(round(10 * column->group_delay) / 10, rate);
    case CELL_PHASE:
        return word_cell(phase_name(column));
    case CELL_SYMMETRY:
        return word_cell(symmetries[column->symmetry]);
    case CELL_POWER:
        return db_cell(sqrt(column->energy));
    case CELL_GAIN:
        snprintf(cell.text, sizeof cell.text, "%.20s at %.0f Hz", db_cell(column->gain).text,
                 column->gain_hz);
        return cell;
    default:
        return db_cell(*(const double *)at);
    }
}

static void print_columns(const struct mask_stats *stats, size_t from)
{
    size_t end = from + CELLS_IN_A_ROW < stats->columns ? from + CELLS_IN_A_ROW : stats->columns;
    if (stats->columns > 1) {
        printf("  %-*s", HEAD, "");
        for (size_t c = from; c < end; c++) {
            char head[32];
            snprintf(head, sizeof head, "channel %zu", c + 1);
            printf("%-*s", c + 1 < end ? CELL : 0, head);
        }
        puts("");
    }
    for (size_t row = 0; row < ROWS; row++) {
        printf("  %-*s", HEAD, summary_rows[row].name);
        for (size_t c = from; c < end; c++)
            printf("%-*s", c + 1 < end ? CELL : 0,
                   cell_of(&summary_rows[row], &stats->column[c], stats->rate).text);
        puts("");
    }
}

static void print_contents(const char *contents)
{
    for (const char *head = "holds"; contents; head = "") {
        char line[512];
        size_t length = strcspn(contents, "\n");
        snprintf(line, sizeof line, "%.*s", (int)length, contents);
        printf("  %-*s%s\n", HEAD, head, printable(line));
        contents = contents[length] ? contents + length + 1 : NULL;
    }
}

static void print_rooms(const struct mask_stats *stats)
{
    for (size_t c = 0; c < stats->columns; c++) {
        char title[40] = "room";
        if (stats->columns > 1)
            snprintf(title, sizeof title, "room, channel %zu", c + 1);
        if (room_acoustics_is_room(&stats->column[c].room)) {
            print_room(&stats->column[c].room, title, HEAD);
            print_reflections(&stats->column[c].room.reflections, HEAD);
        }
    }
}

static void print_paths(const struct mask *mask)
{
    printf("  %-*s", HEAD, "paths");
    for (size_t p = 0; p < mask->path_count; p++) {
        if (p > 0)
            printf(p % PATHS_IN_A_ROW == 0 ? ",\n  %*s" : ", ", p % PATHS_IN_A_ROW == 0 ? HEAD : 0,
                   "");
        printf("%zu>%zu", mask->paths[p].input + 1, mask->paths[p].output + 1);
        if (mask->columns > 1)
            printf(" by %zu", mask->paths[p].column + 1);
    }
    puts("");
}

void mask_summary_print(const struct mask_summary *summary)
{
    const struct mask *mask = summary->mask;
    const struct mask_stats *stats = summary->stats;
    char format[SPEC];
    describe_format(mask, format);
    printf("%s\n  %-*s%s, ", printable(summary->text), HEAD, "format", format);
    if (mask->rate)
        printf("%u Hz, ", mask->rate);
    else
        printf("no rate (times are for %u Hz), ", stats->rate);
    printf("%zu channel%s, %zu tap%s, %.2f ms\n", mask->columns, plural_s(mask->columns),
           mask->taps, plural_s(mask->taps), 1e3 * (double)mask->taps / stats->rate);
    print_contents(mask->contents);
    if (summary->measurement)
        mask_measured_print(summary->measurement, HEAD);
    print_paths(mask);
    for (size_t c = 0; c < stats->columns; c += CELLS_IN_A_ROW)
        print_columns(stats, c);
    print_rooms(stats);
    for (size_t o = 0; o < stats->outputs; o++)
        printf("  output %-*zu%.1f dB of headroom for music, %s at the worst\n", HEAD - 7, o + 1,
               stats->output[o].headroom, db_cell(stats->output[o].magnitude).text);
    for (size_t t = 0; t < summary->trouble_count; t++)
        printf("  %-*s%s: %s\n", HEAD, t == 0 ? "LINT" : "", printable(summary->troubles[t].text),
               printable(summary->troubles[t].remedy));
    if (summary->trouble_count == 0)
        printf("  %-*snothing wrong\n", HEAD, "lint");
}

static json_t *db_or_null(double amplitude)
{
    return fabs(amplitude) > 0 ? json_real(audio_to_db(fabs(amplitude))) : json_null();
}

static json_t *column_object(const struct mask_column_stats *column)
{
    return json_pack(
        "{s:b, s:I, s:I, s:I, s:f, s:I, s:f, s:s, s:s, s:b, s:o, s:o, s:f, s:o, s:o, s:o, s:o, "
        "s:I, s:I, s:o, s:o, s:o, s:o}",
        "silent", column->silent, "taps_60", (json_int_t)column->taps[0], "taps_90",
        (json_int_t)column->taps[1], "taps_120", (json_int_t)column->taps[2], "peak", column->peak,
        "peak_at", (json_int_t)column->peak_at, "group_delay", column->group_delay, "phase",
        phase_name(column), "symmetry", symmetries[column->symmetry], "minimum_phase",
        column->minimum_phase, "dc_db", db_or_null(column->dc), "gain_db", db_or_null(column->gain),
        "gain_hz", column->gain_hz, "pink_db", db_or_null(column->pink), "white_db",
        db_or_null(sqrt(column->energy)), "l1_db", db_or_null(column->magnitude), "rms_db",
        db_or_null(column->rms), "silence_before", (json_int_t)column->silence_before,
        "silence_after", (json_int_t)column->silence_after, "start_db", db_or_null(column->start),
        "end_db", db_or_null(column->end), "room", room_array(&column->room), "reflections",
        reflections_array(&column->room));
}

static json_t *paths_array(const struct mask *mask)
{
    json_t *paths = json_array();
    for (size_t p = 0; p < mask->path_count; p++)
        json_array_append_new(paths, json_pack("{s:I, s:I, s:I}", "input",
                                               (json_int_t)mask->paths[p].input + 1, "output",
                                               (json_int_t)mask->paths[p].output + 1, "channel",
                                               (json_int_t)mask->paths[p].column + 1));
    return paths;
}

json_t *mask_summary_object(const struct mask_summary *summary)
{
    const struct mask *mask = summary->mask;
    const struct mask_stats *stats = summary->stats;
    char format[SPEC];
    describe_format(mask, format);
    json_t *columns = json_array(), *outputs = json_array(), *troubles = json_array();
    for (size_t c = 0; c < stats->columns; c++)
        json_array_append_new(columns, column_object(&stats->column[c]));
    for (size_t o = 0; o < stats->outputs; o++) {
        const struct mask_output_stats *output = &stats->output[o];
        json_array_append_new(outputs,
                              json_pack("{s:f, s:o, s:o, s:o, s:f}", "headroom_db",
                                        output->headroom, "l1_db", db_or_null(output->magnitude),
                                        "pink_db", db_or_null(output->pink), "gain_db",
                                        db_or_null(output->gain), "gain_hz", output->gain_hz));
    }
    for (size_t t = 0; t < summary->trouble_count; t++)
        json_array_append_new(troubles, json_pack("{s:s, s:s}", "text", summary->troubles[t].text,
                                                  "remedy", summary->troubles[t].remedy));
    json_t *object = json_pack("{s:o, s:s, s:o, s:I, s:I, s:f, s:o, s:o, s:o, s:o}", "mask",
                               json_text(summary->text), "format", format, "rate",
                               mask->rate ? json_integer(mask->rate) : json_null(), "channels",
                               (json_int_t)mask->columns, "taps", (json_int_t)mask->taps, "seconds",
                               (double)mask->taps / stats->rate, "paths", paths_array(mask),
                               "columns", columns, "outputs", outputs, "troubles", troubles);
    if (mask->contents)
        json_object_set_new(object, "contents", json_text(mask->contents));
    if (summary->measurement)
        json_object_set_new(object, "measurement", measurement_object(summary->measurement));
    return object;
}

/* ---- masks of two dimensions ---- */

enum { HEAD_2D = 19 };

struct sums {
    double all;
    double magnitudes;
    double least;
    double most;
};

static struct sums sums_of(const struct mask2d *mask)
{
    struct sums sums = {.least = INFINITY, .most = -INFINITY};
    for (size_t i = 0; i < mask->rows * mask->columns; i++) {
        double tap = (double)mask->taps[i];
        sums.all += tap;
        sums.magnitudes += fabs(tap);
        sums.least = fmin(sums.least, tap);
        sums.most = fmax(sums.most, tap);
    }
    if (fabs(sums.all) < 1e-6 * sums.magnitudes) /* only rounding errors */
        sums.all = 0;
    return sums;
}

static void print_gain(const char *what, double sum)
{
    printf("  %-*s%.6g", HEAD_2D, what, sum);
    if (fabs(sum) > 0)
        printf(" (%.1f dB)\n", round(10 * audio_to_db(fabs(sum))) / 10 + 0.0);
    else
        puts(" (nothing)");
}

void mask2d_summary_print(const char *text, const struct mask2d *mask)
{
    struct sums sums = sums_of(mask);
    size_t down = mask->rows / 2, across = mask->columns / 2;
    printf("%s\n", printable(text));
    printf("  %-*s%s of two dimensions, for --spectral\n", HEAD_2D, "kind",
           mask2d_design_is_spec(text) ? "made, a mask" : "text, a mask");
    printf("  %-*s%zu row%s of time x %zu column%s of frequency, origin at row %zu, column %zu\n",
           HEAD_2D, "size", mask->rows, plural_s(mask->rows), mask->columns,
           plural_s(mask->columns), down, across);
    printf("  %-*s%zu ahead and %zu back in time, %zu up and %zu down in frequency\n", HEAD_2D,
           "reaches", down, mask->rows - 1 - down, across, mask->columns - 1 - across);
    print_gain("gain at DC", sums.all);
    print_gain("sum of magnitudes", sums.magnitudes);
    printf("  %-*s%.6g to %.6g\n", HEAD_2D, "coefficients", sums.least, sums.most);
    if (mask->is_separable)
        printf("  %-*syes: %zu + %zu products for %zu\n", HEAD_2D, "separable", mask->rows,
               mask->columns, mask->rows * mask->columns);
    else
        printf("  %-*sno\n", HEAD_2D, "separable");
}

json_t *mask2d_summary_object(const char *text, const struct mask2d *mask)
{
    struct sums sums = sums_of(mask);
    return json_pack("{s:o, s:s, s:I, s:I, s:[I, I], s:b, s:f, s:f, s:o, s:f, s:f}", "mask",
                     json_text(text), "format", "mask2d", "rows", (json_int_t)mask->rows, "columns",
                     (json_int_t)mask->columns, "origin", (json_int_t)(mask->rows / 2),
                     (json_int_t)(mask->columns / 2), "separable", mask->is_separable, "sum",
                     sums.all, "magnitudes", sums.magnitudes, "gain_db", db_or_null(sums.all),
                     "least", sums.least, "most", sums.most);
}

/* The coefficient with the largest magnitude in a character's square. */
static float cell_at(const struct mask2d *mask, size_t row, size_t column, size_t step)
{
    float cell = 0;
    for (size_t i = row; i < row + step && i < mask->rows; i++)
        for (size_t j = column; j < column + step && j < mask->columns; j++)
            if (fabsf(mask->taps[i * mask->columns + j]) > fabsf(cell))
                cell = mask->taps[i * mask->columns + j];
    return cell;
}

static size_t step_for(size_t count, size_t capacity)
{
    return capacity ? (count + capacity - 1) / capacity : count;
}

void mask2d_print_picture(const struct mask2d *mask, size_t width, size_t height)
{
    static const char shades[] = ".:-=+*#%@";
    enum { SHADES = sizeof shades - 1 };
    struct sums sums = sums_of(mask);
    double peak = fmax(fabs(sums.least), fabs(sums.most));
    size_t high = step_for(mask->columns, height), wide = step_for(mask->rows, width / 2);
    size_t step = high > wide ? high : wide;
    for (size_t line = mask->columns; line > 0; line--) {
        if ((line - 1) % step != 0)
            continue;
        for (size_t i = 0; i < mask->rows; i += step) {
            double cell = (double)cell_at(mask, i, line - 1, step);
            int shade = peak > 0 ? (int)ceil(fabs(cell) / peak * SHADES) : 0;
            printf("%c%c", cell < 0 ? '-' : ' ', shade ? shades[shade - 1] : ' ');
        }
        puts("");
    }
    printf("time to the right, frequency up; %c is %.6g%s%s\n", shades[SHADES - 1], peak,
           sums.least < 0 ? ", - before it is below 0" : "",
           step > 1 ? "; largest of several" : "");
}

enum { SUBPLOT_WIDE = 560, SUBPLOT_HIGH = 480, SUBPLOTS_IN_A_ROW = 3, TICKS = 12 };

static void send_axis(FILE *commands, char axis, size_t count)
{
    double from = -(double)(count / 2), to = from + (double)count - 1;
    fprintf(commands, "set %crange [%g:%g]\nset %ctics %zu\n", axis, from - 0.5, to + 0.5, axis,
            count / TICKS + 1);
}

static void send_colours(FILE *commands, const struct mask2d *mask)
{
    double peak = 0;
    bool has_negative = false;
    for (size_t i = 0; i < mask->rows * mask->columns; i++) {
        peak = fmax(peak, fabs((double)mask->taps[i]));
        has_negative = has_negative || mask->taps[i] < 0;
    }
    if (peak == 0)
        peak = 1;
    if (has_negative) /* orange below 0, purple above; readable for the colour-blind */
        fputs("set palette defined (0 '#b35806', 1 '#f7f7f7', 2 '#542788')\n", commands);
    else
        gnuplot_send_palette(commands);
    fprintf(commands, "set cbrange [%.9g:%.9g]\n", has_negative ? -peak : 0, peak);
}

/* Sends boxes, since gnuplot draws no image of a single row or column. */
static void send_subplot(FILE *commands, const struct mask2d *mask, const char *name)
{
    send_colours(commands, mask);
    fputs("set title ", commands);
    gnuplot_send_quoted(commands, name);
    fputs("\nset xlabel 'rows of time, from the cell'\n"
          "set ylabel 'columns of frequency, from the cell'\n",
          commands);
    send_axis(commands, 'x', mask->rows);
    send_axis(commands, 'y', mask->columns);
    fputs("plot '-' using 1:2:(0.5):(0.5):3 with boxxyerror fillcolor palette fillstyle solid "
          "noborder notitle\n",
          commands);
    for (size_t i = 0; i < mask->rows; i++)
        for (size_t j = 0; j < mask->columns; j++)
            fprintf(commands, "%g %g %.9g\n", (double)i - (double)(mask->rows / 2),
                    (double)j - (double)(mask->columns / 2),
                    (double)mask->taps[i * mask->columns + j]);
    fputs("e\n", commands);
}

enum status mask2d_plot_draw(const struct mask2d_plot *plot)
{
    size_t across = plot->count < SUBPLOTS_IN_A_ROW ? plot->count : SUBPLOTS_IN_A_ROW;
    size_t down = (plot->count + across - 1) / across;
    const struct gnuplot_settings settings = {
        .file = plot->file,
        .force = plot->force,
        .width = (double)(SUBPLOT_WIDE * across),
        .height = (double)(SUBPLOT_HIGH * down),
    };
    struct gnuplot gnuplot;
    enum status status = gnuplot_open(&settings, &gnuplot);
    if (status == STATUS_OK) {
        FILE *commands = gnuplot.commands;
        fputs("set border lc rgb '#606060'\nset tics textcolor rgb '#303030' out nomirror\n",
              commands);
        if (plot->count > 1)
            fprintf(commands, "set multiplot layout %zu,%zu\n", down, across);
        for (size_t i = 0; i < plot->count; i++)
            send_subplot(commands, plot->masks[i], plot->names[i]);
        if (plot->count > 1)
            fputs("unset multiplot\n", commands);
    }
    return gnuplot_close(&gnuplot, status);
}
