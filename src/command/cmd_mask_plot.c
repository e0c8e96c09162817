#include "base/atomic_file.h"
#include "base/gnuplot.h"
#include "base/printable.h"
#include "base/terminal.h"
#include "chain/mask_options.h"
#include "chain/stage_mask.h"
#include "command/commands.h"
#include "mask/design.h"
#include "mask/mask2d.h"
#include "mask/mask_plot.h"
#include "mask/mask_summary.h"
#include "mask/response.h"
#include "mask/response_plot.h"

#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const subplot_names[] = {"impulse",   "step",  "energy", "decay",
                                            "magnitude", "phase", "delay",  "spectrogram",
                                            "waterfall", NULL};
static const char *const time_names[] = {"linear", "log", NULL};

#define SECONDS_MOST 1e9
enum {
    RANGE_LEAST = 10,
    RANGE_MOST = 300,
    HZ_MOST = 5000000,
    SMOOTH_MOST = 96,
    EXTENT_LEAST = 8,
    EXTENT_MOST = 10000,
    LEGEND_GAP = 2,
    TITLE_MOST = 512,
};

struct mask_plot_settings {
    struct string_list texts; /* of --mask */
    struct mask **masks;
    struct mask_plot plot;
    struct number_list subplots; /* none: the default */
};

static uint32_t rate_of(const struct mask *mask)
{
    return mask->rate ? mask->rate : STAGE_MASK_USUAL_RATE;
}

/* A spec without the folder of its file. */
static const char *short_name(const char *text)
{
    const char *slash = NULL;
    size_t file = strcspn(text, ",");
    for (size_t i = 0; i < file; i++)
        if (text[i] == '/')
            slash = text + i;
    return slash ? slash + 1 : text;
}

static enum status add_curves(struct mask_plot_settings *settings, const char *text,
                              const struct mask *mask)
{
    struct mask_plot *plot = &settings->plot;
    for (size_t c = 0; c < mask->columns; c++) {
        if (plot->count == MASK_PLOT_CURVES)
            return fail(CAUSE_USAGE,
                        "at most %d curves can be plotted; MASK,channel=N selects one channel",
                        MASK_PLOT_CURVES);
        struct mask_plot_curve *curve = &plot->curves[plot->count++];
        *curve = (struct mask_plot_curve){.mask = mask, .column = c, .rate = rate_of(mask)};
        if (mask->columns > 1)
            snprintf(curve->name, sizeof curve->name, "%.64s channel %zu", short_name(text), c + 1);
        else
            snprintf(curve->name, sizeof curve->name, "%.95s", short_name(text));
    }
    return STATUS_OK;
}

/* ---- magnitudes as text, without gnuplot ---- */

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef";

/* As many names in a line as fit. Returns the lines; prints if `stream`. */
static size_t print_legend(const struct mask_plot *plot, FILE *stream)
{
    size_t longest = 0, lines = 0;
    for (size_t i = 0; i < plot->count; i++) {
        size_t length = strlen(printable(plot->curves[i].name));
        longest = length > longest ? length : longest;
    }
    size_t in_a_line = (plot->width + LEGEND_GAP) / (longest + LEGEND_GAP + 3);
    for (size_t i = 0; i < plot->count; i++) {
        bool is_last = in_a_line == 0 || (i + 1) % in_a_line == 0 || i + 1 == plot->count;
        if (stream)
            fprintf(stream, "%c  %-*s%s", letters[i], is_last ? 0 : (int)longest + LEGEND_GAP,
                    printable(plot->curves[i].name), is_last ? "\n" : "");
        lines += is_last;
    }
    return lines;
}

static enum status print_magnitudes(const struct mask_plot *plot)
{
    struct mask masks[MASK_PLOT_CURVES];
    struct mask_path paths[MASK_PLOT_CURVES];
    const struct mask *list[MASK_PLOT_CURVES];
    size_t lines = print_legend(plot, NULL) + 1, least = RESPONSE_PLOT_HEIGHT_LEAST;
    double low, high;
    TRY(mask_plot_frequencies(plot, &low, &high));
    const struct response_plot_settings request = {
        .width = plot->width > RESPONSE_PLOT_WIDTH_LEAST ? plot->width : RESPONSE_PLOT_WIDTH_LEAST,
        .height = plot->height > lines + least ? plot->height - lines : least,
        .rate = plot->curves[0].rate,
        .braille = strcmp(nl_langinfo(CODESET), "UTF-8") == 0,
        .low = low,
        .high = high,
        .range = (double)plot->range,
        .smoothing = plot->smoothing > 0 ? 1 / (double)plot->smoothing : 0,
    };
    char *text;
    for (size_t i = 0; i < plot->count; i++) {
        const struct mask_plot_curve *own = &plot->curves[i];
        double *taps = own->mask->coefficients + own->column * own->mask->taps;
        masks[i] = response_column(taps, own->mask->taps, own->rate, &paths[i]);
        list[i] = &masks[i];
    }
    TRY(response_plot(&request, list, letters, plot->count, &text));
    fputs(text, stdout);
    free(text);
    print_legend(plot, stdout);
    return STATUS_OK;
}

/* Whether response_plot can draw them over one axis. */
static bool are_alike(const struct mask_plot *plot)
{
    for (size_t i = 1; i < plot->count; i++)
        if (plot->curves[i].rate != plot->curves[0].rate)
            return false;
    return true;
}

static enum status print(struct mask_plot *plot, bool chosen)
{
    size_t width, height;
    if (!chosen)
        plot->subplots[MASK_SUBPLOT_MAGNITUDE] = true;
    setlocale(LC_CTYPE, ""); /* for the terminal's characters */
    terminal_output_size(&width, &height);
    plot->width = plot->width > 0 ? plot->width : width;
    plot->height = plot->height > 0 ? plot->height : height;
    for (size_t p = MASK_SUBPLOT_SPECTROGRAM; p < MASK_SUBPLOTS; p++)
        if (plot->subplots[p])
            return fail(CAUSE_USAGE, "a %s needs a file: -o FILE.svg", subplot_names[p]);
    if (plot->subplots[MASK_SUBPLOT_MAGNITUDE] && are_alike(plot)) {
        TRY(print_magnitudes(plot));
        plot->subplots[MASK_SUBPLOT_MAGNITUDE] = false;
    }
    for (size_t p = 0; p < MASK_SUBPLOTS; p++)
        if (plot->subplots[p])
            return mask_plot_draw(plot);
    return STATUS_OK;
}

static enum status draw(struct mask_plot_settings *settings)
{
    struct mask_plot *plot = &settings->plot;
    for (size_t i = 0; i < settings->texts.count; i++) {
        TRY(stage_mask_study(settings->texts.values[i], &(struct stream_format){0},
                             &settings->masks[i]));
        TRY(add_curves(settings, settings->texts.values[i], settings->masks[i]));
    }
    if (!plot->file)
        return print(plot, settings->subplots.count > 0);
    char title[TITLE_MOST] = "";
    for (size_t i = 0; i < settings->texts.count; i++) {
        size_t length = strlen(title);
        snprintf(title + length, sizeof title - length, "%s%s", i ? ", " : "",
                 short_name(settings->texts.values[i]));
    }
    plot->title = title;
    return mask_plot_draw(plot);
}

static size_t count_2d(const struct mask_plot_settings *settings)
{
    size_t count = 0;
    for (size_t i = 0; i < settings->texts.count; i++)
        count += mask2d_is_named(settings->texts.values[i]);
    return count;
}

static void print_2d(const struct mask2d_plot *plot)
{
    size_t width, height;
    terminal_output_size(&width, &height);
    for (size_t i = 0; i < plot->count; i++) {
        printf("%s%s\n", i ? "\n" : "", printable(plot->names[i]));
        mask2d_print_picture(plot->masks[i], width, height > 4 ? height - 3 : 1);
    }
}

static enum status draw_2d(const struct mask_plot_settings *settings)
{
    struct mask2d_plot plot = {.file = settings->plot.file, .force = settings->plot.force};
    struct mask2d *masks[MASK2D_PLOT_MOST] = {0};
    if (count_2d(settings) < settings->texts.count || settings->subplots.count > 0)
        return fail(CAUSE_USAGE, "two-dimensional masks are drawn separately, %s",
                    settings->subplots.count > 0 ? "without --what"
                                                 : "without one-dimensional ones");
    if (settings->texts.count > MASK2D_PLOT_MOST)
        return fail(CAUSE_USAGE, "at most %d masks can be plotted", MASK2D_PLOT_MOST);
    enum status status = STATUS_OK;
    for (; plot.count < settings->texts.count && status == STATUS_OK; plot.count++) {
        status = stage_spectral_study(settings->texts.values[plot.count], &masks[plot.count]);
        plot.masks[plot.count] = masks[plot.count];
        plot.names[plot.count] = short_name(settings->texts.values[plot.count]);
    }
    if (status == STATUS_OK && plot.file)
        status = mask2d_plot_draw(&plot);
    else if (status == STATUS_OK)
        print_2d(&plot);
    for (size_t i = 0; i < plot.count; i++)
        mask2d_destroy(masks[i]);
    return status;
}

static enum status run(void *options)
{
    struct mask_plot_settings *settings = options;
    if (settings->plot.file)
        TRY(gnuplot_check_file(settings->plot.file));
    settings->masks = calloc(settings->texts.count, sizeof *settings->masks);
    if (!settings->masks)
        return fail_memory("masks");
    for (size_t i = 0; i < settings->subplots.count; i++)
        settings->plot.subplots[settings->subplots.values[i]] = true;
    enum status status = count_2d(settings) > 0 ? draw_2d(settings) : draw(settings);
    for (size_t i = 0; i < settings->texts.count; i++)
        mask_destroy(settings->masks[i]);
    free(settings->masks);
    return status;
}

static const struct option_row rows[] = {
    OPT_FILE("output", "FILE", struct mask_plot_settings, plot.file,
             "draw a .svg, .png or .pdf file; default: print text", .letter = 'o'),
    OPT_CHOICES("what", "LIST", struct mask_plot_settings, subplots,
                "impulse, step, energy (in dB over time), decay (Schroeder), magnitude,\n"
                "phase, delay (group delay), spectrogram, waterfall\n"
                "(default: those that apply in a file, magnitude in text)",
                .names = subplot_names),
    OPT_INTEGER("range", "DB", struct mask_plot_settings, plot.range, RANGE_LEAST, RANGE_MOST,
                "show levels that far below the largest"),
    OPT_SECONDS("from", "TIME", struct mask_plot_settings, plot.from, -SECONDS_MOST, SECONDS_MOST,
                "begin the axes of time there, such as 5ms",
                .given = OPT_GIVEN(struct mask_plot_settings, plot.has_from)),
    OPT_SECONDS("to", "TIME", struct mask_plot_settings, plot.to, -SECONDS_MOST, SECONDS_MOST,
                "end them there", .given = OPT_GIVEN(struct mask_plot_settings, plot.has_to)),
    OPT_CHOICE("time", "AXIS", struct mask_plot_settings, plot.time, time_names,
               "linear or log (default: log for impulse and step of long masks)",
               .value = MASK_TIME_LINEAR),
    OPT_INTEGER("low", "HZ", struct mask_plot_settings, plot.low, 1, HZ_MOST,
                "begin the axes of frequency there (default: 20)"),
    OPT_INTEGER("high", "HZ", struct mask_plot_settings, plot.high, 1, HZ_MOST,
                "end them there (default: half the rate)"),
    OPT_INTEGER("smooth", "N", struct mask_plot_settings, plot.smoothing, 1, SMOOTH_MOST,
                "smooth magnitude and group delay over 1/N octave (default: 12, of\n"
                "reverberation alone)"),
    OPT_INTEGER("width", "N", struct mask_plot_settings, plot.width, EXTENT_LEAST, EXTENT_MOST,
                "of the whole, in pixels; of text in characters"),
    OPT_INTEGER("height", "N", struct mask_plot_settings, plot.height, EXTENT_LEAST, EXTENT_MOST,
                "of the whole, in the same units"),
    OPT_FLAG("force", struct mask_plot_settings, plot.force, "replace FILE if it exists",
             .letter = 'f'),
    OPT_NO_SYNC,
    {0},
};

const struct command command_mask_plot = {
    .name = "halo mask plot",
    .summary = "plot masks over each other",
    .usage =
        "usage: halo mask plot MASK... [options]\n\n"
        "Plot masks over each other, one curve per channel. MASK is a spec of --mask, such as\n"
        "hall.wav,channel=1,phase=minimum, or of --spectral, which is drawn as a picture.\n"
        "Files are drawn by gnuplot.",
    .arguments =
        OPTION_ARGUMENTS(OPT_ARGUMENTS("MASK", struct mask_plot_settings, texts, 1, .is_file = true,
                                       .keys = mask_options_rows, .made_at = design_made_at)),
    .groups = OPTION_GROUP(rows),
    .size = sizeof(struct mask_plot_settings),
    .run = run,
};
