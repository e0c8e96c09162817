#include "base/gnuplot.h"
#include "mask/mask_drawing.h"
#include "mask/mask_waterfall.h"
#include "mask/room_acoustics.h"
#include "spectrogram/spectrogram_figure.h"

#include <math.h>
#include <stdio.h>

enum { WATERFALL_POINTS = 120, TIMES_MOST = 6 /* labels */ };

static const double picture_shown = 90, waterfall_shown = 60; /* dB */

static void describe(const struct mask_plot *plot, size_t curve, const char *what, char text[128])
{
    bool several = plot->count > 1;
    snprintf(text, 128, "%s%s%s", what, several ? " of " : "",
             several ? plot->curves[curve].name : "");
}

enum status mask_subplot_spectrogram(const struct mask_drawing *drawing, size_t curve)
{
    const struct mask_plot *plot = drawing->plot;
    const struct mask_plot_curve *own = &plot->curves[curve];
    struct spectrogram picture = {0};
    char title[128];
    TRY(mask_spectrogram_init(own->mask, own->column, own->rate, drawing->low,
                              fmin(drawing->high, own->rate / 2.0), &drawing->time, &picture));
    describe(plot, curve, "spectrogram", title);
    struct spectrogram_subplot subplot = {
        .picture = &picture,
        .title = title,
        .milliseconds = drawing->time.to - drawing->time.from < 2,
        .unit = "dB",
        .top = 0,
        .bottom = -(plot->range > 0 ? (double)plot->range : picture_shown),
        .from = plot->has_from ? drawing->time.from : picture.from,
        .to =
            plot->has_to ? drawing->time.to : picture.from + (double)picture.columns * picture.step,
    };
    spectrogram_subplot_send(drawing->gnuplot, &subplot);
    spectrogram_free(&picture);
    return STATUS_OK;
}

/* From the direct sound to the end of the axis, or of the range. */
static enum status make_waterfall(const struct mask_drawing *drawing, size_t curve, double range,
                                  struct waterfall *waterfall)
{
    const struct mask_plot_curve *own = &drawing->plot->curves[curve];
    struct response_axis axis = {
        .low = drawing->low,
        .high = fmin(drawing->high, own->rate / 2.0),
        .points = WATERFALL_POINTS,
        .smoothing = drawing->spectra[curve].smoothing,
    };
    struct room_decay decay;
    size_t onset;
    TRY(room_decay_of_taps(&decay, mask_column(own->mask, own->column), own->mask->taps, own->rate,
                           &onset));
    size_t end = 0;
    while (end < decay.count && decay.energy[end] > decay.total * pow(10, -range / 10))
        end++;
    double seconds = (double)(end > 0 ? end : own->mask->taps) / own->rate;
    if (drawing->plot->has_to)
        seconds = drawing->time.to - ((double)onset - (double)own->mask->origin) / own->rate;
    if (!(seconds > 0))
        seconds = (double)own->mask->taps / own->rate;
    room_decay_free(&decay);
    return waterfall_init(waterfall, own->mask, own->column, own->rate, seconds, &axis);
}

static void send_surface(FILE *gnuplot, const struct waterfall *waterfall, double scale,
                         double bottom)
{
    fputs("$waterfall << EOD\n", gnuplot);
    for (size_t s = 0; s < waterfall->slices; s++) {
        for (size_t p = 0; p < waterfall->axis.points; p++)
            fprintf(gnuplot, "%.6g %.6g %.4g\n", response_frequency(&waterfall->axis, (double)p),
                    (double)s * waterfall->step * scale,
                    fmax(waterfall->db[s * waterfall->axis.points + p], bottom));
        fputs("\n", gnuplot);
    }
    fputs("EOD\n", gnuplot);
}

/* Later slices in front, as time comes towards the reader. */
enum status mask_subplot_waterfall(const struct mask_drawing *drawing, size_t curve)
{
    FILE *gnuplot = drawing->gnuplot;
    struct waterfall waterfall;
    char title[128];
    double range = drawing->plot->range > 0 ? (double)drawing->plot->range : waterfall_shown;
    TRY(make_waterfall(drawing, curve, range, &waterfall));
    double length = waterfall.step * (double)(waterfall.slices - 1), scale = length < 2 ? 1e3 : 1;
    send_surface(gnuplot, &waterfall, scale, -range);
    describe(drawing->plot, curve, "waterfall (dB)", title);
    fputs("set title ", gnuplot);
    gnuplot_send_quoted(gnuplot, title);
    fprintf(gnuplot,
            "\nset logscale x\nset xrange [%g:%g]\nset yrange [%g:0]\nset zrange [%g:0]\n"
            "set cbrange [%g:0]\nset xyplane at %g\nset view 60,10,0.9,0.55\nunset colorbox\n"
            "set xlabel 'frequency in Hz'\nset ylabel '%s'\n"
            "set pm3d depthorder border lc rgb '#404040' lw 0.2\n",
            waterfall.axis.low, waterfall.axis.high, scale * length, -range, -range, -range,
            scale > 1 ? "ms" : "s");
    mask_layout_send_hertz(drawing);
    fputs("splot $waterfall using 1:2:3 with pm3d notitle\n"
          "unset logscale x\nset xrange [*:*]\nset yrange [*:*]\nset xtics autofreq\n"
          "set ytics autofreq\nset colorbox\n",
          gnuplot);
    waterfall_free(&waterfall);
    return STATUS_OK;
}
