#include "mask/mask_plot.h"

#include "base/gnuplot.h"
#include "mask/mask_drawing.h"
#include "mask/room_acoustics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    MANY = 1024,  /* taps: have a useful spectrogram */
    PICTURES = 2, /* of each kind are drawn by default */
};

static const double log_least = 0.2;              /* seconds: of a mask with such an axis */
static const double log_onset = 0.1;              /* of such a mask, before its direct sound */
static const double lowest = 20, least_axis = 10; /* Hz; half the rate to the lowest frequency */

static const struct subplot_kind {
    enum status (*of_all)(const struct mask_drawing *drawing, enum mask_subplot subplot);
    enum status (*of_each)(const struct mask_drawing *drawing, size_t curve);
    double
        inset; /* pixels: labels of gnuplot's three-dimensional plots lie outside of their place */
} kinds[MASK_SUBPLOTS] = {
    [MASK_SUBPLOT_IMPULSE] = {.of_all = mask_subplot_times},
    [MASK_SUBPLOT_STEP] = {.of_all = mask_subplot_times},
    [MASK_SUBPLOT_ENERGY] = {.of_all = mask_subplot_times},
    [MASK_SUBPLOT_DECAY] = {.of_all = mask_subplot_times},
    [MASK_SUBPLOT_MAGNITUDE] = {.of_all = mask_subplot_frequencies},
    [MASK_SUBPLOT_PHASE] = {.of_all = mask_subplot_frequencies},
    [MASK_SUBPLOT_DELAY] = {.of_all = mask_subplot_frequencies},
    [MASK_SUBPLOT_SPECTROGRAM] = {.of_each = mask_subplot_spectrogram},
    [MASK_SUBPLOT_WATERFALL] = {.of_each = mask_subplot_waterfall, .inset = 48},
};

static enum status send_subplot(struct mask_drawing *drawing, enum mask_subplot subplot)
{
    size_t count = kinds[subplot].of_each ? drawing->plot->count : 1;
    for (size_t i = 0; i < count; i++) {
        if (drawing->plot->file)
            mask_layout_send_place(drawing, kinds[subplot].inset);
        TRY(kinds[subplot].of_each ? kinds[subplot].of_each(drawing, i)
                                   : kinds[subplot].of_all(drawing, subplot));
    }
    return STATUS_OK;
}

/* ---- what is drawn ---- */

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

/* The user's choice. By default all, but no phase of a reverberation, which is noise, a decay only
 * of a room, and pictures only of few, long masks. */
static enum status choose_subplots(struct mask_drawing *drawing)
{
    const struct mask_plot *plot = drawing->plot;
    bool chosen = false, phase = true, pictures = plot->count <= PICTURES, room;
    for (size_t p = 0; p < MASK_SUBPLOTS; p++)
        chosen = chosen || plot->subplots[p];
    for (size_t i = 0; i < plot->count; i++) {
        phase = phase && !drawing->rough[i];
        pictures = pictures && plot->curves[i].mask->taps >= MANY;
    }
    TRY(find_rooms(plot, &room));
    for (size_t p = 0; p < MASK_SUBPLOTS; p++)
        drawing->subplots[p] = chosen ? plot->subplots[p] : true;
    drawing->subplots[MASK_SUBPLOT_ENERGY] &= chosen || room;
    drawing->subplots[MASK_SUBPLOT_DECAY] &= chosen || room;
    drawing->subplots[MASK_SUBPLOT_PHASE] &= chosen || phase;
    drawing->subplots[MASK_SUBPLOT_SPECTROGRAM] &= chosen || pictures;
    drawing->subplots[MASK_SUBPLOT_WATERFALL] &= chosen || (pictures && room);
    return STATUS_OK;
}

/* ---- the axes ---- */

/* Where the longest mask is long and all direct sounds are early, all that matters is at the left.
 */
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
                               "there is nothing to plot from %g to %g Hz; see --low "
                               "and --high",
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

/* ---- the drawing ---- */

static enum status send_all(struct mask_drawing *drawing)
{
    const struct mask_plot *plot = drawing->plot;
    FILE *gnuplot = drawing->gnuplot;
    fputs("set border lc rgb '#606060'\nset tics textcolor rgb '#303030'\n"
          "set format x '%g'\nset autoscale xfix\nset clip two\n",
          gnuplot);
    gnuplot_send_palette(gnuplot);
    fputs(plot->count == 1 || plot->file ? "set key off\n" : "set key below Left reverse\n",
          gnuplot);
    if (plot->file) {
        fputs("set grid lt 1 lc rgb '#dddddd' lw 1\nset multiplot\n", gnuplot);
        mask_layout_send_head(drawing);
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
    bool has_scale =
        drawing->subplots[MASK_SUBPLOT_SPECTROGRAM] || drawing->subplots[MASK_SUBPLOT_WATERFALL];
    return plot->file ? mask_layout_init(&drawing->layout, plot, count, has_scale) : STATUS_OK;
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
    for (size_t i = 0; i < plot->count; i++)
        mask_spectrum_free(&drawing->spectra[i]);
    free(drawing);
    return status;
}
