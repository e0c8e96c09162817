#include "plot/response_plot.h"

#include "acoustics/response.h"
#include "base/text_stream.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MARGIN = 8, /* characters before the curves, for the levels and the axis */
    BELOW = 2,  /* lines below, for the axis and the frequencies */
    RANGE_MOST = 80,
    RANGE_LEAST = 10,
    LINES_A_TICK = 3,
    FINE = 5, /* dB; ends of the axis are multiples */
};

static const double lowest_hz = 20;

static const struct tick {
    double hz;
    const char *text;
} ticks[] = {
    {20, "20"},   {50, "50"},   {100, "100"},  {200, "200"},  {500, "500"},  {1000, "1k"},
    {2000, "2k"}, {5000, "5k"}, {10e3, "10k"}, {20e3, "20k"}, {40e3, "40k"},
};
enum { TICKS = sizeof ticks / sizeof *ticks };

struct plot_cell {
    unsigned char dots; /* dots of a braille character */
    uint32_t curves;    /* bit i: curve i passes through the cell */
    char letter;        /* letter shown; 0: none */
};

struct plot {
    const struct response_plot_settings *settings;
    const char *letters;
    size_t count;
    size_t columns, rows;        /* cells */
    size_t dots_wide, dots_high; /* dots per cell, across and down */
    struct response_axis axis;   /* each point is a column of dots */
    double *db[RESPONSE_PLOT_MASKS];
    double top, bottom;      /* dB */
    double step;             /* dB between two ticks */
    double range;            /* dB, the most */
    struct plot_cell *cells; /* row after row */
    bool *ticked;            /* [column] has a tick */
};

static enum status measure(struct plot *plot, const struct mask *const *masks)
{
    plot->cells = calloc(plot->columns * plot->rows, sizeof *plot->cells);
    plot->ticked = calloc(plot->columns, sizeof *plot->ticked);
    if (!plot->cells || !plot->ticked)
        return fail_memory("a plot");
    for (size_t i = 0; i < plot->count; i++) {
        plot->db[i] = calloc(plot->axis.points, sizeof *plot->db[i]);
        TRY(plot->db[i] ? response_measure(masks[i], plot->settings->rate, &plot->axis, plot->db[i])
                        : fail_memory("a plot"));
    }
    return STATUS_OK;
}

static void choose_levels(struct plot *plot)
{
    static const double steps[] = {1, 2, 5, 10, 20, 50, 100};
    double top = -INFINITY, bottom = INFINITY, most = (double)(plot->rows / LINES_A_TICK);
    for (size_t i = 0; i < plot->count; i++)
        for (size_t p = 0; p < plot->axis.points; p++) {
            top = fmax(top, plot->db[i][p]);
            bottom = fmin(bottom, plot->db[i][p]);
        }
    if (!isfinite(top))
        top = bottom = 0;
    bottom = fmax(bottom, top - plot->range);
    double lacking = fmax(0, RANGE_LEAST - (top - bottom)) / 2;
    top += lacking;
    bottom -= lacking;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        double unit = fmin(steps[i], FINE);
        plot->step = steps[i];
        plot->top = ceil(top / unit - 1e-6) * unit;
        plot->bottom = fmax(floor(bottom / unit + 1e-6) * unit, plot->top - plot->range);
        if ((plot->top - plot->bottom) / plot->step <= most)
            break;
    }
}

/* The height of a level in dots from the top. Levels below the plot are at its bottom. */
static double height_of(const struct plot *plot, double db)
{
    double dots = (double)(plot->rows * plot->dots_high) - 1;
    return fmin((plot->top - db) / (plot->top - plot->bottom) * dots, 2 * dots);
}

static struct plot_cell *cell_at(const struct plot *plot, size_t x, size_t y)
{
    return &plot->cells[y / plot->dots_high * plot->columns + x / plot->dots_wide];
}

static void draw_dot(const struct plot *plot, size_t curve, size_t x, size_t y)
{
    static const unsigned char dots[4][2] = {
        {0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    struct plot_cell *cell = cell_at(plot, x, y);
    cell->curves |= UINT32_C(1) << curve;
    cell->dots |= dots[y % plot->dots_high][x % plot->dots_wide];
}

/* Connects neighbouring columns of dots. Each draws half of the way. */
static void draw_curve(const struct plot *plot, size_t curve)
{
    const double *db = plot->db[curve];
    long last = (long)(plot->rows * plot->dots_high) - 1;
    for (size_t x = 0; x < plot->axis.points; x++) {
        double here = height_of(plot, db[x]);
        double before = x > 0 ? (height_of(plot, db[x - 1]) + here) / 2 : here;
        double after = x + 1 < plot->axis.points ? (height_of(plot, db[x + 1]) + here) / 2 : here;
        long from = lrint(fmin(here, fmin(before, after)));
        long to = lrint(fmax(here, fmax(before, after)));
        for (long y = from; y <= to && y <= last; y++)
            draw_dot(plot, curve, x, (size_t)y);
    }
}

/* Puts letters on a braille curve, apart from the letters of other curves. */
static void put_letters(const struct plot *plot, size_t curve)
{
    size_t spacing = plot->count * 3 > 12 ? plot->count * 3 : 12;
    spacing = spacing < plot->columns ? spacing : plot->columns;
    for (size_t column = (spacing / 4 + curve * spacing / plot->count) % spacing;
         column < plot->columns; column += spacing) {
        size_t x = column * plot->dots_wide;
        double y = rint(height_of(plot, plot->db[curve][x]));
        if (y < (double)(plot->rows * plot->dots_high))
            cell_at(plot, x, (size_t)y)->letter = plot->letters[curve];
    }
}

/* The letter in a cell. If several curves pass, their letters alternate. */
static char letter_in_turn(const struct plot *plot, const struct plot_cell *cell, size_t column)
{
    size_t passing = 0;
    for (size_t i = 0; i < plot->count; i++)
        passing += cell->curves >> i & 1;
    size_t turn = column % passing;
    for (size_t i = 0; i < plot->count; i++)
        if ((cell->curves >> i & 1) && turn-- == 0)
            return plot->letters[i];
    return ' ';
}

static void print_cell(const struct plot *plot, const struct plot_cell *cell, size_t column,
                       bool tick, FILE *stream)
{
    bool braille = plot->settings->braille;
    if (cell->letter)
        fputc(cell->letter, stream);
    else if (braille && cell->dots)
        fprintf(stream, "\xE2%c%c", 0xA0 | cell->dots >> 6, 0x80 | (cell->dots & 0x3F));
    else if (cell->curves)
        fputc(letter_in_turn(plot, cell, column), stream);
    else if (tick && plot->ticked[column])
        fputs(braille ? "\u00B7" : ".", stream);
    else
        fputc(' ', stream);
}

static void print_row(const struct plot *plot, size_t row, FILE *stream)
{
    bool tick = false;
    for (double db = floor(plot->top / plot->step) * plot->step; db >= plot->bottom - 1e-6 && !tick;
         db -= plot->step) {
        tick = (size_t)lrint(height_of(plot, db)) / plot->dots_high == row;
        if (tick)
            fprintf(stream, "%4.0f dB%s", fabs(db) < 1 ? 0 : db,
                    plot->settings->braille ? "\u2524" : "+");
    }
    if (!tick)
        fprintf(stream, "%*s%s", MARGIN - 1, "", plot->settings->braille ? "\u2502" : "|");
    for (size_t c = 0; c < plot->columns; c++)
        print_cell(plot, &plot->cells[row * plot->columns + c], c, tick, stream);
    fputc('\n', stream);
}

/* The column of a frequency. plot->columns: it is outside the plot. */
static size_t column_of(const struct plot *plot, double hz)
{
    double share = log(hz / plot->axis.low) / log(plot->axis.high / plot->axis.low);
    double column = floor(share * (double)plot->columns);
    return column < 0 || column >= (double)plot->columns ? plot->columns : (size_t)column;
}

static void print_axis(const struct plot *plot, FILE *stream)
{
    bool braille = plot->settings->braille;
    fprintf(stream, "%*s%s", MARGIN - 1, "", braille ? "\u2514" : "+");
    for (size_t c = 0; c < plot->columns; c++)
        fputs(plot->ticked[c] ? braille ? "\u2534" : "+" : braille ? "\u2500" : "-", stream);
    fputc('\n', stream);
    fprintf(stream, "%*s ", MARGIN - 1, "Hz");
    size_t done = 0;
    for (size_t i = 0; i < TICKS; i++) {
        size_t column = column_of(plot, ticks[i].hz), length = strlen(ticks[i].text);
        size_t at = column > length / 2 ? column - length / 2 : 0;
        if (column == plot->columns || at + length > plot->columns || (done > 0 && at <= done))
            continue;
        fprintf(stream, "%*s%s", (int)(at - done), "", ticks[i].text);
        done = at + length;
    }
    fputc('\n', stream);
}

static enum status print(const struct plot *plot, char **text)
{
    size_t size;
    FILE *stream = text_stream_open(text, &size);
    if (!stream)
        return fail_memory("a plot");
    for (size_t row = 0; row < plot->rows; row++)
        print_row(plot, row, stream);
    print_axis(plot, stream);
    if (text_stream_finish(stream) == 0)
        return STATUS_OK;
    free(*text);
    return fail_memory("a plot");
}

enum status response_plot(const struct response_plot_settings *settings,
                          const struct mask *const *masks, const char *letters, size_t count,
                          char **text)
{
    if (settings->width < RESPONSE_PLOT_WIDTH_LEAST ||
        settings->height < RESPONSE_PLOT_HEIGHT_LEAST)
        return fail(CAUSE_UNSUPPORTED, "the plot of the masks needs at least %d by %d characters",
                    RESPONSE_PLOT_WIDTH_LEAST, RESPONSE_PLOT_HEIGHT_LEAST);
    double high = settings->high > 0 ? settings->high : settings->rate / 2.0;
    double low = settings->low > 0 ? settings->low : fmin(lowest_hz, high / 10);
    struct plot plot = {
        .settings = settings,
        .letters = letters,
        .count = count,
        .columns = settings->width - MARGIN,
        .rows = settings->height - BELOW,
        .dots_wide = settings->braille ? 2 : 1,
        .dots_high = settings->braille ? 4 : 1,
        .range = settings->range > 0 ? settings->range : RANGE_MOST,
        .axis = {.low = low, .high = high, .smoothing = settings->smoothing},
    };
    plot.axis.points = plot.columns * plot.dots_wide;
    enum status status = measure(&plot, masks);
    if (status == STATUS_OK) {
        choose_levels(&plot);
        for (size_t i = 0; i < TICKS; i++)
            if (column_of(&plot, ticks[i].hz) < plot.columns)
                plot.ticked[column_of(&plot, ticks[i].hz)] = true;
        for (size_t i = 0; i < count; i++)
            draw_curve(&plot, i);
        for (size_t i = 0; i < count && settings->braille; i++)
            put_letters(&plot, i);
        status = print(&plot, text);
    }
    for (size_t i = 0; i < count; i++)
        free(plot.db[i]);
    free(plot.cells);
    free(plot.ticked);
    return status;
}
