#include "spectrogram/spectrogram_figure.h"

#include "base/atomic_file.h"
#include "base/colour_map.h"
#include "base/gnuplot.h"
#include "base/printable.h"

#include <math.h>
#include <string.h>

/* ---- as a drawing by gnuplot ---- */

static const double near = 0.01; /* dB; rounding errors that are not rounded up */

void spectrogram_figure_free(struct spectrogram_figure *figure)
{
    for (size_t i = 0; i < figure->count; i++)
        spectrogram_free(&figure->pictures[i]);
}

void spectrogram_figure_scale(struct spectrogram_figure *figure, double range)
{
    double most = 0;
    figure->to = figure->from;
    for (size_t i = 0; i < figure->count; i++) {
        most = fmax(most, spectrogram_find_peak(&figure->pictures[i]).power);
        figure->to = fmax(figure->to, figure->ends[i]);
    }
    /* + 0.0 avoids a negative zero */
    figure->top = most > 0 ? ceil(10 * log10(most) - near) + 0.0 : 0;
    figure->bottom = figure->top - range;
}

enum { LINEAR_TICKS = 12 };

/* A frequency's place. Images have equal pixels, so that a logarithmic axis shows the logarithm. */
static double place_of(const struct spectrogram_axis *axis, double hz)
{
    return axis->is_log ? log10(hz) : hz;
}

static void send_frequencies(FILE *gnuplot, const struct spectrogram_axis *axis, bool labels)
{
    struct spectrogram_ticks ticks = spectrogram_ticks_hz(axis, LINEAR_TICKS);
    fprintf(gnuplot, "set ylabel '%s'\nset yrange [%.10g:%.10g]\nset ytics (",
            labels ? "frequency in Hz" : "", place_of(axis, axis->low), place_of(axis, axis->high));
    for (size_t i = 0; i < ticks.count; i++) {
        char text[SPECTROGRAM_TICK_TEXT];
        spectrogram_tick_hz(ticks.at[i], text);
        fprintf(gnuplot, "%s'%s' %.10g", i ? ", " : "", labels ? text : "",
                place_of(axis, ticks.at[i]));
    }
    fputs(")\n", gnuplot);
}

/* Sends the image. gnuplot cannot draw a single column, so this is sent twice, half as wide. */
static void send_image(FILE *gnuplot, const struct spectrogram_subplot *subplot, double unit)
{
    const struct spectrogram *picture = subplot->picture;
    const struct spectrogram_axis *axis = &picture->axis;
    size_t times = picture->columns == 1 ? 2 : 1;
    double wide = picture->step / (double)times * unit, low = place_of(axis, axis->low);
    double high = (place_of(axis, axis->high) - low) / (double)axis->rows;
    fprintf(gnuplot,
            "plot '-' binary array=(%zu,%zu) format='%%float' origin=(%.10g,%.10g) dx=%.10g "
            "dy=%.10g with image notitle\n",
            picture->columns * times, axis->rows, picture->from * unit + wide / 2, low + high / 2,
            wide, high);
    for (size_t r = 0; r < axis->rows; r++)
        for (size_t c = 0; c < picture->columns * times; c++) {
            double power = (double)picture->power[c / times * axis->rows + r];
            float db = (float)fmin(spectrogram_db(power, subplot->bottom), subplot->top);
            fwrite(&db, sizeof db, 1, gnuplot);
        }
}

void spectrogram_subplot_send(FILE *gnuplot, const struct spectrogram_subplot *subplot)
{
    double unit = subplot->milliseconds ? 1e3 : 1;
    fputs("set title ", gnuplot);
    gnuplot_send_quoted(gnuplot, subplot->title);
    fprintf(gnuplot,
            "\nset xlabel 'time in %s'\nset xrange [%.10g:%.10g]\nset cbrange [%g:%g]\n"
            "set cblabel '%s'\nunset grid\n",
            subplot->milliseconds ? "ms" : "s", subplot->from * unit, subplot->to * unit,
            subplot->bottom, subplot->top, subplot->unit);
    send_frequencies(gnuplot, &subplot->picture->axis, !subplot->unlabelled);
    send_image(gnuplot, subplot, unit);
    fputs("set xrange [*:*]\nset yrange [*:*]\nset ytics autofreq\nset grid\n", gnuplot);
}

enum { IN_A_ROW = 3, ALONE_WIDE = 800, WIDE = 520, HIGH = 380 };

/* Pixels: margins of the pictures, and gaps between them. */
enum { LEFT = 75, RIGHT = 95, ABOVE = 45, BELOW = 60, GAP = 25, SCALE_GAP = 12, SCALE_WIDE = 15 };

struct grid {
    size_t columns, rows;
};

static struct grid grid_of(size_t count)
{
    size_t rows = (count + IN_A_ROW - 1) / IN_A_ROW;
    return (struct grid){(count + rows - 1) / rows, rows};
}

struct spectrogram_size spectrogram_plot_usual(size_t count)
{
    struct grid grid = grid_of(count);
    return (struct spectrogram_size){
        .width = (double)(LEFT + RIGHT + grid.columns * (count == 1 ? ALONE_WIDE : WIDE) +
                          (grid.columns - 1) * GAP),
        .height = (double)(grid.rows * (HIGH + ABOVE + BELOW)),
    };
}

struct spectrogram_size spectrogram_plot_inner(size_t count, struct spectrogram_size whole)
{
    struct grid grid = grid_of(count);
    double aside = LEFT + RIGHT + GAP * ((double)grid.columns - 1);
    return (struct spectrogram_size){
        .width = (whole.width - aside) / (double)grid.columns,
        .height = whole.height / (double)grid.rows - ABOVE - BELOW,
    };
}

/* Places a picture. The last one of a row has the scale beside it. */
static void send_place(FILE *gnuplot, size_t row, size_t column, bool is_last,
                       struct spectrogram_size inner, struct spectrogram_size whole)
{
    double left = LEFT + (double)column * (inner.width + GAP), right = left + inner.width;
    double above = (double)row * (inner.height + ABOVE + BELOW) + ABOVE;
    double bottom = 1 - (above + inner.height) / whole.height;
    fprintf(gnuplot,
            "set lmargin at screen %.6f\nset rmargin at screen %.6f\n"
            "set tmargin at screen %.6f\nset bmargin at screen %.6f\n",
            left / whole.width, right / whole.width, 1 - above / whole.height, bottom);
    if (is_last)
        fprintf(gnuplot, "set colorbox user origin screen %.6f,%.6f size screen %.6f,%.6f\n",
                (right + SCALE_GAP) / whole.width, bottom, SCALE_WIDE / whole.width,
                inner.height / whole.height);
    else
        fputs("unset colorbox\n", gnuplot);
}

void spectrogram_plot_send(FILE *gnuplot, const struct spectrogram_figure *figure,
                           struct spectrogram_size whole)
{
    struct grid grid = grid_of(figure->count);
    struct spectrogram_size inner = spectrogram_plot_inner(figure->count, whole);
    fputs("set border lc rgb '#606060'\nset tics out nomirror textcolor rgb '#303030'\n"
          "set format x '%g'\n",
          gnuplot);
    gnuplot_send_palette(gnuplot);
    fputs("set multiplot\n", gnuplot);
    for (size_t i = 0; i < figure->count; i++) {
        size_t column = i % grid.columns;
        struct spectrogram_subplot subplot = {
            .picture = &figure->pictures[i],
            .title = figure->names[i],
            .top = figure->top,
            .bottom = figure->bottom,
            .from = figure->from,
            .to = figure->to,
            .unlabelled = column > 0,
            .unit = "dBFS",
        };
        bool is_last = column + 1 == grid.columns || i + 1 == figure->count;
        send_place(gnuplot, i / grid.columns, column, is_last, inner, whole);
        spectrogram_subplot_send(gnuplot, &subplot);
    }
    fputs("unset multiplot\n", gnuplot);
}

/* ---- as text ---- */

enum {
    MARGIN = 6,     /* characters: a frequency and a blank */
    TEXT_GAP = 2,   /* between two pictures */
    LEAST = 24,     /* least width of a picture beside another */
    AROUND = 2,     /* lines of a picture for its name and its times */
    TEXT_BELOW = 2, /* lines below all pictures: the scale, and the prompt */
    SCALE = 32,     /* characters of the scale's colours */
    TIME_WIDE = 10,
    LINES_A_TICK = 2,
};

static const char ramp[] = " .:-=+*#%@";

struct page {
    const struct spectrogram_figure *figure;
    const struct spectrogram_text_settings *settings;
    FILE *stream;
    size_t cells; /* width of a picture */
    size_t lines; /* height of a picture */
};

static size_t abreast_of(size_t count, const struct spectrogram_text_settings *settings)
{
    size_t abreast = (settings->width - MARGIN + TEXT_GAP) / (LEAST + TEXT_GAP);
    return abreast == 0 ? 1 : abreast < count ? abreast : count;
}

static size_t lines_of(size_t count, const struct spectrogram_text_settings *settings)
{
    size_t abreast = abreast_of(count, settings), groups = (count + abreast - 1) / abreast;
    size_t lines = (settings->height - TEXT_BELOW) / groups;
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

/* The value of a cell, 0 to 1 on the scale: the largest of the columns whose middle is in it, or
 * the column that it is in. NaN after the sound's end. */
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
        /* if a line has several labels, the highest frequency */
        if (page->lines - 1 - (size_t)place == line)
            spectrogram_tick_hz(ticks.at[i], text);
    }
    fprintf(page->stream, "%*s ", MARGIN - 1, text);
}

/* Prints a name, cut to the picture's width, by characters. */
static void print_name(const struct page *page, const char *name)
{
    size_t done = 0;
    for (const unsigned char *at = (const unsigned char *)printable(name); *at; at++) {
        bool begins = (*at & 0xC0) != 0x80; /* other bytes continue a UTF-8 character */
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
        fprintf(page->stream, "%*s", i == from ? MARGIN : TEXT_GAP, "");
        print_name(page, page->figure->names[i]);
    }
    fputc('\n', page->stream);
    for (size_t line = 0; line < page->lines; line++) {
        print_frequency(page, line);
        for (size_t i = from; i < end; i++) {
            fprintf(page->stream, "%*s", i == from ? 0 : TEXT_GAP, "");
            print_cells(page, i, line);
        }
        fputc('\n', page->stream);
    }
    for (size_t i = from; i < end; i++) {
        fprintf(page->stream, "%*s", i == from ? MARGIN : TEXT_GAP, "");
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
        .cells = (settings->width - MARGIN - (abreast - 1) * TEXT_GAP) / abreast,
        .lines = lines_of(figure->count, settings),
    };
    for (size_t i = 0; i < figure->count; i += abreast)
        print_group(&page, i, i + abreast < figure->count ? i + abreast : figure->count);
    print_scale(&page);
}
