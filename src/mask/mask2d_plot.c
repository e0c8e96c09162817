#include "mask/mask2d_plot.h"

#include "base/gnuplot.h"

#include <math.h>

enum { SUBPLOT_WIDE = 560, SUBPLOT_HIGH = 480, SUBPLOTS_IN_A_ROW = 3, TICKS = 12 };

/* Half a cell more at each end, and whole numbers for ticks. */
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
    if (has_negative) /* orange below nothing, purple above: told apart by all eyes */
        fputs("set palette defined (0 '#b35806', 1 '#f7f7f7', 2 '#542788')\n", commands);
    else
        gnuplot_send_palette(commands);
    fprintf(commands, "set cbrange [%.9g:%.9g]\n", has_negative ? -peak : 0, peak);
}

/* Gnuplot draws no image of a single row or column: boxes do. */
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
