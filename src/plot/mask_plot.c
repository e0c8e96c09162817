#include "plot/mask_plot.h"

#include "acoustics/room_acoustics.h"
#include "base/gnuplot.h"
#include "plot/mask_curves.h"
#include "spectrogram/spectrogram_figure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where the subplots are, in pixels. */
struct plot_layout {
    double width, height; /* size of the whole */
    double head;          /* height of the title or legend above */
    size_t columns, rows; /* numbers of subplots */
    bool has_scale;       /* some subplots have a scale at their right */
    size_t entries;       /* entries of the legend in a row */
};

/* Sums over the curves of a plot, for each of their points. */
struct mean {
    size_t points, curves;
    double *hz, *power, *sum, *squares; /* of the levels in dB, except `power` */
};

struct mask_drawing {
    const struct mask_plot *plot;
    FILE *gnuplot;
    bool subplots[MASK_SUBPLOTS];
    struct mask_spectrum spectra[MASK_PLOT_CURVES];
    bool rough[MASK_PLOT_CURVES];
    double low, high;      /* Hz */
    struct time_axis time; /* logarithmic only for impulse and step, unless the user asks for it */
    struct plot_layout layout;
    size_t subplot;   /* next subplot */
    struct mean mean; /* mean of the magnitudes; no points: it is not drawn */
};

/* ---- the layout ---- */

/* Pixels. A subplot's margins hold its title, labels, and scale of colours. */
enum {
    SUBPLOT_WIDE = 720,
    SUBPLOT_HIGH = 360,
    ALONE_WIDE = 1000,
    ALONE_HIGH = 560,
    LEFT = 72,
    RIGHT = 24,
    RIGHT_OF_SCALE = 84,
    ABOVE = 34,
    BELOW = 54,
    SCALE_GAP = 12,
    SCALE_WIDE = 14,
    LINE = 20, /* height of a line of the legend */
    STROKE = 36,
    ENTRY_GAP = 24,
    LETTER = 8, /* greatest width of a letter */
    HEAD_GAP = 12,
    LEAST_WIDE = 280, /* least width of a subplot */
    LEAST_HIGH = 200, /* least height of a subplot */
    DECADE = 110,     /* least width of a decade of frequencies that gets three labels */
};

/* Okabe and Ito's palette for colour blindness, without yellow. */
static const char *const colours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                      "#e69f00", "#56b4e9", "#000000", "#7f7f7f"};
enum { COLOURS = sizeof colours / sizeof *colours };
static const char *const dashes[] = {"solid", "(12,6)", "(3,4)", "(14,5,3,5)"};

static void send_colour(FILE *gnuplot, size_t curve)
{
    fprintf(gnuplot, " lc rgb '%s' dt %s", colours[curve % COLOURS],
            dashes[curve / COLOURS % (sizeof dashes / sizeof *dashes)]);
}

static void send_pale(FILE *gnuplot, size_t curve)
{
    fprintf(gnuplot, " lc rgb '#c0%s'", colours[curve % COLOURS] + 1);
}

/* Width inside a subplot's margins, in pixels. */
static double inner_width(const struct plot_layout *layout)
{
    return layout->width / (double)layout->columns - LEFT -
           (layout->has_scale ? RIGHT_OF_SCALE : RIGHT);
}

/* Labels frequencies. If decades are narrow, only their beginnings. */
static void send_hertz(const struct mask_drawing *drawing)
{
    bool is_narrow = drawing->plot->file &&
                     inner_width(&drawing->layout) < DECADE * log10(drawing->high / drawing->low);
    fputs(is_narrow
              ? "set xtics ('20' 20, '100' 100, '1k' 1e3, '10k' 10e3)\n"
              : "set xtics ('20' 20, '50' 50, '100' 100, '200' 200, '500' 500, '1k' 1e3, '2k' 2e3, "
                "'5k' 5e3, '10k' 10e3, '20k' 20e3, '50k' 50e3)\n",
          drawing->gnuplot);
}

static double entry_width(const struct mask_plot *plot)
{
    size_t longest = 0;
    for (size_t i = 0; i < plot->count; i++)
        longest = strlen(plot->curves[i].name) > longest ? strlen(plot->curves[i].name) : longest;
    return STROKE + ENTRY_GAP + LETTER * (double)longest;
}

static enum status layout_init(struct plot_layout *layout, const struct mask_plot *plot,
                               size_t count, bool has_scale)
{
    size_t columns = count > 1 ? 2 : 1, rows = (count + columns - 1) / columns;
    double wide = count > 1 ? (double)(SUBPLOT_WIDE * columns) : ALONE_WIDE;
    double high = count > 1 ? (double)(SUBPLOT_HIGH * rows) : ALONE_HIGH;
    wide = plot->width > 0 ? (double)plot->width : wide;
    size_t entries = (size_t)fmax(1, (wide - LEFT) / entry_width(plot));
    size_t lines = (plot->count + entries - 1) / entries;
    double head = (double)(LINE * lines + HEAD_GAP);
    *layout = (struct plot_layout){
        .width = wide,
        .height = plot->height > 0 ? (double)plot->height : head + high,
        .head = head,
        .columns = columns,
        .rows = rows,
        .has_scale = has_scale,
        .entries = entries,
    };
    double least_wide = (double)(LEAST_WIDE * columns);
    double least_high = head + (double)(LEAST_HIGH * rows);
    if (layout->width < least_wide || layout->height < least_high)
        return fail(CAUSE_USAGE,
                    "this plot needs --width %g and --height %g at least, or fewer of --what",
                    least_wide, least_high);
    return STATUS_OK;
}

/* Sends the title of one curve, or the legend of several, with the first subplot. */
static void send_head(const struct mask_drawing *drawing)
{
    const struct mask_plot *plot = drawing->plot;
    const struct plot_layout *layout = &drawing->layout;
    if (plot->count == 1) {
        fputs("set label ", drawing->gnuplot);
        gnuplot_send_quoted(drawing->gnuplot, plot->curves[0].name);
        fprintf(drawing->gnuplot, " at screen 0.5,%.6f center\n", 1 - HEAD_GAP / layout->height);
        return;
    }
    for (size_t i = 0; i < plot->count; i++) {
        double x = LEFT + entry_width(plot) * (double)(i % layout->entries);
        double y = HEAD_GAP + LINE * (double)(i / layout->entries);
        y = 1 - y / layout->height;
        fprintf(drawing->gnuplot, "set arrow from screen %.6f,%.6f to screen %.6f,%.6f nohead lw 2",
                x / layout->width, y, (x + STROKE) / layout->width, y);
        send_colour(drawing->gnuplot, i);
        fputs("\nset label ", drawing->gnuplot);
        gnuplot_send_quoted(drawing->gnuplot, plot->curves[i].name);
        fprintf(drawing->gnuplot, " at screen %.6f,%.6f left\n",
                (x + STROKE + ENTRY_GAP / 3.0) / layout->width, y);
    }
}

/* `inset`: pixels that the subplot leaves free on each side. */
static void send_place(struct mask_drawing *drawing, double inset)
{
    const struct plot_layout *layout = &drawing->layout;
    double wide = layout->width / (double)layout->columns;
    double high = (layout->height - layout->head) / (double)layout->rows;
    double left = wide * (double)(drawing->subplot % layout->columns) + LEFT;
    double right = left + inner_width(layout);
    double top = layout->head + high * (double)(drawing->subplot / layout->columns) + ABOVE;
    double bottom = top - ABOVE + high - BELOW;
    if (drawing->subplot++ == 1)
        fputs("unset arrow\nunset label\n", drawing->gnuplot);
    fprintf(drawing->gnuplot,
            "set lmargin at screen %.6f\nset rmargin at screen %.6f\n"
            "set tmargin at screen %.6f\nset bmargin at screen %.6f\n"
            "set colorbox user origin screen %.6f,%.6f size screen %.6f,%.6f\n",
            (left + inset) / layout->width, (right - inset) / layout->width,
            1 - top / layout->height, 1 - bottom / layout->height,
            (right + SCALE_GAP) / layout->width, 1 - bottom / layout->height,
            SCALE_WIDE / layout->width, (bottom - top) / layout->height);
}

/* ---- curves ---- */

enum {
    FEW = 120,     /* taps; so few are drawn as stems */
    PALE_MOST = 8, /* the most curves that have pale ones behind them */
};

static const char measured_style[] = "linespoints pt 7 ps 0.4 lw 2";
static const double gains_shown = 100; /* dB */
static const double dips_shown = 20;   /* dB of pale curves that are shown below the others */
static const double near = 1e-6;
static const double log_from = 1e-4; /* seconds at which a logarithmic axis begins */

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

/* Sends a curve and frees it. *total grows to include its values. */
static void send_curve(FILE *gnuplot, const char *block, size_t index, struct curve *curve,
                       double scale, struct range *total)
{
    struct range range = {INFINITY, -INFINITY};
    widen(&range, curve->y, curve->count);
    widen(total, curve->y, curve->count);
    fprintf(gnuplot, "$%s%zu << EOD\n", block, index);
    if (range.low > range.high)
        fputs("1 1e9\n", gnuplot); /* outside the axes, since gnuplot warns of empty curves */
    for (size_t i = 0; i < curve->count; i++)
        if (isfinite(curve->y[i]))
            fprintf(gnuplot, "%.8g %.7g\n", curve->x[i] * scale, curve->y[i]);
        else
            fputs("\n", gnuplot); /* a gap in the curve */
    fputs("EOD\n", gnuplot);
    curve_free(curve);
}

/* Sends a curve's style, after its data. In text, points are the letters of gnuplot's legend. */
static void send_style(const struct mask_drawing *drawing, const char *style, size_t index)
{
    if (drawing->plot->file)
        fprintf(drawing->gnuplot, " with %s", style);
    else
        fprintf(drawing->gnuplot, " with linespoints pt %zu", index + 1);
    send_colour(drawing->gnuplot, index);
    fputs(" title ", drawing->gnuplot);
    gnuplot_send_quoted(drawing->gnuplot, drawing->plot->curves[index].name);
}

/* ---- over time ---- */

static const struct time_subplot {
    enum time_curve kind;
    const char *block, *title, *unit;
    double shown; /* dB shown below the largest; 0: amplitudes are shown */
} time_subplots[MASK_SUBPLOTS] = {
    [MASK_SUBPLOT_IMPULSE] = {TIME_CURVE_IMPULSE, "impulse", "impulse response", "amplitude", 0},
    [MASK_SUBPLOT_STEP] = {TIME_CURVE_STEP, "step", "step response", "amplitude", 0},
    [MASK_SUBPLOT_ENERGY] = {TIME_CURVE_ENERGY, "energy", "energy over time",
                             "dB below the largest", 90},
    [MASK_SUBPLOT_DECAY] = {TIME_CURVE_DECAY, "decay", "decay (Schroeder), without noise",
                            "energy to come in dB", 70},
};

/* A subplot's time axis. A decay, straight on a linear axis, is logarithmic only on request. */
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

/* Sends the level axis. Amplitudes have a margin. Levels are shown downwards from the largest. This
 * is rounded like the curves, so that no curve is above the axis. */
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
        levels.high = 0; /* all energy, even if the axis begins later */
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
        send_colour(gnuplot, index);
        fputs(" notitle, ", gnuplot);
    }
    fprintf(gnuplot, "$%s%zu using 1:($2-top)", subplot->block, index);
    send_style(drawing,
               stems                                     ? "points pt 7 ps 0.5"
               : few && subplot->kind == TIME_CURVE_STEP ? "steps lw 1.5"
                                                         : "lines lw 1.5",
               index);
}

static enum status send_times(struct mask_drawing *drawing, enum mask_subplot kind)
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

/* Whether exact gains are drawn pale behind the smooth ones, which is done for few curves only. */
static bool has_pale(const struct mask_drawing *drawing, size_t index)
{
    return is_smooth(drawing, index) && drawing->plot->file && !drawing->plot->mean &&
           drawing->plot->count <= PALE_MOST;
}

static enum status mean_init(struct mean *mean, size_t points)
{
    double *all = calloc(4 * points, sizeof *all);
    if (!all)
        return fail_memory("a plot");
    *mean = (struct mean){points, 0, all, all + points, all + 2 * points, all + 3 * points};
    return STATUS_OK;
}

/* Adds a smooth curve, unless it is silent. */
static void mean_add(struct mean *mean, const struct curve *curve)
{
    if (!isfinite(curve->y[0]))
        return;
    mean->curves++;
    for (size_t p = 0; p < mean->points; p++) {
        mean->hz[p] = curve->x[p];
        mean->power[p] += pow(10, curve->y[p] / 10);
        mean->sum[p] += curve->y[p];
        mean->squares[p] += curve->y[p] * curve->y[p];
    }
}

/* Sends lines of frequency, mean, and mean less and plus a standard deviation of the levels. */
static void send_mean(const struct mask_drawing *drawing, struct range *range)
{
    const struct mean *mean = &drawing->mean;
    double n = (double)mean->curves;
    fputs("$mean << EOD\n", drawing->gnuplot);
    for (size_t p = 0; p < mean->points && n > 0; p++) {
        double db = 10 * log10(mean->power[p] / n), sum = mean->sum[p];
        double spread = sqrt(fmax(0, mean->squares[p] - sum * sum / n) / fmax(1, n - 1));
        double ends[] = {db - spread, db + spread};
        widen(range, ends, 2);
        fprintf(drawing->gnuplot, "%.8g %.7g %.7g %.7g\n", mean->hz[p], db, ends[0], ends[1]);
    }
    fputs(n > 0 ? "EOD\n" : "1 1e9 1e9 1e9\nEOD\n", drawing->gnuplot);
}

/* Sends the gains. *range includes the curves. It includes the pale curves without their dips, and
 * not at all if the user chose the range. */
static enum status send_gains(struct mask_drawing *drawing, struct range *range)
{
    struct range pale = {INFINITY, -INFINITY};
    if (drawing->plot->mean)
        TRY(mean_init(&drawing->mean, drawing->spectra[0].points));
    for (size_t i = 0; i < drawing->plot->count; i++) {
        struct curve curve;
        bool smooth = is_smooth(drawing, i) || drawing->plot->mean;
        TRY(curve_magnitude(&drawing->spectra[i], smooth, &curve));
        if (drawing->plot->mean)
            mean_add(&drawing->mean, &curve);
        send_curve(drawing->gnuplot, "gain", i, &curve, 1, range);
        if (!has_pale(drawing, i))
            continue;
        TRY(curve_magnitude(&drawing->spectra[i], false, &curve));
        send_curve(drawing->gnuplot, "pale", i, &curve, 1, &pale);
    }
    if (drawing->plot->mean)
        send_mean(drawing, range);
    if (drawing->plot->range > 0)
        return STATUS_OK;
    range->low = fmin(range->low, fmax(pale.low, range->low - dips_shown));
    range->high = fmax(range->high, pale.high);
    return STATUS_OK;
}

/* Plots the curves and, if the plot has it, their mean. */
static void plot_magnitudes(const struct mask_drawing *drawing)
{
    FILE *gnuplot = drawing->gnuplot;
    fputs(drawing->plot->mean
              ? "plot $mean using 1:3:4 with filledcurves lc rgb '#d0d0d0' notitle, "
              : "plot ",
          gnuplot);
    for (size_t i = 0; i < drawing->plot->count; i++)
        if (has_pale(drawing, i)) {
            fprintf(gnuplot, "$pale%zu using 1:2 with lines lw 0.5", i);
            send_pale(gnuplot, i);
            fputs(" notitle, ", gnuplot);
        }
    for (size_t i = 0; i < drawing->plot->count; i++) {
        fprintf(gnuplot, "%s$gain%zu using 1:2", i ? ", " : "", i);
        send_style(drawing, drawing->plot->mean ? "lines lw 0.8" : "lines lw 2", i);
    }
    fputs(drawing->plot->mean ? ", $mean using 1:2 with lines lw 3 lc rgb 'black' notitle\n" : "\n",
          gnuplot);
}

static enum status send_magnitudes(struct mask_drawing *drawing)
{
    FILE *gnuplot = drawing->gnuplot;
    struct range range = {INFINITY, -INFINITY};
    double shown = drawing->plot->range > 0 ? (double)drawing->plot->range : gains_shown;
    TRY(send_gains(drawing, &range));
    double top = isfinite(range.high) ? 5 * ceil((range.high + 1) / 5) : 0;
    double bottom = fmax(10 * floor((fmin(range.low, top - 20)) / 10), top - shown);
    fprintf(gnuplot, "set title 'magnitude%s'\nset ylabel 'gain in dB'\nset yrange [%g:%g]\n",
            drawing->plot->mean ? ", mean of all (black) and one standard deviation (grey)" : "",
            bottom, top);
    plot_magnitudes(drawing);
    fputs("set yrange [*:*]\n", gnuplot);
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

/* Sends levels by thirds of an octave. */
static enum status send_thirds(const struct mask_drawing *drawing, const char *block, size_t index,
                               const double levels[MEASURED_THIRDS], struct range *range)
{
    struct curve curve;
    TRY(curve_thirds(levels, &curve));
    send_curve(drawing->gnuplot, block, index, &curve, 1, range);
    return STATUS_OK;
}

static enum status send_snr(const struct mask_drawing *drawing)
{
    struct range range = {0, 10};
    for (size_t i = 0; i < drawing->plot->count; i++)
        TRY(send_thirds(drawing, "snr", i, drawing->plot->curves[i].measured->snr, &range));
    fprintf(drawing->gnuplot,
            "set title 'signal to noise, by thirds of an octave'\nset ylabel 'dB'\n"
            "set yrange [%g:%g]\n",
            10 * floor(range.low / 10), 10 * ceil(range.high / 10));
    for (size_t i = 0; i < drawing->plot->count; i++) {
        fprintf(drawing->gnuplot, "%s$snr%zu using 1:2", i ? ", " : "plot ", i);
        send_style(drawing, measured_style, i);
    }
    fputs("\nset yrange [*:*]\n", drawing->gnuplot);
    return STATUS_OK;
}

static void begin_frequencies(const struct mask_drawing *drawing)
{
    /* gnuplot leaves out a label at the very beginning of an axis. */
    fprintf(drawing->gnuplot,
            "set logscale x\nset xrange [%.9g:%.9g]\nset xlabel 'frequency in Hz'\n",
            drawing->low * (1 - near), drawing->high * (1 + near));
    send_hertz(drawing);
}

static void end_frequencies(const struct mask_drawing *drawing)
{
    fputs("unset logscale x\nset xrange [*:*]\nset xtics autofreq\n", drawing->gnuplot);
}

static enum status send_frequencies(struct mask_drawing *drawing, enum mask_subplot subplot)
{
    begin_frequencies(drawing);
    TRY(subplot == MASK_SUBPLOT_MAGNITUDE ? send_magnitudes(drawing)
        : subplot == MASK_SUBPLOT_SNR     ? send_snr(drawing)
                                          : send_phases(drawing, subplot));
    end_frequencies(drawing);
    return STATUS_OK;
}

/* ---- distortion ---- */

static const double distortion_shown = 80; /* dB */

static void describe(const struct mask_plot *plot, size_t curve, const char *what, char text[128])
{
    bool several = plot->count > 1;
    snprintf(text, 128, "%s%s%s", what, several ? " of " : "",
             several ? plot->curves[curve].name : "");
}

static void send_key(const struct mask_drawing *drawing)
{
    bool has_own = drawing->plot->count == 1 || drawing->plot->file;
    fputs(has_own ? "set key off\n" : "set key below Left reverse\n", drawing->gnuplot);
}

/* Sends the axes: levels at the left, their percentages at the right. */
static void send_distortion_axes(const struct mask_drawing *drawing, struct range range)
{
    bool is_known = range.low <= range.high;
    double top = is_known ? 10 * ceil(range.high / 10) + 10 : 0; /* leaves room for the key */
    double bottom = is_known ? 10 * floor(range.low / 10) : -100;
    bottom =
        fmax(fmin(bottom, top - 20),
             top - (drawing->plot->range > 0 ? (double)drawing->plot->range : distortion_shown));
    fprintf(drawing->gnuplot,
            "set ylabel 'dB of the fundamental'\nset yrange [%g:%g]\nset y2range [%g:%g]\n"
            "set ytics nomirror\nset y2tics ('100 %%%%' 0, '10 %%%%' -20, '1 %%%%' -40, "
            "'0.1 %%%%' -60, '0.01 %%%%' -80, '0.001 %%%%' -100, '0.0001 %%%%' -120) "
            "textcolor rgb '#303030'\n"
            "set key inside top right horizontal Left reverse samplen 2\n",
            bottom, top, bottom, top);
}

static void plot_distortion(const struct mask_drawing *drawing)
{
    static const char *const names[] = {"2nd", "3rd", "4th", "5th"};
    const char *size = drawing->plot->file ? "ps 0.4 lw 2" : "";
    for (size_t n = 0; n < MEASURED_ORDERS; n++) {
        fprintf(drawing->gnuplot, "%s$harmonic%zu using 1:2 with linespoints pt %zu %s",
                n ? ", " : "plot ", n, drawing->plot->file ? 7 : n + 1, size);
        send_colour(drawing->gnuplot, n);
        fprintf(drawing->gnuplot, " title '%s'", names[n]);
    }
    fprintf(drawing->gnuplot,
            ", $thd0 using 1:2 with linespoints pt %d %s lc rgb 'black' title 'THD'\n",
            drawing->plot->file ? 7 : MEASURED_ORDERS + 1, size);
}

static enum status send_distortion(const struct mask_drawing *drawing, size_t curve)
{
    const struct measured_path *path = drawing->plot->curves[curve].measured;
    struct range range = {INFINITY, -INFINITY};
    double thd[MEASURED_THIRDS];
    char title[128];
    for (size_t t = 0; t < MEASURED_THIRDS; t++)
        thd[t] = measured_thd(path, t);
    TRY(send_thirds(drawing, "thd", 0, thd, &range));
    for (size_t n = 0; n < MEASURED_ORDERS; n++)
        TRY(send_thirds(drawing, "harmonic", n, path->distortion[n], &range));
    describe(drawing->plot, curve, "distortion", title);
    fputs("set title ", drawing->gnuplot);
    gnuplot_send_quoted(drawing->gnuplot, title);
    fputs("\n", drawing->gnuplot);
    begin_frequencies(drawing);
    send_distortion_axes(drawing, range);
    plot_distortion(drawing);
    end_frequencies(drawing);
    fputs("unset y2tics\nset ytics mirror\nset yrange [*:*]\nset y2range [*:*]\n",
          drawing->gnuplot);
    send_key(drawing);
    return STATUS_OK;
}

/* ---- pictures ---- */

enum { WATERFALL_POINTS = 120, TIMES_MOST = 6 /* labels */ };

static const double picture_shown = 90, waterfall_shown = 60; /* dB */

static enum status send_spectrogram(const struct mask_drawing *drawing, size_t curve)
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

/* Makes a waterfall, from the direct sound to the end of the axis or of the range. */
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

/* Sends a waterfall. Later slices are in front, so that time comes towards the reader. */
static enum status send_waterfall(const struct mask_drawing *drawing, size_t curve)
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
    send_hertz(drawing);
    fputs("splot $waterfall using 1:2:3 with pm3d notitle\n"
          "unset logscale x\nset xrange [*:*]\nset yrange [*:*]\nset xtics autofreq\n"
          "set ytics autofreq\nset colorbox\n",
          gnuplot);
    waterfall_free(&waterfall);
    return STATUS_OK;
}

enum {
    MANY = 1024,     /* taps from which a spectrogram is useful */
    PICTURES = 2,    /* pictures of each kind that are drawn by default */
    DISTORTIONS = 4, /* the same for distortions */
};

static const double log_least = 0.2; /* seconds of a mask, from which an axis may be logarithmic */
static const double log_onset = 0.1; /* latest direct sound of such a mask, as a part of it */
static const double lowest = 20, least_axis = 10; /* Hz; least ratio of an axis's ends */

static const struct subplot_kind {
    enum status (*of_all)(struct mask_drawing *drawing, enum mask_subplot subplot);
    enum status (*of_each)(const struct mask_drawing *drawing, size_t curve);
    double inset; /* pixels; in gnuplot's three-dimensional plots, labels lie outside their place */
} kinds[MASK_SUBPLOTS] = {
    [MASK_SUBPLOT_IMPULSE] = {.of_all = send_times},
    [MASK_SUBPLOT_STEP] = {.of_all = send_times},
    [MASK_SUBPLOT_ENERGY] = {.of_all = send_times},
    [MASK_SUBPLOT_DECAY] = {.of_all = send_times},
    [MASK_SUBPLOT_MAGNITUDE] = {.of_all = send_frequencies},
    [MASK_SUBPLOT_PHASE] = {.of_all = send_frequencies},
    [MASK_SUBPLOT_DELAY] = {.of_all = send_frequencies},
    [MASK_SUBPLOT_SNR] = {.of_all = send_frequencies},
    [MASK_SUBPLOT_DISTORTION] = {.of_each = send_distortion},
    [MASK_SUBPLOT_SPECTROGRAM] = {.of_each = send_spectrogram},
    [MASK_SUBPLOT_WATERFALL] = {.of_each = send_waterfall, .inset = 48},
};

static enum status send_subplot(struct mask_drawing *drawing, enum mask_subplot subplot)
{
    size_t count = kinds[subplot].of_each ? drawing->plot->count : 1;
    for (size_t i = 0; i < count; i++) {
        if (drawing->plot->file)
            send_place(drawing, kinds[subplot].inset);
        TRY(kinds[subplot].of_each ? kinds[subplot].of_each(drawing, i)
                                   : kinds[subplot].of_all(drawing, subplot));
    }
    return STATUS_OK;
}

/* ---- the choice of subplots ---- */

static enum status find_rooms(const struct mask_plot *plot, bool *has_room)
{
    *has_room = false;
    for (size_t i = 0; i < plot->count && !*has_room; i++) {
        const struct mask_plot_curve *own = &plot->curves[i];
        struct room_decay decay;
        size_t onset;
        TRY(room_decay_of_taps(&decay, mask_column(own->mask, own->column), own->mask->taps,
                               own->rate, &onset));
        *has_room = room_decay_is_long(&decay);
        room_decay_free(&decay);
    }
    return STATUS_OK;
}

/* Whether all curves were measured. Errors: some were not, and the user wants what was measured. */
static enum status find_measured(const struct mask_plot *plot, bool *are_measured)
{
    bool is_wanted = plot->subplots[MASK_SUBPLOT_SNR] || plot->subplots[MASK_SUBPLOT_DISTORTION];
    *are_measured = true;
    for (size_t i = 0; i < plot->count && *are_measured; i++) {
        *are_measured = plot->curves[i].measured != NULL;
        if (!*are_measured && is_wanted)
            return fail(CAUSE_USAGE,
                        "%s: snr and distortion need a mask as halo measure wrote it, without "
                        "options such as gain= or channel=",
                        plot->curves[i].name);
    }
    return STATUS_OK;
}

/* Takes the user's choice, or all except: the phase of a reverberation, which is noise; the decay
 * of other masks than rooms; pictures of many or short masks. */
static enum status choose_subplots(struct mask_drawing *drawing)
{
    const struct mask_plot *plot = drawing->plot;
    bool chosen = false, phase = true, pictures = plot->count <= PICTURES, room, measured;
    for (size_t p = 0; p < MASK_SUBPLOTS; p++)
        chosen = chosen || plot->subplots[p];
    for (size_t i = 0; i < plot->count; i++) {
        phase = phase && !drawing->rough[i];
        pictures = pictures && plot->curves[i].mask->taps >= MANY;
    }
    TRY(find_rooms(plot, &room));
    TRY(find_measured(plot, &measured));
    for (size_t p = 0; p < MASK_SUBPLOTS; p++)
        drawing->subplots[p] = chosen ? plot->subplots[p] : true;
    drawing->subplots[MASK_SUBPLOT_ENERGY] &= chosen || room;
    drawing->subplots[MASK_SUBPLOT_DECAY] &= chosen || room;
    drawing->subplots[MASK_SUBPLOT_PHASE] &= chosen || phase;
    drawing->subplots[MASK_SUBPLOT_SNR] &= chosen || measured;
    drawing->subplots[MASK_SUBPLOT_DISTORTION] &=
        chosen || (measured && plot->count <= DISTORTIONS);
    drawing->subplots[MASK_SUBPLOT_SPECTROGRAM] &= chosen || pictures;
    drawing->subplots[MASK_SUBPLOT_WATERFALL] &= chosen || (pictures && room);
    return STATUS_OK;
}

/* Whether all that matters is at the left: a long mask, and all direct sounds are early. */
static bool is_early(const struct mask_plot *plot, const struct time_axis *time)
{
    bool early = !plot->has_from && time->to - time->from >= log_least;
    for (size_t i = 0; i < plot->count && early; i++) {
        const struct mask_plot_curve *own = &plot->curves[i];
        size_t onset = room_acoustics_onset(mask_column(own->mask, own->column), own->mask->taps);
        early = own->mask->origin == 0 && (double)onset / own->rate < log_onset * time->to;
    }
    return early;
}

static enum status choose_times(struct mask_drawing *drawing)
{
    const struct mask_plot *plot = drawing->plot;
    struct time_axis *time = &drawing->time;
    *time = (struct time_axis){.from = INFINITY, .to = -INFINITY};
    for (size_t i = 0; i < plot->count; i++) {
        const struct mask_plot_curve *own = &plot->curves[i];
        double origin = (double)own->mask->origin;
        time->from = fmin(time->from, -origin / own->rate);
        time->to = fmax(time->to, ((double)own->mask->taps - 1 - origin) / own->rate);
    }
    time->is_log =
        plot->time == MASK_TIME_AUTO ? is_early(plot, time) : plot->time == MASK_TIME_LOG;
    time->from = plot->has_from ? plot->from : time->from;
    time->to = plot->has_to ? plot->to : time->to;
    if (time->from >= time->to && (plot->has_from || plot->has_to))
        return fail(CAUSE_USAGE, "there is nothing to plot from %g to %g s; see --from and --to",
                    time->from, time->to);
    time->to = time->to > time->from ? time->to : time->from + 1e-3;
    return STATUS_OK;
}

enum status mask_plot_frequencies(const struct mask_plot *plot, double *low, double *high)
{
    double most = 0;
    for (size_t i = 0; i < plot->count; i++)
        most = fmax(most, plot->curves[i].rate / 2.0);
    *high = plot->high > 0 ? fmin((double)plot->high, most) : most;
    *low = plot->low > 0 ? (double)plot->low : fmin(lowest, *high / least_axis);
    return *low < *high ? STATUS_OK
                        : fail(CAUSE_USAGE,
                               "there is nothing to plot from %g to %g Hz; see --low and --high",
                               *low, *high);
}

static enum status choose_frequencies(struct mask_drawing *drawing)
{
    TRY(mask_plot_frequencies(drawing->plot, &drawing->low, &drawing->high));
    for (size_t i = 0; i < drawing->plot->count; i++) {
        struct mask_spectrum *spectrum = &drawing->spectra[i];
        spectrum->low = drawing->low;
        spectrum->high = fmax(fmin(drawing->high, spectrum->rate / 2), drawing->low);
        if (drawing->plot->smoothing > 0)
            spectrum->smoothing = 1 / (double)drawing->plot->smoothing;
    }
    return STATUS_OK;
}

static enum status send_all(struct mask_drawing *drawing)
{
    const struct mask_plot *plot = drawing->plot;
    FILE *gnuplot = drawing->gnuplot;
    fputs("set border lc rgb '#606060'\nset tics textcolor rgb '#303030'\n"
          "set format x '%g'\nset autoscale xfix\nset clip two\n",
          gnuplot);
    gnuplot_send_palette(gnuplot);
    send_key(drawing);
    if (plot->file) {
        fputs("set grid lt 1 lc rgb '#dddddd' lw 1\nset multiplot\n", gnuplot);
        send_head(drawing);
    }
    for (enum mask_subplot subplot = 0; subplot < MASK_SUBPLOTS; subplot++)
        if (drawing->subplots[subplot])
            TRY(send_subplot(drawing, subplot));
    if (plot->file)
        fputs("unset multiplot\n", gnuplot);
    return STATUS_OK;
}

static enum status prepare(struct mask_drawing *drawing)
{
    const struct mask_plot *plot = drawing->plot;
    for (size_t i = 0; i < plot->count; i++) {
        const struct mask_plot_curve *own = &plot->curves[i];
        TRY(mask_spectrum_init(&drawing->spectra[i], own->mask, own->column, own->rate));
        drawing->rough[i] = mask_spectrum_is_rough(&drawing->spectra[i]);
    }
    TRY(choose_subplots(drawing));
    TRY(choose_times(drawing));
    TRY(choose_frequencies(drawing));
    size_t count = 0;
    for (size_t p = 0; p < MASK_SUBPLOTS; p++)
        if (drawing->subplots[p])
            count += kinds[p].of_each ? plot->count : 1;
    bool has_scale = drawing->subplots[MASK_SUBPLOT_SPECTROGRAM] ||
                     drawing->subplots[MASK_SUBPLOT_WATERFALL] ||
                     drawing->subplots[MASK_SUBPLOT_DISTORTION];
    return plot->file ? layout_init(&drawing->layout, plot, count, has_scale) : STATUS_OK;
}

static enum status draw(struct mask_drawing *drawing)
{
    const struct mask_plot *plot = drawing->plot;
    TRY(prepare(drawing));
    struct gnuplot_settings settings = {
        .file = plot->file,
        .title = plot->title,
        .force = plot->force,
        .width = plot->file ? drawing->layout.width : (double)plot->width,
        .height = plot->file ? drawing->layout.height : (double)plot->height,
    };
    struct gnuplot gnuplot;
    enum status status = gnuplot_open(&settings, &gnuplot);
    drawing->gnuplot = gnuplot.commands;
    if (status == STATUS_OK)
        status = send_all(drawing);
    return gnuplot_close(&gnuplot, status);
}

enum status mask_plot_draw(const struct mask_plot *plot)
{
    struct mask_drawing *drawing = calloc(1, sizeof *drawing);
    if (!drawing)
        return fail_memory("a plot");
    drawing->plot = plot;
    enum status status = draw(drawing);
    free(drawing->mean.hz);
    for (size_t i = 0; i < plot->count; i++)
        mask_spectrum_free(&drawing->spectra[i]);
    free(drawing);
    return status;
}
