#include "mask_plot.h"

#include "mask_curves.h"
#include "new_file.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PANEL_WIDE = 720,
    PANEL_HIGH = 360,
    ALONE_WIDE = 1000,
    ALONE_HIGH = 560,
    HEAD = 40,  /* for the title of several panels */
    DOTS = 120, /* taps: shorter ones show each */
    INCH = 100, /* pixels */
};

static const double levels_shown = 100; /* dB */

/* Okabe and Ito's, which the colour-blind tell apart, less the yellow. */
static const char *const colours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                      "#e69f00", "#56b4e9", "#000000", "#7f7f7f"};
enum { COLOURS = sizeof colours / sizeof *colours };

/* ---- files ---- */

struct kind {
    const char *suffix;
    const char *terminal;
    double unit; /* of its sizes, in pixels */
};

static const struct kind kinds[] = {
    {".svg", "svg noenhanced font 'Helvetica,13' background rgb 'white' size %g,%g", 1},
    {".png", "pngcairo noenhanced font 'Sans,10' size %g,%g", 1},
    {".pdf", "pdfcairo noenhanced font 'Sans,9' size %gin,%gin", INCH},
};

static const struct kind *kind_of(const char *file)
{
    size_t length = strlen(file);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (length > 4 && strcmp(file + length - 4, kinds[i].suffix) == 0)
            return &kinds[i];
    return NULL;
}

enum status mask_plot_check_file(const char *file)
{
    return kind_of(file) ? STATUS_OK
                         : fail(STATUS_USAGE, "a plot is a .svg, .png or .pdf file, not %s", file);
}

/* ---- data ---- */

/* Within single quotes. */
static void send_name(FILE *gnuplot, const char *name)
{
    for (; *name; name++)
        if (*name == '\'')
            fputs("''", gnuplot);
        else
            fputc((unsigned char)*name < 0x20 ? '?' : *name, gnuplot);
}

static void send_curve(FILE *gnuplot, const char *block, size_t index, const struct curve *curve,
                       double scale)
{
    fprintf(gnuplot, "$%s%zu << EOD\n", block, index);
    for (size_t i = 0; i < curve->count; i++)
        if (isfinite(curve->y[i]))
            fprintf(gnuplot, "%.8g %.7g\n", curve->x[i] * scale, curve->y[i]);
        else
            fputs("\n", gnuplot); /* a gap */
    fputs("EOD\n", gnuplot);
}

struct range {
    double low, high;
};

static void widen(struct range *range, const struct curve *curve)
{
    for (size_t i = 0; i < curve->count; i++)
        if (isfinite(curve->y[i])) {
            range->low = fmin(range->low, curve->y[i]);
            range->high = fmax(range->high, curve->y[i]);
        }
}

/* ---- panels ---- */

static double longest(const struct mask_plot *plot)
{
    double most = 0;
    for (size_t i = 0; i < plot->count; i++)
        most = fmax(most, (double)plot->curves[i].mask->taps / plot->curves[i].rate);
    return most;
}

static double highest(const struct mask_plot *plot)
{
    double most = 0;
    for (size_t i = 0; i < plot->count; i++)
        most = fmax(most, plot->curves[i].rate / 2.0);
    return most;
}

static void send_legend(FILE *gnuplot, const struct mask_plot_curve *curve)
{
    fputs(" title '", gnuplot);
    send_name(gnuplot, curve->name);
    fputs("'", gnuplot);
}

static void send_frequency_axis(FILE *gnuplot, const struct mask_plot *plot)
{
    double high = highest(plot);
    fprintf(gnuplot,
            "set logscale x\nset xrange [%g:%g]\nset xlabel 'frequency in Hz'\n"
            "set xtics ('20' 20, '50' 50, '100' 100, '200' 200, '500' 500, '1k' 1e3, '2k' 2e3, "
            "'5k' 5e3, '10k' 10e3, '20k' 20e3, '50k' 50e3)\n",
            fmin(20, high / 10), high);
}

static enum status send_times(FILE *gnuplot, const struct mask_plot *plot, enum mask_panel panel)
{
    bool impulse = panel == MASK_PANEL_IMPULSE, seconds = longest(plot) >= 2;
    const char *block = impulse ? "impulse" : "step";
    enum status status = STATUS_OK;
    for (size_t i = 0; i < plot->count && status == STATUS_OK; i++) {
        const struct mask_plot_curve *own = &plot->curves[i];
        struct curve curve = {0};
        status = impulse ? curve_impulse(own->mask, own->column, own->rate, &curve)
                         : curve_step(own->mask, own->column, own->rate, &curve);
        if (status == STATUS_OK)
            send_curve(gnuplot, block, i, &curve, seconds ? 1 : 1e3);
        curve_free(&curve);
    }
    fprintf(gnuplot, "set title '%s response'\nset xlabel 'time in %s'\nset ylabel 'amplitude'\n",
            impulse ? "impulse" : "step", seconds ? "s" : "ms");
    for (size_t i = 0; i < plot->count; i++) {
        bool dots = plot->file && plot->curves[i].mask->taps <= DOTS;
        fprintf(gnuplot, "%s$%s%zu using 1:2 with %s lw 1.5 lc rgb '%s'", i ? ", " : "plot ", block,
                i, dots ? "linespoints pt 7 ps 0.4" : "lines", colours[i % COLOURS]);
        send_legend(gnuplot, &plot->curves[i]);
    }
    fputs("\n", gnuplot);
    return status;
}

static bool is_long(const struct mask_plot_curve *curve)
{
    return curve->mask->taps > MASK_PLOT_LONG;
}

static enum status send_magnitudes(FILE *gnuplot, const struct mask_plot *plot,
                                   const struct mask_spectrum *spectra)
{
    struct range range = {INFINITY, -INFINITY};
    enum status status = STATUS_OK;
    for (size_t i = 0; i < 2 * plot->count && status == STATUS_OK; i++) {
        struct curve curve = {0};
        bool smooth = i % 2;
        status = curve_magnitude(&spectra[i / 2], smooth, &curve);
        if (status == STATUS_OK) {
            send_curve(gnuplot, smooth ? "smooth" : "exact", i / 2, &curve, 1);
            widen(&range, &curve);
        }
        curve_free(&curve);
    }
    double top = isfinite(range.high) ? 10 * ceil((range.high + 1) / 10) : 0;
    double bottom = fmax(10 * floor((fmin(range.low, top - 20)) / 10), top - levels_shown);
    fprintf(gnuplot, "set title 'magnitude'\nset ylabel 'gain in dB'\nset yrange [%g:%g]\n", bottom,
            top);
    for (size_t i = 0; i < plot->count; i++) /* pale ones first, behind all others */
        if (is_long(&plot->curves[i]) && plot->file)
            fprintf(gnuplot, "%s$exact%zu using 1:2 with lines lw 0.5 lc rgb '#c0%s' notitle",
                    i ? ", " : "plot ", i, colours[i % COLOURS] + 1);
        else
            fprintf(gnuplot, "%sNaN notitle", i ? ", " : "plot ");
    for (size_t i = 0; i < plot->count; i++) {
        fprintf(gnuplot, ", $%s%zu using 1:2 with lines lw 2 lc rgb '%s'",
                is_long(&plot->curves[i]) ? "smooth" : "exact", i, colours[i % COLOURS]);
        send_legend(gnuplot, &plot->curves[i]);
    }
    fputs("\nset yrange [*:*]\n", gnuplot);
    return status;
}

static enum status send_phases(FILE *gnuplot, const struct mask_plot *plot,
                               const struct mask_spectrum *spectra, enum mask_panel panel)
{
    bool phase = panel == MASK_PANEL_PHASE;
    const char *block = phase ? "phase" : "delay";
    enum status status = STATUS_OK;
    for (size_t i = 0; i < plot->count && status == STATUS_OK; i++) {
        struct curve curve = {0};
        status = phase ? curve_phase(&spectra[i], &curve)
                       : curve_group_delay(&spectra[i], is_long(&plot->curves[i]), &curve);
        if (status == STATUS_OK)
            send_curve(gnuplot, block, i, &curve, 1);
        curve_free(&curve);
    }
    fputs(phase ? "set title 'phase, without the delay of the peak'\nset ylabel 'degrees'\n"
                  "set yrange [-190:190]\nset ytics 90\n"
                : "set title 'group delay'\nset ylabel 'ms'\nset offsets 0, 0, 0.5, 0.5\n",
          gnuplot);
    for (size_t i = 0; i < plot->count; i++) {
        bool dots = phase && is_long(&plot->curves[i]);
        fprintf(gnuplot, "%s$%s%zu using 1:2 with %s lc rgb '%s'", i ? ", " : "plot ", block, i,
                dots ? "points pt 7 ps 0.2" : "lines lw 2", colours[i % COLOURS]);
        send_legend(gnuplot, &plot->curves[i]);
    }
    fputs("\nset yrange [*:*]\nset ytics autofreq\nset offsets 0, 0, 0, 0\n", gnuplot);
    return status;
}

static enum status send_frequencies(FILE *gnuplot, const struct mask_plot *plot,
                                    enum mask_panel panel)
{
    struct mask_spectrum spectra[MASK_PLOT_CURVES] = {0};
    enum status status = STATUS_OK;
    for (size_t i = 0; i < plot->count && status == STATUS_OK; i++)
        status = mask_spectrum_init(&spectra[i], plot->curves[i].mask, plot->curves[i].column,
                                    plot->curves[i].rate);
    send_frequency_axis(gnuplot, plot);
    if (status == STATUS_OK)
        status = panel == MASK_PANEL_MAGNITUDE ? send_magnitudes(gnuplot, plot, spectra)
                                               : send_phases(gnuplot, plot, spectra, panel);
    fputs("unset logscale x\nset xrange [*:*]\nset xtics autofreq\n", gnuplot);
    for (size_t i = 0; i < plot->count; i++)
        mask_spectrum_free(&spectra[i]);
    return status;
}

/* A picture's axis is even, so that frequencies are drawn by their logarithms. */
static enum status send_spectrogram(FILE *gnuplot, const struct mask_plot *plot, size_t index)
{
    const struct mask_plot_curve *own = &plot->curves[index];
    struct spectrogram picture = {0};
    enum status status = spectrogram_init(&picture, own->mask, own->column, own->rate);
    if (status != STATUS_OK)
        return status;
    bool seconds = (double)own->mask->taps / own->rate >= 2;
    fprintf(gnuplot, "$picture%zu << EOD\n", index);
    for (size_t c = 0; c < picture.columns; c++)
        for (size_t r = 0; r < picture.rows; r++)
            fprintf(gnuplot, "%.6g %.6g %.4g\n",
                    (picture.from + (double)c * picture.step) * (seconds ? 1 : 1e3),
                    log10(picture.low) + (double)r * log10(picture.ratio),
                    picture.db[c * picture.rows + r]);
    fputs("EOD\nset title 'spectrogram", gnuplot);
    fputs(plot->count > 1 ? " of " : "", gnuplot);
    send_name(gnuplot, plot->count > 1 ? own->name : "");
    fprintf(gnuplot,
            "'\nset xlabel 'time in %s'\nset ylabel 'frequency in Hz'\nset cblabel 'dB'\n"
            "set cbrange [-90:0]\nset yrange [%g:%g]\nunset grid\nunset key\n"
            "set autoscale xfix\n"
            "set ytics ('20' log10(20), '50' log10(50), '100' 2, '200' log10(200), '500' "
            "log10(500), '1k' 3, '2k' log10(2e3), '5k' log10(5e3), '10k' 4, '20k' log10(20e3))\n"
            "plot $picture%zu using 1:2:3 with image notitle\n"
            "set yrange [*:*]\nset ytics autofreq\nset grid\n",
            seconds ? "s" : "ms", log10(picture.low / sqrt(picture.ratio)), log10(own->rate / 2.0),
            index);
    spectrogram_free(&picture);
    return STATUS_OK;
}

static enum status send_panel(FILE *gnuplot, const struct mask_plot *plot, enum mask_panel panel)
{
    enum status status = STATUS_OK;
    switch (panel) {
    case MASK_PANEL_IMPULSE:
    case MASK_PANEL_STEP:
        return send_times(gnuplot, plot, panel);
    case MASK_PANEL_SPECTROGRAM:
        for (size_t i = 0; i < plot->count && status == STATUS_OK; i++)
            status = send_spectrogram(gnuplot, plot, i);
        return status;
    default:
        return send_frequencies(gnuplot, plot, panel);
    }
}

/* ---- the whole ---- */

static size_t panels_of(const struct mask_plot *plot)
{
    size_t count = 0;
    for (size_t p = 0; p < MASK_PANELS; p++)
        if (plot->panels[p])
            count += p == MASK_PANEL_SPECTROGRAM ? plot->count : 1;
    return count;
}

static void send_terminal(FILE *gnuplot, const struct mask_plot *plot, const char *output,
                          size_t rows, size_t columns)
{
    if (!plot->file) {
        fprintf(gnuplot, "set terminal dumb noenhanced size %zu,%zu\n", plot->width, plot->height);
        return;
    }
    const struct kind *kind = kind_of(plot->file);
    bool alone = rows * columns == 1;
    double wide = alone ? ALONE_WIDE : (double)(PANEL_WIDE * columns);
    double high = alone ? ALONE_HIGH : (double)(PANEL_HIGH * rows + HEAD);
    fputs("set terminal ", gnuplot);
    fprintf(gnuplot, kind->terminal, wide / kind->unit, high / kind->unit);
    fputs("\nset output '", gnuplot);
    send_name(gnuplot, output);
    fputs("'\n", gnuplot);
}

static void send_style(FILE *gnuplot, const struct mask_plot *plot)
{
    fputs("set grid lt 1 lc rgb '#dddddd' lw 1\nset border lc rgb '#606060'\n"
          "set tics textcolor rgb '#303030'\nset format x '%g'\nset autoscale xfix\n"
          "set palette defined (0 '#ffffff', 1 '#fde9c9', 3 '#f4a15d', 5 '#d1495b', 7 '#7a2a6a', "
          "9 '#1b1035')\n",
          gnuplot);
    if (plot->file)
        fputs("set key below horizontal samplen 2\n", gnuplot);
    if (plot->count == 1)
        fputs("set key off\n", gnuplot);
}

static enum status send_all(FILE *gnuplot, const struct mask_plot *plot, const char *output)
{
    enum status status = STATUS_OK;
    size_t count = panels_of(plot), columns = count > 1 && plot->file ? 2 : 1;
    size_t rows = (count + columns - 1) / columns;
    send_terminal(gnuplot, plot, output, rows, columns);
    send_style(gnuplot, plot);
    if (count > 1 && plot->file) {
        fprintf(gnuplot, "set multiplot layout %zu,%zu", rows, columns);
        if (plot->count == 1) {
            fputs(" title '", gnuplot);
            send_name(gnuplot, plot->curves[0].name);
            fputs("'", gnuplot);
        }
        fputs("\n", gnuplot);
    }
    for (enum mask_panel panel = 0; panel < MASK_PANELS && status == STATUS_OK; panel++)
        if (plot->panels[panel])
            status = send_panel(gnuplot, plot, panel);
    if (count > 1 && plot->file)
        fputs("unset multiplot\n", gnuplot);
    fputs("unset output\n", gnuplot);
    return status;
}

static enum status run_gnuplot(const struct mask_plot *plot, const char *output)
{
    FILE *gnuplot = popen("gnuplot", "w");
    if (!gnuplot)
        return fail(STATUS_FAILED, "cannot run gnuplot");
    void (*before)(int) = signal(SIGPIPE, SIG_IGN); /* where gnuplot ends early, we tell */
    enum status status = send_all(gnuplot, plot, output);
    int result = pclose(gnuplot);
    signal(SIGPIPE, before);
    if (status == STATUS_OK && result != 0)
        status = fail(STATUS_FAILED, "gnuplot could not draw%s%s", plot->file ? " " : "",
                      plot->file ? plot->file : "");
    return status;
}

enum status mask_plot_draw(const struct mask_plot *plot)
{
    struct new_file file;
    if (system("command -v gnuplot >/dev/null 2>&1") != 0)
        return fail(STATUS_FAILED, "plots are drawn by gnuplot; install it (gnuplot-nox)");
    fflush(stdout);
    if (!plot->file)
        return run_gnuplot(plot, NULL);
    enum status status = new_file_open(&file, plot->file, plot->force, NULL);
    if (status != STATUS_OK)
        return status;
    close(file.fd);
    status = run_gnuplot(plot, file.temporary);
    int error = status == STATUS_OK ? new_file_keep(&file) : 0;
    if (error)
        status = fail(STATUS_FAILED, "cannot write %s: %s", plot->file, strerror(error));
    new_file_discard(&file);
    return status;
}
