#include "base/colour_map.h"
#include "base/printable.h"
#include "spectrogram/spectrogram.h"
#include "spectrogram/spectrogram_figure.h"

#include <math.h>

enum {
    MARGIN = 6, /* characters: a frequency and a blank */
    GAP = 2,    /* between two pictures */
    LEAST = 24, /* width of a picture beside another */
    AROUND = 2, /* lines of a picture: its name and its times */
    BELOW = 2,  /* lines below all: the scale, and the prompt */
    SCALE = 32, /* of the scale's colours */
    TIME_WIDE = 10,
    LINES_A_TICK = 2,
};

static const char ramp[] = " .:-=+*#%@";

struct page {
    const struct spectrogram_figure *figure;
    const struct spectrogram_text_settings *settings;
    FILE *stream;
    size_t cells; /* a picture's width */
    size_t lines; /* and height */
};

static size_t abreast_of(size_t count, const struct spectrogram_text_settings *settings)
{
    size_t abreast = (settings->width - MARGIN + GAP) / (LEAST + GAP);
    return abreast == 0 ? 1 : abreast < count ? abreast : count;
}

static size_t lines_of(size_t count, const struct spectrogram_text_settings *settings)
{
    size_t abreast = abreast_of(count, settings), groups = (count + abreast - 1) / abreast;
    size_t lines = (settings->height - BELOW) / groups;
    return lines > AROUND + 1 ? lines - AROUND : 2;
}

static bool has_halves(const struct spectrogram_text_settings *settings)
{
    return settings->halves && settings->ink != SPECTROGRAM_INK_CHARACTERS;
}

size_t spectrogram_text_rows(size_t count, const struct spectrogram_text_settings *settings)
{
    return lines_of(count, settings) * (has_halves(settings) ? 2 : 1);
}

/* 0 to 1 on the scale: the largest of the columns whose middle is in the cell, or the column that
 * the cell is in; NaN after the end. */
static double share_at(const struct page *page, size_t index, size_t cell, size_t row)
{
    const struct spectrogram_figure *figure = page->figure;
    const struct spectrogram *picture = &figure->pictures[index];
    double wide = (figure->to - figure->from) / (double)page->cells / picture->step;
    size_t from = (size_t)ceil((double)cell * wide - 0.5);
    size_t end = (size_t)ceil((double)(cell + 1) * wide - 0.5);
    if (wide <= 1 || end <= from) {
        from = (size_t)(((double)cell + 0.5) * wide);
        end = from + 1;
    }
    if (from >= picture->columns)
        return NAN;
    float power = 0;
    for (size_t c = from; c < end && c < picture->columns; c++)
        power = fmaxf(power, picture->power[c * picture->axis.rows + row]);
    double db = spectrogram_db((double)power, figure->bottom);
    return fmin((db - figure->bottom) / (figure->top - figure->bottom), 1);
}

static void print_colour(const struct page *page, bool is_upper, double share)
{
    struct colour colour = colour_map_at(share);
    int layer = is_upper ? 38 : 48;
    if (page->settings->ink == SPECTROGRAM_INK_ALL)
        fprintf(page->stream, "\033[%d;2;%d;%d;%dm", layer, colour.red, colour.green, colour.blue);
    else
        fprintf(page->stream, "\033[%d;5;%dm", layer, colour_map_terminal(colour));
}

static void print_cell(const struct page *page, double lower, double upper)
{
    if (isnan(lower)) {
        fputc(' ', page->stream);
    } else if (page->settings->ink == SPECTROGRAM_INK_CHARACTERS) {
        fputc(ramp[lrint(lower * (double)(sizeof ramp - 2))], page->stream);
    } else {
        print_colour(page, false, lower);
        if (has_halves(page->settings)) {
            print_colour(page, true, upper);
            fputs("\u2580", page->stream);
        } else {
            fputc(' ', page->stream);
        }
    }
}

static void end_colours(const struct page *page)
{
    if (page->settings->ink != SPECTROGRAM_INK_CHARACTERS)
        fputs("\033[0m", page->stream);
}

static void print_cells(const struct page *page, size_t index, size_t line)
{
    bool halves = has_halves(page->settings);
    size_t low = (page->lines - 1 - line) * (halves ? 2 : 1);
    for (size_t cell = 0; cell < page->cells; cell++) {
        double lower = share_at(page, index, cell, low);
        if (isnan(lower))
            end_colours(page);
        print_cell(page, lower, halves ? share_at(page, index, cell, low + 1) : lower);
    }
    end_colours(page);
}

static void print_frequency(const struct page *page, size_t line)
{
    const struct spectrogram_axis *axis = &page->figure->pictures[0].axis;
    struct spectrogram_ticks ticks = spectrogram_ticks_hz(axis, page->lines / LINES_A_TICK);
    char text[SPECTROGRAM_TICK_TEXT] = "";
    for (size_t i = 0; i < ticks.count; i++) {
        double above = spectrogram_axis_row(axis, ticks.at[i]) / (double)axis->rows;
        double place = fmin(above * (double)page->lines, (double)page->lines - 1);
        if (page->lines - 1 - (size_t)place == line) /* of several, the highest */
            spectrogram_tick_hz(ticks.at[i], text);
    }
    fprintf(page->stream, "%*s ", MARGIN - 1, text);
}

/* Truncates to the width, by characters. */
static void print_name(const struct page *page, const char *name)
{
    size_t done = 0;
    for (const unsigned char *at = (const unsigned char *)printable(name); *at; at++) {
        bool begins = (*at & 0xC0) != 0x80; /* else a later byte of UTF-8 */
        if (begins && done++ == page->cells) {
            done = page->cells;
            break;
        }
        fputc(*at, page->stream);
    }
    fprintf(page->stream, "%*s", (int)(page->cells - done), "");
}

static void print_times(const struct page *page)
{
    const struct spectrogram_figure *figure = page->figure;
    size_t most = page->cells / TIME_WIDE, done = 0;
    struct spectrogram_ticks ticks =
        spectrogram_ticks_seconds(figure->from, figure->to, most ? most : 1);
    for (size_t i = 0; i < ticks.count; i++) {
        char text[32];
        double share = (ticks.at[i] - figure->from) / (figure->to - figure->from);
        size_t place = (size_t)(share * (double)page->cells);
        int length =
            snprintf(text, sizeof text, "%.6g s", fabs(ticks.at[i]) < 1e-9 ? 0 : ticks.at[i]);
        if (place < done || place + (size_t)length > page->cells)
            continue;
        fprintf(page->stream, "%*s%s", (int)(place - done), "", text);
        done = place + (size_t)length;
    }
    fprintf(page->stream, "%*s", (int)(page->cells - done), "");
}

static void print_scale(const struct page *page)
{
    bool ink = page->settings->ink != SPECTROGRAM_INK_CHARACTERS;
    size_t cells = ink ? page->cells < SCALE ? page->cells : SCALE : sizeof ramp - 1;
    fprintf(page->stream, "%*s%.0f dBFS ", MARGIN, "", page->figure->bottom);
    for (size_t i = 0; i < cells; i++) {
        double share = (double)i / (double)(cells - 1);
        print_cell(page, share, share);
    }
    end_colours(page);
    fprintf(page->stream, " %.0f dBFS\n", page->figure->top);
}

static void print_group(const struct page *page, size_t from, size_t end)
{
    for (size_t i = from; i < end; i++) {
        fprintf(page->stream, "%*s", i == from ? MARGIN : GAP, "");
        print_name(page, page->figure->names[i]);
    }
    fputc('\n', page->stream);
    for (size_t line = 0; line < page->lines; line++) {
        print_frequency(page, line);
        for (size_t i = from; i < end; i++) {
            fprintf(page->stream, "%*s", i == from ? 0 : GAP, "");
            print_cells(page, i, line);
        }
        fputc('\n', page->stream);
    }
    for (size_t i = from; i < end; i++) {
        fprintf(page->stream, "%*s", i == from ? MARGIN : GAP, "");
        print_times(page);
    }
    fputc('\n', page->stream);
}

void spectrogram_text_print(FILE *stream, const struct spectrogram_figure *figure,
                            const struct spectrogram_text_settings *settings)
{
    size_t abreast = abreast_of(figure->count, settings);
    struct page page = {
        .figure = figure,
        .settings = settings,
        .stream = stream,
        .cells = (settings->width - MARGIN - (abreast - 1) * GAP) / abreast,
        .lines = lines_of(figure->count, settings),
    };
    for (size_t i = 0; i < figure->count; i += abreast)
        print_group(&page, i, i + abreast < figure->count ? i + abreast : figure->count);
    print_scale(&page);
}
