#include "mask/mask_plot.h"

#include "base/gnuplot.h"
#include "mask/mask_curves.h"
#include "spectrogram/spectrogram_figure.h"

#include <math.h>
#include <stdio.h>

enum {
    SUBPLOT_WIDE = 720,
    SUBPLOT_HIGH = 360,
    ALONE_WIDE = 1000,
    ALONE_HIGH = 560,
    HEAD = 40,    /* for the title of several subplots */
    FEW = 120,    /* taps: drawn as stems */
    MANY = 1024,  /* taps: have a useful spectrogram */
    PICTURES = 2, /* spectrograms drawn by default */
};

static const double levels_shown = 100, pictures_shown = 90; /* dB */

/* Okabe and Ito's palette for colour blindness, without the yellow. */
static const char *const colours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                      "#e69f00", "#56b4e9", "#000000", "#7f7f7f"};
enum { COLOURS = sizeof colours / sizeof *colours };

struct mask_drawing {
    const struct mask_plot *plot;
    FILE *gnuplot;
    bool subplots[MASK_SUBPLOTS];
    struct mask_spectrum spectra[MASK_PLOT_CURVES];
    bool rough[MASK_PLOT_CURVES];
};

struct range {
    double low, high;
};

static void widen(struct range *range, const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (isfinite(values[i])) {
            range->low = fmin(range->low, values[i]);
            range->high = fmax(range->high, values[i]);
        }
}

/* Frees the curve; `total` grows to include its y. */
static void send_curve(FILE *gnuplot, const char *block, size_t index, struct curve *curve,
                       double scale, struct range *total)
{
    struct range range = {INFINITY, -INFINITY};
    widen(&range, curve->y, curve->count);
    widen(total, curve->y, curve->count);
    fprintf(gnuplot, "$%s%zu << EOD\n", block, index);
    if (range.low > range.high)
        fputs("1 1e9\n", gnuplot); /* outside of the axes: gnuplot warns of empty curves */
    for (size_t i = 0; i < curve->count; i++)
        if (isfinite(curve->y[i]))
            fprintf(gnuplot, "%.8g %.7g\n", curve->x[i] * scale, curve->y[i]);
        else
            fputs("\n", gnuplot); /* a gap */
    fputs("EOD\n", gnuplot);
    curve_free(curve);
}

static void send_legend(FILE *gnuplot, const struct mask_plot_curve *curve)
{
    fputs(" title ", gnuplot);
    gnuplot_send_quoted(gnuplot, curve->name);
}

static enum status send_time_curves(const struct mask_drawing *drawing, enum mask_subplot subplot,
                                    const char *block, double scale, struct range *times,
                                    struct range *levels)
{
    for (size_t i = 0; i < drawing->plot->count; i++) {
        const struct mask_plot_curve *own = &drawing->plot->curves[i];
        struct curve curve;
        TRY(curve_time(own->mask, own->column, own->rate, subplot == MASK_SUBPLOT_STEP, &curve));
        widen(times, curve.x, curve.count);
        send_curve(drawing->gnuplot, block, i, &curve, scale, levels);
    }
    return STATUS_OK;
}

static enum status send_times(const struct mask_drawing *drawing, enum mask_subplot subplot)
{
    const struct mask_plot *plot = drawing->plot;
    FILE *gnuplot = drawing->gnuplot;
    bool impulse = subplot == MASK_SUBPLOT_IMPULSE, seconds = false;
    const char *block = impulse ? "impulse" : "step";
    for (size_t i = 0; i < plot->count; i++)
        seconds = seconds || (double)plot->curves[i].mask->taps / plot->curves[i].rate >= 2;
    double scale = seconds ? 1 : 1e3;
    struct range times = {0, 0}, levels = {0, 0};
    TRY(send_time_curves(drawing, subplot, block, scale, &times, &levels));
    double margin = levels.high > levels.low ? 0.05 * (levels.high - levels.low) : 1;
    double aside = times.high > times.low ? 0.01 * (times.high - times.low) : 1e-3;
    fprintf(gnuplot,
            "set title '%s response'\nset xlabel 'time in %s'\nset ylabel 'amplitude'\n"
            "set yrange [%g:%g]\nset xrange [%g:%g]\n",
            impulse ? "impulse" : "step", seconds ? "s" : "ms", levels.low - margin,
            levels.high + margin, scale * (times.low - aside), scale * (times.high + aside));
    for (size_t i = 0; i < plot->count; i++) {
        bool few = plot->curves[i].mask->taps <= FEW;
        const char *colour = colours[i % COLOURS];
        fputs(i ? ", " : "plot ", gnuplot);
        if (few && impulse)
            fprintf(gnuplot, "$%s%zu using 1:2 with impulses lw 1.5 lc rgb '%s' notitle, ", block,
                    i, colour);
        fprintf(gnuplot, "$%s%zu using 1:2 with %s lw 1.5 lc rgb '%s'", block, i,
                few ? impulse ? "points pt 7 ps 0.5" : "steps" : "lines", colour);
        send_legend(gnuplot, &plot->curves[i]);
    }
    fputs("\nset yrange [*:*]\nset xrange [*:*]\n", gnuplot);
    return STATUS_OK;
}

static enum status send_gains(const struct mask_drawing *drawing, struct range *range)
{
    for (size_t i = 0; i < 2 * drawing->plot->count; i++) {
        struct curve curve;
        bool smooth = i % 2;
        TRY(curve_magnitude(&drawing->spectra[i / 2], smooth, &curve));
        send_curve(drawing->gnuplot, smooth ? "smooth" : "exact", i / 2, &curve, 1, range);
    }
    return STATUS_OK;
}

static enum status send_magnitudes(const struct mask_drawing *drawing)
{
    FILE *gnuplot = drawing->gnuplot;
    struct range range = {INFINITY, -INFINITY};
    TRY(send_gains(drawing, &range));
    double top = isfinite(range.high) ? 10 * ceil((range.high + 1) / 10) : 0;
    double bottom = fmax(10 * floor((fmin(range.low, top - 20)) / 10), top - levels_shown);
    fprintf(gnuplot, "set title 'magnitude'\nset ylabel 'gain in dB'\nset yrange [%g:%g]\nplot ",
            bottom, top);
    for (size_t i = 0; i < drawing->plot->count; i++) /* pale, behind the smooth ones */
        if (drawing->rough[i] && drawing->plot->file)
            fprintf(gnuplot, "$exact%zu using 1:2 with lines lw 0.5 lc rgb '#c0%s' notitle, ", i,
                    colours[i % COLOURS] + 1);
    for (size_t i = 0; i < drawing->plot->count; i++) {
        fprintf(gnuplot, "%s$%s%zu using 1:2 with lines lw 2 lc rgb '%s'", i ? ", " : "",
                drawing->rough[i] ? "smooth" : "exact", i, colours[i % COLOURS]);
        send_legend(gnuplot, &drawing->plot->curves[i]);
    }
    fputs("\nset yrange [*:*]\n", gnuplot);
    return STATUS_OK;
}

static enum status send_phases(const struct mask_drawing *drawing, enum mask_subplot subplot)
{
    FILE *gnuplot = drawing->gnuplot;
    bool phase = subplot == MASK_SUBPLOT_PHASE;
    const char *block = phase ? "phase" : "delay";
    struct range range = {INFINITY, -INFINITY};
    for (size_t i = 0; i < drawing->plot->count; i++) {
        struct curve curve;
        TRY(phase ? curve_phase(&drawing->spectra[i], &curve)
                  : curve_group_delay(&drawing->spectra[i], drawing->rough[i], &curve));
        send_curve(gnuplot, block, i, &curve, 1, &range);
    }
    if (phase || range.low > range.high)
        range = (struct range){-180, 180};
    double margin = fmax(0.5, 0.05 * (range.high - range.low));
    fprintf(gnuplot, "set title '%s'\nset ylabel '%s'\nset ytics %s\nset yrange [%g:%g]\n",
            phase ? "phase, without the delay of the peak" : "group delay",
            phase ? "degrees" : "ms", phase ? "90" : "autofreq", range.low - margin,
            range.high + margin);
    for (size_t i = 0; i < drawing->plot->count; i++) {
        bool dots = phase && drawing->rough[i];
        fprintf(gnuplot, "%s$%s%zu using 1:2 with %s lc rgb '%s'", i ? ", " : "plot ", block, i,
                dots ? "points pt 7 ps 0.2" : "lines lw 2", colours[i % COLOURS]);
        send_legend(gnuplot, &drawing->plot->curves[i]);
    }
    fputs("\nset yrange [*:*]\nset ytics autofreq\n", gnuplot);
    return STATUS_OK;
}

static enum status send_frequencies(const struct mask_drawing *drawing, enum mask_subplot subplot)
{
    double high = 0;
    for (size_t i = 0; i < drawing->plot->count; i++)
        high = fmax(high, drawing->plot->curves[i].rate / 2.0);
    fprintf(drawing->gnuplot,
            "set logscale x\nset xrange [%g:%g]\nset xlabel 'frequency in Hz'\n"
            "set xtics ('20' 20, '50' 50, '100' 100, '200' 200, '500' 500, '1k' 1e3, '2k' 2e3, "
            "'5k' 5e3, '10k' 10e3, '20k' 20e3, '50k' 50e3)\n",
            fmin(20, high / 10), high);
    TRY(subplot == MASK_SUBPLOT_MAGNITUDE ? send_magnitudes(drawing)
                                          : send_phases(drawing, subplot));
    fputs("unset logscale x\nset xrange [*:*]\nset xtics autofreq\n", drawing->gnuplot);
    return STATUS_OK;
}

static enum status send_spectrogram(FILE *gnuplot, const struct mask_plot *plot, size_t index)
{
    const struct mask_plot_curve *own = &plot->curves[index];
    struct spectrogram picture = {0};
    TRY(mask_spectrogram_init(own->mask, own->column, own->rate, &picture));
    struct spectrogram_subplot subplot = {
        .picture = &picture,
        .milliseconds = (double)own->mask->taps / own->rate < 2,
        .unit = "dB",
        .top = 0,
        .bottom = -pictures_shown,
        .from = picture.from,
        .to = picture.from + (double)picture.columns * picture.step,
    };
    char title[sizeof own->name + 32];
    snprintf(title, sizeof title, "spectrogram%s%s", plot->count > 1 ? " of " : "",
             plot->count > 1 ? own->name : "");
    subplot.title = title;
    spectrogram_subplot_send(gnuplot, &subplot);
    spectrogram_free(&picture);
    return STATUS_OK;
}

/* One subplot of all curves, or a spectrogram of each. Gnuplot's settings are restored. */
static enum status send_subplot(const struct mask_drawing *drawing, enum mask_subplot subplot)
{
    switch (subplot) {
    case MASK_SUBPLOT_IMPULSE:
    case MASK_SUBPLOT_STEP:
        return send_times(drawing, subplot);
    case MASK_SUBPLOT_SPECTROGRAM:
        for (size_t i = 0; i < drawing->plot->count; i++)
            TRY(send_spectrogram(drawing->gnuplot, drawing->plot, i));
        return STATUS_OK;
    default:
        return send_frequencies(drawing, subplot);
    }
}

/* The user's choice. By default all, but no phase of a reverberation, which is noise, and
 * spectrograms only of few, long masks. */
static void choose_subplots(struct mask_drawing *drawing)
{
    const struct mask_plot *plot = drawing->plot;
    bool chosen = false, phase = true, pictures = plot->count <= PICTURES;
    for (size_t p = 0; p < MASK_SUBPLOTS; p++)
        chosen = chosen || plot->subplots[p];
    for (size_t i = 0; i < plot->count; i++) {
        phase = phase && !drawing->rough[i];
        pictures = pictures && plot->curves[i].mask->taps >= MANY;
    }
    for (size_t p = 0; p < MASK_SUBPLOTS; p++)
        drawing->subplots[p] = chosen ? plot->subplots[p] : true;
    drawing->subplots[MASK_SUBPLOT_PHASE] &= chosen || phase;
    drawing->subplots[MASK_SUBPLOT_SPECTROGRAM] &= chosen || pictures;
}

static enum status send_all(const struct mask_drawing *drawing, size_t rows, size_t columns)
{
    const struct mask_plot *plot = drawing->plot;
    FILE *gnuplot = drawing->gnuplot;
    bool several = columns > 1 && plot->file;
    fputs("set border lc rgb '#606060'\nset tics textcolor rgb '#303030'\n"
          "set format x '%g'\nset autoscale xfix\n",
          gnuplot);
    gnuplot_send_palette(gnuplot);
    if (plot->file)
        fputs("set grid lt 1 lc rgb '#dddddd' lw 1\n"
              "set key above horizontal Left reverse samplen 2\n",
              gnuplot);
    if (plot->count == 1)
        fputs("set key off\n", gnuplot);
    if (several) {
        fprintf(gnuplot, "set multiplot layout %zu,%zu", rows, columns);
        if (plot->count == 1) {
            fputs(" title ", gnuplot);
            gnuplot_send_quoted(gnuplot, plot->curves[0].name);
        }
        fputs("\n", gnuplot);
    }
    for (enum mask_subplot subplot = 0; subplot < MASK_SUBPLOTS; subplot++)
        if (drawing->subplots[subplot])
            TRY(send_subplot(drawing, subplot));
    if (several)
        fputs("unset multiplot\n", gnuplot);
    return STATUS_OK;
}

static enum status draw(struct mask_drawing *drawing)
{
    const struct mask_plot *plot = drawing->plot;
    for (size_t i = 0; i < plot->count; i++) {
        const struct mask_plot_curve *own = &plot->curves[i];
        TRY(mask_spectrum_init(&drawing->spectra[i], own->mask, own->column, own->rate));
        drawing->rough[i] = mask_spectrum_is_rough(&drawing->spectra[i]);
    }
    choose_subplots(drawing);
    size_t count = 0;
    for (size_t p = 0; p < MASK_SUBPLOTS; p++)
        if (drawing->subplots[p])
            count += p == MASK_SUBPLOT_SPECTROGRAM ? plot->count : 1;
    size_t columns = count > 1 ? 2 : 1;
    size_t rows = (count + columns - 1) / columns;
    struct gnuplot_settings settings = {plot->file, plot->force, (double)plot->width,
                                        (double)plot->height};
    if (plot->file) {
        settings.width = count > 1 ? (double)(SUBPLOT_WIDE * columns) : ALONE_WIDE;
        settings.height = count > 1 ? (double)(SUBPLOT_HIGH * rows + HEAD) : ALONE_HIGH;
    }
    struct gnuplot gnuplot;
    enum status status = gnuplot_open(&settings, &gnuplot);
    drawing->gnuplot = gnuplot.commands;
    if (status == STATUS_OK)
        status = send_all(drawing, rows, columns);
    return gnuplot_close(&gnuplot, status);
}

enum status mask_plot_draw(const struct mask_plot *plot)
{
    struct mask_drawing drawing = {.plot = plot};
    enum status status = draw(&drawing);
    for (size_t i = 0; i < plot->count; i++)
        mask_spectrum_free(&drawing.spectra[i]);
    return status;
}
