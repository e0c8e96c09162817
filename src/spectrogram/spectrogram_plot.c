#include "base/gnuplot.h"
#include "spectrogram/spectrogram_subplot.h"
#include "spectrogram/spectrogram_figure.h"

enum { IN_A_ROW = 3, ALONE_WIDE = 800, WIDE = 520, HIGH = 380 };

/* Pixels around the pictures; gaps are between two. */
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

/* Where a picture is, and the scale beside it if it is the last of its row. */
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
