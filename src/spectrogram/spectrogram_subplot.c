#include "spectrogram/spectrogram_subplot.h"

#include "base/gnuplot.h"
#include "spectrogram/spectrogram_ticks.h"

#include <math.h>

enum { LINEAR_TICKS = 12 };

/* An image is even, so that a logarithmic axis is drawn as the logarithm. */
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

/* Gnuplot draws no image of a single column: it is sent twice, half as wide. */
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
            subplot->milliseconds ? "ms" : "s", subplot->from * unit, subplot->to * unit, subplot->bottom,
            subplot->top, subplot->unit);
    send_frequencies(gnuplot, &subplot->picture->axis, !subplot->unlabelled);
    send_image(gnuplot, subplot, unit);
    fputs("set xrange [*:*]\nset yrange [*:*]\nset ytics autofreq\nset grid\n", gnuplot);
}
