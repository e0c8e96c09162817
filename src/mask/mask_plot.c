#include "mask/mask_plot.h"

#include "base/gnuplot.h"
#include "mask/mask_subplot.h"

#include <stdio.h>

enum {
    SUBPLOT_WIDE = 720,
    SUBPLOT_HIGH = 360,
    ALONE_WIDE = 1000,
    ALONE_HIGH = 560,
    HEAD = 40,    /* for the title of several panels */
    MANY = 1024,  /* taps: their spectrograms say something */
    PICTURES = 2, /* spectrograms that nobody asked for */
};

/* ---- the whole ---- */

/* What the user chose, or: no phase of a reverberation, which is noise, and spectrograms of long
 * masks, if they are few. */
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

static enum status drawing_init(struct mask_drawing *drawing, const struct mask_plot *plot)
{
    enum status status = STATUS_OK;
    *drawing = (struct mask_drawing){.plot = plot};
    for (size_t i = 0; i < plot->count && status == STATUS_OK; i++) {
        const struct mask_plot_curve *own = &plot->curves[i];
        status = mask_spectrum_init(&drawing->spectra[i], own->mask, own->column, own->rate);
        drawing->rough[i] = status == STATUS_OK && mask_spectrum_is_rough(&drawing->spectra[i]);
    }
    choose_subplots(drawing);
    return status;
}

static void drawing_free(struct mask_drawing *drawing)
{
    for (size_t i = 0; i < drawing->plot->count; i++)
        mask_spectrum_free(&drawing->spectra[i]);
}

static size_t subplots_of(const struct mask_drawing *drawing)
{
    size_t count = 0;
    for (size_t p = 0; p < MASK_SUBPLOTS; p++)
        if (drawing->subplots[p])
            count += p == MASK_SUBPLOT_SPECTROGRAM ? drawing->plot->count : 1;
    return count;
}

static void send_style(FILE *gnuplot, const struct mask_plot *plot)
{
    fputs("set border lc rgb '#606060'\nset tics textcolor rgb '#303030'\n"
          "set format x '%g'\nset autoscale xfix\n",
          gnuplot);
    gnuplot_send_palette(gnuplot);
    if (plot->file)
        fputs(
            "set grid lt 1 lc rgb '#dddddd' lw 1\nset key above horizontal Left reverse samplen 2\n",
            gnuplot);
    if (plot->count == 1)
        fputs("set key off\n", gnuplot);
}

static enum status send_all(const struct mask_drawing *drawing, size_t rows, size_t columns)
{
    const struct mask_plot *plot = drawing->plot;
    FILE *gnuplot = drawing->gnuplot;
    bool several = columns > 1 && plot->file;
    send_style(gnuplot, plot);
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
            TRY(mask_subplot_send(drawing, subplot));
    if (several)
        fputs("unset multiplot\n", gnuplot);
    return STATUS_OK;
}

static enum status draw(struct mask_drawing *drawing)
{
    const struct mask_plot *plot = drawing->plot;
    size_t count = subplots_of(drawing), columns = count > 1 ? 2 : 1;
    size_t rows = (count + columns - 1) / columns;
    struct gnuplot_settings settings = {.file = plot->file, .force = plot->force};
    settings.width =
        plot->file ? count > 1 ? (double)(SUBPLOT_WIDE * columns) : ALONE_WIDE : (double)plot->width;
    settings.height = plot->file ? count > 1 ? (double)(SUBPLOT_HIGH * rows + HEAD) : ALONE_HIGH
                                 : (double)plot->height;
    struct gnuplot gnuplot;
    enum status status = gnuplot_open(&settings, &gnuplot);
    drawing->gnuplot = gnuplot.commands;
    if (status == STATUS_OK)
        status = send_all(drawing, rows, columns);
    return gnuplot_close(&gnuplot, status);
}

enum status mask_plot_draw(const struct mask_plot *plot)
{
    struct mask_drawing drawing;
    enum status status = drawing_init(&drawing, plot);
    if (status == STATUS_OK)
        status = draw(&drawing);
    drawing_free(&drawing);
    return status;
}
