#include "base/gnuplot.h"
#include "mask/mask_drawing.h"

#include <math.h>
#include <stdio.h>

enum {
    FEW = 120,     /* taps: drawn as stems */
    PALE_MOST = 8, /* curves with pale ones behind them */
};

static const double gains_shown = 100; /* dB */
static const double dips_shown = 20;   /* dB: of pale curves below the others */
static const double near = 1e-6;
static const double log_from = 1e-4; /* seconds: where a logarithmic axis begins */

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

/* What follows the data of a curve. In text gnuplot draws the legend, and points are letters. */
static void send_style(const struct mask_drawing *drawing, const char *style, size_t index)
{
    if (drawing->plot->file)
        fprintf(drawing->gnuplot, " with %s", style);
    else
        fprintf(drawing->gnuplot, " with linespoints pt %zu", index + 1);
    mask_layout_send_colour(drawing->gnuplot, index);
    fputs(" title ", drawing->gnuplot);
    gnuplot_send_quoted(drawing->gnuplot, drawing->plot->curves[index].name);
}

/* ---- over time ---- */

static const struct time_subplot {
    enum time_curve kind;
    const char *block, *title, *unit;
    double shown; /* dB below the largest; 0: amplitudes */
} time_subplots[MASK_SUBPLOTS] = {
    [MASK_SUBPLOT_IMPULSE] = {TIME_CURVE_IMPULSE, "impulse", "impulse response", "amplitude", 0},
    [MASK_SUBPLOT_STEP] = {TIME_CURVE_STEP, "step", "step response", "amplitude", 0},
    [MASK_SUBPLOT_ENERGY] = {TIME_CURVE_ENERGY, "energy", "energy over time",
                             "dB below the largest", 90},
    [MASK_SUBPLOT_DECAY] = {TIME_CURVE_DECAY, "decay", "decay (Schroeder), without noise",
                            "energy to come in dB", 70},
};

/* A decay is straight on a linear axis: it is logarithmic only where the user asks for it. */
static struct time_axis axis_of(const struct mask_drawing *drawing,
                                const struct time_subplot *subplot)
{
    struct time_axis axis = drawing->time;
    axis.is_log = axis.is_log && axis.to > 10 * log_from &&
                  (subplot->shown <= 0 || drawing->plot->time == MASK_TIME_LOG);
    axis.gathers = axis.is_log && axis.from < log_from;
    if (axis.gathers)
        axis.from = log_from;
    return axis;
}

static void send_time_axis(FILE *gnuplot, const struct time_subplot *subplot,
                           const struct time_axis *axis, double scale)
{
    double margin = 0.01 * (axis->is_log ? log(axis->to / axis->from) : axis->to - axis->from);
    double from = axis->is_log ? axis->from * exp(-margin) : axis->from - margin;
    double to = axis->is_log ? axis->to * exp(margin) : axis->to + margin;
    fprintf(gnuplot, "set title '%s'\nset ylabel '%s'\nset xlabel 'time in %s'\n", subplot->title,
            subplot->unit, scale > 1 ? "ms" : "s");
    fprintf(gnuplot, "%s\nset xrange [%.9g:%.9g]\n", axis->is_log ? "set logscale x" : "",
            scale * from, scale * to);
}

/* Amplitudes with a margin; levels down from the largest, `top`, which has the digits of the curves
 * so that it is not above the axis. */
static void send_level_axis(const struct mask_drawing *drawing, const struct time_subplot *subplot,
                            struct range levels)
{
    double margin = levels.high > levels.low ? 0.05 * (levels.high - levels.low) : 1;
    double shown = drawing->plot->range > 0 ? (double)drawing->plot->range : subplot->shown;
    if (subplot->shown <= 0) {
        fprintf(drawing->gnuplot, "top = 0\nset yrange [%g:%g]\n", levels.low - margin,
                levels.high + margin);
        return;
    }
    if (subplot->kind == TIME_CURVE_DECAY)
        levels.high = 0; /* all energy, wherever the axis begins */
    double depth = levels.low < levels.high ? 10 * ceil((levels.high - levels.low) / 10) : shown;
    fprintf(drawing->gnuplot, "top = %.7g\nset yrange [%g:0]\n",
            isfinite(levels.high) ? levels.high : 0, -fmin(shown, depth));
}

static void send_time_curve(const struct mask_drawing *drawing, const struct time_subplot *subplot,
                            size_t index)
{
    FILE *gnuplot = drawing->gnuplot;
    bool few = drawing->plot->curves[index].mask->taps <= FEW;
    bool stems = few && subplot->kind == TIME_CURVE_IMPULSE;
    fputs(index ? ", " : "plot ", gnuplot);
    if (stems) {
        fprintf(gnuplot, "$%s%zu using 1:2 with impulses lw 1.5", subplot->block, index);
        mask_layout_send_colour(gnuplot, index);
        fputs(" notitle, ", gnuplot);
    }
    fprintf(gnuplot, "$%s%zu using 1:($2-top)", subplot->block, index);
    send_style(drawing,
               stems                                     ? "points pt 7 ps 0.5"
               : few && subplot->kind == TIME_CURVE_STEP ? "steps lw 1.5"
                                                         : "lines lw 1.5",
               index);
}

enum status mask_subplot_times(const struct mask_drawing *drawing, enum mask_subplot kind)
{
    const struct time_subplot *subplot = &time_subplots[kind];
    struct time_axis axis = axis_of(drawing, subplot);
    double scale = !axis.is_log && axis.to - axis.from >= 2 ? 1 : 1e3;
    struct range levels = {INFINITY, -INFINITY};
    if (subplot->shown <= 0)
        levels = (struct range){0, 0};
    for (size_t i = 0; i < drawing->plot->count; i++) {
        const struct mask_plot_curve *own = &drawing->plot->curves[i];
        struct curve curve;
        TRY(curve_time(own->mask, own->column, own->rate, subplot->kind, &axis, &curve));
        send_curve(drawing->gnuplot, subplot->block, i, &curve, scale, &levels);
    }
    send_time_axis(drawing->gnuplot, subplot, &axis, scale);
    send_level_axis(drawing, subplot, levels);
    for (size_t i = 0; i < drawing->plot->count; i++)
        send_time_curve(drawing, subplot, i);
    fputs("\nunset logscale x\nset yrange [*:*]\nset xrange [*:*]\n", drawing->gnuplot);
    return STATUS_OK;
}

/* ---- over frequency ---- */

static bool is_smooth(const struct mask_drawing *drawing, size_t index)
{
    return drawing->rough[index] || drawing->plot->smoothing > 0;
}

/* Exact gains are drawn pale behind smooth ones, but not of many. */
static bool has_pale(const struct mask_drawing *drawing, size_t index)
{
    return is_smooth(drawing, index) && drawing->plot->file && drawing->plot->count <= PALE_MOST;
}

/* The range is that of the curves, and of the pale ones as far as they matter: not their dips, and
 * not at all in a range that the user chose. */
static enum status send_gains(const struct mask_drawing *drawing, struct range *range)
{
    struct range pale = {INFINITY, -INFINITY};
    for (size_t i = 0; i < drawing->plot->count; i++) {
        struct curve curve;
        bool smooth = is_smooth(drawing, i);
        TRY(curve_magnitude(&drawing->spectra[i], smooth, &curve));
        send_curve(drawing->gnuplot, "gain", i, &curve, 1, range);
        if (!has_pale(drawing, i))
            continue;
        TRY(curve_magnitude(&drawing->spectra[i], false, &curve));
        send_curve(drawing->gnuplot, "pale", i, &curve, 1, &pale);
    }
    if (drawing->plot->range > 0)
        return STATUS_OK;
    range->low = fmin(range->low, fmax(pale.low, range->low - dips_shown));
    range->high = fmax(range->high, pale.high);
    return STATUS_OK;
}

static enum status send_magnitudes(const struct mask_drawing *drawing)
{
    FILE *gnuplot = drawing->gnuplot;
    struct range range = {INFINITY, -INFINITY};
    double shown = drawing->plot->range > 0 ? (double)drawing->plot->range : gains_shown;
    TRY(send_gains(drawing, &range));
    double top = isfinite(range.high) ? 5 * ceil((range.high + 1) / 5) : 0;
    double bottom = fmax(10 * floor((fmin(range.low, top - 20)) / 10), top - shown);
    fprintf(gnuplot, "set title 'magnitude'\nset ylabel 'gain in dB'\nset yrange [%g:%g]\nplot ",
            bottom, top);
    for (size_t i = 0; i < drawing->plot->count; i++)
        if (has_pale(drawing, i)) {
            fprintf(gnuplot, "$pale%zu using 1:2 with lines lw 0.5", i);
            mask_layout_send_pale(gnuplot, i);
            fputs(" notitle, ", gnuplot);
        }
    for (size_t i = 0; i < drawing->plot->count; i++) {
        fprintf(gnuplot, "%s$gain%zu using 1:2", i ? ", " : "", i);
        send_style(drawing, "lines lw 2", i);
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
                  : curve_group_delay(&drawing->spectra[i], is_smooth(drawing, i), &curve));
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
        fprintf(gnuplot, "%s$%s%zu using 1:2", i ? ", " : "plot ", block, i);
        send_style(drawing, dots ? "points pt 7 ps 0.2" : "lines lw 2", i);
    }
    fputs("\nset yrange [*:*]\nset ytics autofreq\n", gnuplot);
    return STATUS_OK;
}

enum status mask_subplot_frequencies(const struct mask_drawing *drawing, enum mask_subplot subplot)
{
    /* gnuplot leaves out a label at the very beginning */
    fprintf(drawing->gnuplot,
            "set logscale x\nset xrange [%.9g:%.9g]\nset xlabel 'frequency in Hz'\n",
            drawing->low * (1 - near), drawing->high * (1 + near));
    mask_layout_send_hertz(drawing);
    TRY(subplot == MASK_SUBPLOT_MAGNITUDE ? send_magnitudes(drawing)
                                          : send_phases(drawing, subplot));
    fputs("unset logscale x\nset xrange [*:*]\nset xtics autofreq\n", drawing->gnuplot);
    return STATUS_OK;
}
