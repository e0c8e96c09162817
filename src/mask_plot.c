#include "mask_plot.h"

#include "mask_panel.h"
#include "new_file.h"

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
    HEAD = 40,    /* for the title of several panels */
    MANY = 1024,  /* taps: their spectrograms say something */
    PICTURES = 2, /* spectrograms that nobody asked for */
    INCH = 100,   /* pixels */
};

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

/* ---- the whole ---- */

/* What the user chose, or: no phase of a reverberation, which is noise, and spectrograms of long
 * masks, if they are few. */
static void choose_panels(struct mask_drawing *drawing)
{
    const struct mask_plot *plot = drawing->plot;
    bool chosen = false, phase = true, pictures = plot->count <= PICTURES;
    for (size_t p = 0; p < MASK_PANELS; p++)
        chosen = chosen || plot->panels[p];
    for (size_t i = 0; i < plot->count; i++) {
        phase = phase && !drawing->rough[i];
        pictures = pictures && plot->curves[i].mask->taps >= MANY;
    }
    for (size_t p = 0; p < MASK_PANELS; p++)
        drawing->panels[p] = chosen ? plot->panels[p] : true;
    drawing->panels[MASK_PANEL_PHASE] &= chosen || phase;
    drawing->panels[MASK_PANEL_SPECTROGRAM] &= chosen || pictures;
}

static enum status drawing_init(struct mask_drawing *drawing, const struct mask_plot *plot)
{
    enum status status = STATUS_OK;
    *drawing = (struct mask_drawing){.plot = plot};
    for (size_t i = 0; i < plot->count && status == STATUS_OK; i++) {
        const struct mask_plot_curve *own = &plot->curves[i];
        status = mask_spectrum_init(&drawing->spectra[i], own->mask, own->column, own->rate);
        drawing->rough[i] = status == STATUS_OK && mask_spectrum_is_rough(&drawing->spectra[i]);
    }
    choose_panels(drawing);
    return status;
}

static void drawing_free(struct mask_drawing *drawing)
{
    for (size_t i = 0; i < drawing->plot->count; i++)
        mask_spectrum_free(&drawing->spectra[i]);
}

static size_t panels_of(const struct mask_drawing *drawing)
{
    size_t count = 0;
    for (size_t p = 0; p < MASK_PANELS; p++)
        if (drawing->panels[p])
            count += p == MASK_PANEL_SPECTROGRAM ? drawing->plot->count : 1;
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
    mask_panel_send_name(gnuplot, output);
    fputs("'\n", gnuplot);
}

static void send_style(FILE *gnuplot, const struct mask_plot *plot)
{
    fputs("set border lc rgb '#606060'\nset tics textcolor rgb '#303030'\n"
          "set format x '%g'\nset autoscale xfix\n"
          "set palette defined (0 '#ffffff', 1 '#fde9c9', 3 '#f4a15d', 5 '#d1495b', "
          "7 '#7a2a6a', 9 '#1b1035')\n",
          gnuplot);
    if (plot->file)
        fputs(
            "set grid lt 1 lc rgb '#dddddd' lw 1\nset key above horizontal Left reverse samplen 2\n",
            gnuplot);
    if (plot->count == 1)
        fputs("set key off\n", gnuplot);
}

static enum status send_all(const struct mask_drawing *drawing, const char *output)
{
    const struct mask_plot *plot = drawing->plot;
    FILE *gnuplot = drawing->gnuplot;
    enum status status = STATUS_OK;
    size_t count = panels_of(drawing), columns = count > 1 ? 2 : 1;
    size_t rows = (count + columns - 1) / columns;
    bool several = count > 1 && plot->file;
    send_terminal(gnuplot, plot, output, rows, columns);
    send_style(gnuplot, plot);
    if (several) {
        fprintf(gnuplot, "set multiplot layout %zu,%zu", rows, columns);
        if (plot->count == 1) {
            fputs(" title '", gnuplot);
            mask_panel_send_name(gnuplot, plot->curves[0].name);
            fputs("'", gnuplot);
        }
        fputs("\n", gnuplot);
    }
    for (enum mask_panel panel = 0; panel < MASK_PANELS && status == STATUS_OK; panel++)
        if (drawing->panels[panel])
            status = mask_panel_send(drawing, panel);
    fputs(several ? "unset multiplot\nunset output\n" : "unset output\n", gnuplot);
    return status;
}

static enum status run_gnuplot(const struct mask_plot *plot, const char *output)
{
    struct mask_drawing drawing;
    enum status status = drawing_init(&drawing, plot);
    if (status == STATUS_OK && !(drawing.gnuplot = popen("gnuplot", "w")))
        status = fail(STATUS_FAILED, "cannot run gnuplot");
    if (status == STATUS_OK) {
        void (*before)(int) = signal(SIGPIPE, SIG_IGN); /* where gnuplot ends early, we tell */
        status = send_all(&drawing, output);
        int result = pclose(drawing.gnuplot);
        signal(SIGPIPE, before);
        if (status == STATUS_OK && result != 0)
            status =
                fail(STATUS_FAILED, "gnuplot could not draw %s", plot->file ? plot->file : "text");
    }
    drawing_free(&drawing);
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
    if (status == STATUS_OK) {
        close(file.fd); /* gnuplot opens it again */
        status = run_gnuplot(plot, file.temporary);
    }
    int error = status == STATUS_OK ? new_file_keep(&file) : 0;
    if (error)
        status = fail(STATUS_FAILED, "cannot write %s: %s", plot->file, strerror(error));
    new_file_discard(&file);
    return status;
}
