#include "base/atomic_file.h"
#include "base/gnuplot.h"
#include "base/printable.h"
#include "base/terminal.h"
#include "chain/stage_mask.h"
#include "command/commands.h"
#include "mask/mask2d.h"
#include "mask/mask2d_summary.h"
#include "mask/mask_plot.h"
#include "mask/response_plot.h"

#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const subplot_names[] = {"impulse", "step",        "magnitude", "phase",
                                            "delay",   "spectrogram", NULL};

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
            return fail(STATUS_USAGE,
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

/* A text plot of the magnitudes, without gnuplot. */
static enum status print_magnitudes(const struct mask_plot_settings *settings)
{
    static const char letters[] = "ABCDEFGHI";
    size_t lines = settings->texts.count + 1;
    struct response_plot_settings request = {
        .width = settings->plot.width,
        .height = settings->plot.height > lines + RESPONSE_PLOT_HEIGHT_LEAST
                      ? settings->plot.height - lines
                      : RESPONSE_PLOT_HEIGHT_LEAST,
        .rate = rate_of(settings->masks[0]),
        .braille = strcmp(nl_langinfo(CODESET), "UTF-8") == 0,
    };
    char *text;
    if (request.width < RESPONSE_PLOT_WIDTH_LEAST)
        request.width = RESPONSE_PLOT_WIDTH_LEAST;
    TRY(response_plot(&request, (const struct mask *const *)settings->masks, letters,
                      settings->texts.count, &text));
    fputs(text, stdout);
    free(text);
    for (size_t i = 0; i < settings->texts.count; i++)
        printf("%c  %s\n", letters[i], printable(short_name(settings->texts.values[i])));
    return STATUS_OK;
}

/* Whether response_plot can draw them over one axis. */
static bool are_alike(const struct mask_plot_settings *settings)
{
    for (size_t i = 1; i < settings->texts.count; i++)
        if (rate_of(settings->masks[i]) != rate_of(settings->masks[0]))
            return false;
    return settings->texts.count <= RESPONSE_PLOT_MASKS;
}

static enum status draw(struct mask_plot_settings *settings)
{
    struct mask_plot *plot = &settings->plot;
    for (size_t i = 0; i < settings->texts.count; i++) {
        TRY(stage_mask_study(settings->texts.values[i], &(struct stream_format){0},
                             &settings->masks[i]));
        TRY(add_curves(settings, settings->texts.values[i], settings->masks[i]));
    }
    if (plot->file)
        return mask_plot_draw(plot);
    if (settings->subplots.count == 0)
        plot->subplots[MASK_SUBPLOT_MAGNITUDE] = true;
    setlocale(LC_CTYPE, ""); /* for the terminal's characters */
    terminal_output_size(&plot->width, &plot->height);
    if (plot->subplots[MASK_SUBPLOT_SPECTROGRAM])
        return fail(STATUS_USAGE, "a spectrogram needs a file: -o FILE.svg");
    if (plot->subplots[MASK_SUBPLOT_MAGNITUDE] && are_alike(settings)) {
        TRY(print_magnitudes(settings));
        plot->subplots[MASK_SUBPLOT_MAGNITUDE] = false;
    }
    for (size_t p = 0; p < MASK_SUBPLOTS; p++)
        if (plot->subplots[p])
            return mask_plot_draw(plot);
    return STATUS_OK;
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
        return fail(STATUS_USAGE, "two-dimensional masks are drawn separately, %s",
                    settings->subplots.count > 0 ? "without --what"
                                                 : "without one-dimensional ones");
    if (settings->texts.count > MASK2D_PLOT_MOST)
        return fail(STATUS_USAGE, "at most %d masks can be plotted", MASK2D_PLOT_MOST);
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
                "impulse, step, magnitude, phase, delay (group delay), spectrogram\n"
                "(default: those that apply in a file, magnitude in text)",
                .names = subplot_names),
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
    .arguments = OPTION_ARGUMENTS(
        OPT_ARGUMENTS("MASK", struct mask_plot_settings, texts, 1, .is_file = true)),
    .groups = OPTION_GROUP(rows),
    .size = sizeof(struct mask_plot_settings),
    .run = run,
};
