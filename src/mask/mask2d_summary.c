#include "mask/mask2d_summary.h"

#include "base/gnuplot.h"
#include "base/json_text.h"
#include "base/plural.h"
#include "base/printable.h"
#include "mask/mask2d.h"
#include "mask/mask_summary.h"
#include "signal/audio.h"

#include <math.h>
#include <stdio.h>

enum { HEAD = 19 };

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
    if (fabs(sums.all) < 1e-6 * sums.magnitudes) /* rounding errors */
        sums.all = 0;
    return sums;
}

static void print_gain(const char *what, double sum)
{
    printf("  %-*s%.6g", HEAD, what, sum);
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
    printf("  %-*s%s of two dimensions, for --spectral\n", HEAD, "kind",
           mask2d_design_is_spec(text) ? "made, a mask" : "text, a mask");
    printf("  %-*s%zu row%s of time x %zu column%s of frequency, origin at row %zu, column %zu\n",
           HEAD, "size", mask->rows, plural_s(mask->rows), mask->columns, plural_s(mask->columns),
           down, across);
    printf("  %-*s%zu ahead and %zu back in time, %zu up and %zu down in frequency\n", HEAD,
           "reaches", down, mask->rows - 1 - down, across, mask->columns - 1 - across);
    print_gain("gain at DC", sums.all);
    print_gain("sum of magnitudes", sums.magnitudes);
    printf("  %-*s%.6g to %.6g\n", HEAD, "coefficients", sums.least, sums.most);
    if (mask->is_separable)
        printf("  %-*syes: %zu + %zu products for %zu\n", HEAD, "separable", mask->rows,
               mask->columns, mask->rows * mask->columns);
    else
        printf("  %-*sno\n", HEAD, "separable");
}

json_t *mask2d_summary_object(const char *text, const struct mask2d *mask)
{
    struct sums sums = sums_of(mask);
    return json_pack("{s:o, s:s, s:I, s:I, s:[I, I], s:b, s:f, s:f, s:o, s:f, s:f}", "mask",
                     json_text(text), "format", "mask2d", "rows", (json_int_t)mask->rows, "columns",
                     (json_int_t)mask->columns, "origin", (json_int_t)(mask->rows / 2),
                     (json_int_t)(mask->columns / 2), "separable", mask->is_separable, "sum",
                     sums.all, "magnitudes", sums.magnitudes, "gain_db", mask_summary_db(sums.all),
                     "least", sums.least, "most", sums.most);
}

/* The coefficient of the largest magnitude in a character's square. */
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
    if (has_negative) /* orange below 0, purple above: safe for colour blindness */
        fputs("set palette defined (0 '#b35806', 1 '#f7f7f7', 2 '#542788')\n", commands);
    else
        gnuplot_send_palette(commands);
    fprintf(commands, "set cbrange [%.9g:%.9g]\n", has_negative ? -peak : 0, peak);
}

/* Boxes, since gnuplot draws no image of a single row or column. */
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
