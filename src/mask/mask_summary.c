#include "mask/mask_summary.h"

#include "base/json_text.h"
#include "base/plural.h"
#include "base/printable.h"
#include "mask/room_summary.h"
#include "signal/audio.h"
#include "sound/sndfile_library.h"
#include "sound/sound_format.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { HEAD = 17, CELL = 21, CELLS_IN_A_ROW = 4, PATHS_IN_A_ROW = 8, SPEC = 96 };

static const char *const symmetries[] = {"none", "even", "odd"};

/* "WAV (Microsoft), pcm24", or the kind of the reader. */
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
                 round(10 * audio_to_db(fabs(amplitude))) / 10 + 0.0); /* no -0.0 */
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
    size_t offset; /* of the field */
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
        if (room_acoustics_is_room(&stats->column[c].room))
            room_summary_print(&stats->column[c].room, title, HEAD);
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

json_t *mask_summary_db(double amplitude)
{
    return fabs(amplitude) > 0 ? json_real(audio_to_db(fabs(amplitude))) : json_null();
}

static json_t *column_object(const struct mask_column_stats *column)
{
    return json_pack(
        "{s:b, s:I, s:I, s:I, s:f, s:I, s:f, s:s, s:s, s:b, s:o, s:o, s:f, s:o, s:o, s:o, s:o, "
        "s:I, s:I, s:o, s:o, s:o}",
        "silent", column->silent, "taps_60", (json_int_t)column->taps[0], "taps_90",
        (json_int_t)column->taps[1], "taps_120", (json_int_t)column->taps[2], "peak", column->peak,
        "peak_at", (json_int_t)column->peak_at, "group_delay", column->group_delay, "phase",
        phase_name(column), "symmetry", symmetries[column->symmetry], "minimum_phase",
        column->minimum_phase, "dc_db", mask_summary_db(column->dc), "gain_db",
        mask_summary_db(column->gain), "gain_hz", column->gain_hz, "pink_db",
        mask_summary_db(column->pink), "white_db", mask_summary_db(sqrt(column->energy)), "l1_db",
        mask_summary_db(column->magnitude), "rms_db", mask_summary_db(column->rms),
        "silence_before", (json_int_t)column->silence_before, "silence_after",
        (json_int_t)column->silence_after, "start_db", mask_summary_db(column->start), "end_db",
        mask_summary_db(column->end), "room", room_summary_array(&column->room));
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
        json_array_append_new(
            outputs,
            json_pack("{s:f, s:o, s:o, s:o, s:f}", "headroom_db", output->headroom, "l1_db",
                      mask_summary_db(output->magnitude), "pink_db", mask_summary_db(output->pink),
                      "gain_db", mask_summary_db(output->gain), "gain_hz", output->gain_hz));
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
    return object;
}
