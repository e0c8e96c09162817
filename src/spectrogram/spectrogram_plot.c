#include "base/gnuplot.h"
#include "spectrogram/spectrogram.h"
#include "spectrogram/spectrogram_figure.h"

#include <math.h>

static const double near = 0.01; /* dB: tolerance for rounding up */

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
    figure->top = most > 0 ? ceil(10 * log10(most) - near) + 0.0 : 0; /* no negative zero */
    figure->bottom = figure->top - range;
}

enum { LINEAR_TICKS = 12 };

/* Images have even pixels, so a logarithmic axis is drawn as the logarithm. */
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

/* A single column, which gnuplot cannot draw, is sent twice, half as wide. */
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

/* Place a picture, with the scale beside the last of a row. */
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
