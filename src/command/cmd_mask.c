/* halo mask show, make, plot and convert. */
#include "acoustics/mask_stats.h"
#include "acoustics/response.h"
#include "base/atomic_file.h"
#include "base/failure_json.h"
#include "base/gnuplot.h"
#include "base/json_text.h"
#include "base/plural.h"
#include "base/printable.h"
#include "base/terminal.h"
#include "chain/mask_options.h"
#include "chain/stage_mask.h"
#include "command/commands.h"
#include "design/band_fit.h"
#include "design/design.h"
#include "design/mask2d.h"
#include "import/mask_load.h"
#include "import/mask_write.h"
#include "import/response_file.h"
#include "plot/mask_curves.h"
#include "plot/mask_measured.h"
#include "plot/mask_plot.h"
#include "plot/mask_summary.h"
#include "plot/response_plot.h"
#include "plot/room_mean.h"
#include "sound/port.h"

#include <complex.h>
#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- halo mask show ---- */

enum { RATE_MOST = 10000000, CHANNELS_MOST = 256 };

struct mask_show_settings {
    struct string_list masks; /* specs, as of --mask */
    struct stream_format sound;
    bool json;
};

/* Loads the mask, routed for the sound's channels if possible, else without routes. In the latter
 * case lint reports why. */
static enum status study(const char *text, const struct stream_format *sound, struct mask **result)
{
    TRY(stage_mask_study(text, &(struct stream_format){.rate = sound->rate}, result));
    if (!sound->channels || !mask_lint_fits((*result)->columns, sound->channels))
        return STATUS_OK;
    mask_destroy(*result);
    return stage_mask_study(text, sound, result);
}

static enum status show2d(const struct mask_show_settings *settings, const char *text,
                          json_t *masks)
{
    struct mask2d *mask;
    TRY(stage_spectral_study(text, &mask));
    if (settings->json)
        json_array_append_new(masks, mask2d_summary_object(text, mask));
    else
        mask2d_summary_print(text, mask);
    mask2d_destroy(mask);
    return STATUS_OK;
}

static enum status show(const struct mask_show_settings *settings, const char *text, json_t *masks,
                        struct room_mean *mean)
{
    if (mask2d_is_named(text))
        return show2d(settings, text, masks);
    struct mask *mask;
    struct mask_stats stats = {0};
    struct measurement *measurement = NULL;
    struct mask_trouble troubles[MASK_TROUBLES];
    TRY(study(text, &settings->sound, &mask));
    uint32_t usual = settings->sound.rate ? settings->sound.rate : MASK_USUAL_RATE;
    enum status status = mask_stats_init(&stats, mask, mask->rate ? mask->rate : usual);
    if (status == STATUS_OK)
        status = mask_measured_read(mask, &measurement);
    if (status == STATUS_OK) {
        struct mask_summary summary = {.text = text,
                                       .mask = mask,
                                       .stats = &stats,
                                       .measurement = measurement,
                                       .troubles = troubles};
        status = mask_lint(mask, &stats, &settings->sound, troubles, &summary.trouble_count);
        if (status == STATUS_OK && settings->json)
            json_array_append_new(masks, mask_summary_object(&summary));
        else if (status == STATUS_OK)
            mask_summary_print(&summary);
        if (status == STATUS_OK)
            status = room_mean_add(mean, mask, &stats);
    }
    measurement_destroy(measurement);
    mask_stats_free(&stats);
    mask_destroy(mask);
    return status;
}

/* Prints the masks, which it releases, and the mean of rooms. */
static enum status print_json(json_t *masks, const struct room_mean *mean)
{
    json_t *all = json_pack("{s:o}", "masks", masks);
    if (room_mean_is_known(mean))
        json_object_set_new(all, "mean", room_mean_object(mean));
    return json_print(all, JSON_REAL_PRECISION(9), "the masks");
}

/* Shows all masks. If a mask cannot be read, the others are still shown. */
static enum status show_all(void *options)
{
    const struct mask_show_settings *settings = options;
    json_t *masks = json_array();
    struct room_mean mean = {0};
    enum status status = STATUS_OK;
    for (size_t i = 0; i < settings->masks.count; i++) {
        if (i > 0 && !settings->json)
            puts("");
        enum status own = show(settings, settings->masks.values[i], masks, &mean);
        if (own != STATUS_OK && settings->json)
            json_array_append_new(masks, json_pack("{s:o, s:o}", "mask",
                                                   json_text(settings->masks.values[i]), "error",
                                                   failure_json_take()));
        status = status == STATUS_OK ? own : status;
    }
    enum status printed = STATUS_OK;
    if (settings->json)
        printed = print_json(masks, &mean);
    else if (room_mean_is_known(&mean))
        room_mean_print(&mean);
    if (!settings->json)
        json_decref(masks);
    room_mean_free(&mean);
    return status == STATUS_OK ? printed : status;
}

static enum status parse_sound(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    struct source *source;
    TRY(source_open_sound(value, true, &source));
    ((struct mask_show_settings *)context)->sound = source->format;
    source_close(source);
    return STATUS_OK;
}

static const struct option_row show_rows[] = {
    OPT_PARSE("for", "SOUND", parse_sound, "also report what does not fit this sound file",
              .is_file = true),
    OPT_INTEGER("rate", "HZ", struct mask_show_settings, sound.rate, 1, RATE_MOST,
                "also report what does not fit a sound of this rate, and make\n"
                "for it what is made (lowpass:1000, an equaliser)"),
    OPT_INTEGER("channels", "N", struct mask_show_settings, sound.channels, 1, CHANNELS_MOST,
                "also report what does not fit a sound of N channels"),
    OPT_FLAG("json", struct mask_show_settings, json, "print one JSON object"),
    {0},
};

const struct command command_mask_show = {
    .name = "halo mask show",
    .summary = "describe masks and report likely problems",
    .usage =
        "usage: halo mask show MASK... [options]\n\n"
        "Describe masks and report likely problems, each with the option that fixes it. MASK is\n"
        "a spec of --mask, such as hall.wav,trim=10ms,gain=-6, or of --spectral, such as\n"
        "box2d:3x3 or edge.mask2d.",
    .arguments =
        OPTION_ARGUMENTS(OPT_ARGUMENTS("MASK", struct mask_show_settings, masks, 1, .is_file = true,
                                       .keys = mask_options_rows, .made_at = design_made_at)),
    .groups = OPTION_GROUP(show_rows),
    .size = sizeof(struct mask_show_settings),
    .run = show_all,
};

/* ---- halo mask make ---- */

struct mask_make_settings {
    const char *spec;
    const char *output;
    struct sound_format_request request;
    bool force;
};

static enum status write_mask(const struct mask_make_settings *settings, const struct mask *mask)
{
    const struct sound_traits traits = {.format = SF_FORMAT_WAV | SF_FORMAT_FLOAT};
    struct sink_settings sink_settings = {
        .path = settings->output,
        .format = {.rate = mask->rate, .channels = mask->columns},
        .frames = (int64_t)mask->taps,
        .force = settings->force,
    };
    TRY(sound_format_choose(settings->output, &settings->request, &traits, &sink_settings.format,
                            &sink_settings.sound_format));
    TRY(mask_write_sound(mask, &sink_settings));
    note("%s: %zu channel%s of %zu tap%s at %u Hz", settings->output, mask->columns,
         plural_s(mask->columns), mask->taps, plural_s(mask->taps), mask->rate);
    if (mask->origin > 0 && mask->origin == (mask->taps - 1) / 2)
        note(
            "time zero is at the middle tap: the file delays by %zu frames unless used with --align "
            "centre",
            mask->origin);
    return STATUS_OK;
}

static enum status make2d(const struct mask_make_settings *settings)
{
    struct mask2d *mask;
    struct text_file *file;
    const struct mask_write_settings write = {.force = settings->force};
    if (settings->request.samples)
        return fail(CAUSE_USAGE, "--format sets a sample format; two-dimensional masks are text");
    if (!mask_file_ends_with(settings->output, ".mask2d") &&
        !mask_file_ends_with(settings->output, ".txt"))
        return fail(CAUSE_USAGE, "%s must end with .mask2d or .txt: a two-dimensional mask is text",
                    settings->output);
    TRY(stage_spectral_study(settings->spec, &mask));
    enum status status = text_file_open(settings->output, &write, &file);
    if (status == STATUS_OK) {
        mask2d_write(mask, text_file_stream(file));
        status = text_file_keep(file);
    }
    if (status == STATUS_OK)
        note("%s: %zu rows of time x %zu columns of frequency%s", settings->output, mask->rows,
             mask->columns, mask->is_separable ? ", separable" : "");
    mask2d_destroy(mask);
    return status;
}

static enum status make(const struct mask_make_settings *settings)
{
    struct mask *mask;
    char *file;
    TRY(stage_mask_file(settings->spec, &file));
    /* a name with a colon may be a misspelt kind of filter; loading reports it */
    enum status status =
        file && !strchr(file, ':')
            ? fail(CAUSE_USAGE, "'%s' is not a kind of mask; halo mask make --help lists them",
                   file)
            : stage_mask_study(settings->spec, &(struct stream_format){0}, &mask);
    free(file);
    TRY(status);
    status = mask->has_own_paths
                 ? fail(CAUSE_USAGE,
                        "'%s': a sound file holds no paths; use map= where the mask "
                        "is used",
                        settings->spec)
                 : write_mask(settings, mask);
    mask_destroy(mask);
    return status;
}

static enum status make_any(void *options)
{
    const struct mask_make_settings *settings = options;
    if (!settings->output)
        return fail(CAUSE_USAGE, "no output: -o FILE names the file to write");
    return mask2d_design_is_spec(settings->spec) ? make2d(settings) : make(settings);
}

static void print_kinds(void)
{
    puts("\nEvery kind takes rate=HZ: by default 48000 here, else the rate of the sound.\n");
    design_print_kinds(stdout);
    puts("\ntwo-dimensional masks, for --spectral and as text (NAME.mask2d); rows of time x\n"
         "columns of frequency:");
    mask2d_design_print_kinds(stdout);
}

static const struct option_row make_rows[] = {
    OPT_FILE("output", "FILE", struct mask_make_settings, output,
             "file to write: sound, or text for a two-dimensional mask", .letter = 'o'),
    OPT_WORD("format", "FORMAT", struct mask_make_settings, request.samples,
             "sample format: float (default), double, pcm24, ...", .names = sound_format_names),
    OPT_FLAG("force", struct mask_make_settings, force, "replace FILE if it exists", .letter = 'f'),
    OPT_NO_SYNC,
    {0},
};

const struct command command_mask_make = {
    .name = "halo mask make",
    .summary = "make a mask from a spec such as lowpass:1000",
    .usage =
        "usage: halo mask make SPEC -o FILE [options]\n\n"
        "Make a mask and write it to a file. A SPEC can also be used wherever a mask is named:\n"
        "halo render in.wav out.wav --mask lowpass:1000,gain=-3",
    .arguments = OPTION_ARGUMENTS(
        OPT_ARGUMENT("SPEC", struct mask_make_settings, spec, 1, .made_at = design_made_at)),
    .groups = OPTION_GROUP(make_rows),
    .print_ending = print_kinds,
    .surplus = "quote a SPEC that contains blanks",
    .size = sizeof(struct mask_make_settings),
    .run = make_any,
};

/* ---- halo mask plot ---- */

static const char *const subplot_names[] = {"impulse",    "step",        "energy",    "decay",
                                            "magnitude",  "phase",       "delay",     "snr",
                                            "distortion", "spectrogram", "waterfall", NULL};
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
    struct string_list texts; /* specs, as of --mask */
    struct mask **masks;
    struct measurement **measurements; /* one per mask; NULL: not measured */
    struct mask_plot plot;
    /* numbers of enum mask_subplot; if empty, the default ones are drawn */
    struct number_list subplots;
};

static uint32_t rate_of(const struct mask *mask)
{
    return mask->rate ? mask->rate : MASK_USUAL_RATE;
}

/* The spec without the folder of its file. */
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
                              const struct mask *mask, const struct measurement *measurement)
{
    bool is_measured = measurement && measurement->path_count > 0;
    struct mask_plot *plot = &settings->plot;
    for (size_t c = 0; c < mask->columns; c++) {
        if (plot->count == MASK_PLOT_CURVES)
            return fail(CAUSE_USAGE,
                        "at most %d curves can be plotted; MASK,channel=N selects one channel",
                        MASK_PLOT_CURVES);
        struct mask_plot_curve *curve = &plot->curves[plot->count++];
        *curve = (struct mask_plot_curve){.mask = mask,
                                          .column = c,
                                          .rate = rate_of(mask),
                                          .measured = is_measured ? &measurement->paths[c] : NULL};
        if (mask->columns > 1)
            snprintf(curve->name, sizeof curve->name, "%.64s channel %zu", short_name(text), c + 1);
        else
            snprintf(curve->name, sizeof curve->name, "%.95s", short_name(text));
    }
    return STATUS_OK;
}

/* ---- magnitudes as text, without gnuplot ---- */

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef";

/* Prints a legend, with as many names per line as fit. If `stream` is NULL, prints nothing. Returns
 * the number of lines. */
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

/* `mean`: the mask to draw as the only curve. NULL: the curves' own. */
static enum status print_magnitudes(const struct mask_plot *plot, const struct mask *mean)
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
        list[i] = mean ? mean : &masks[i];
    }
    TRY(response_plot(&request, list, letters, plot->count, &text));
    fputs(text, stdout);
    free(text);
    print_legend(plot, stdout);
    return STATUS_OK;
}

/* Prints the mean alone. Its mask has the taps of all curves as columns to outputs of their own:
 * response_plot draws the mean power of outputs. */
static enum status print_mean(const struct mask_plot *plot)
{
    struct mask_plot alone = *plot;
    struct mask *mean;
    size_t taps = 0;
    for (size_t i = 0; i < plot->count; i++)
        taps = plot->curves[i].mask->taps > taps ? plot->curves[i].mask->taps : taps;
    TRY(mask_create("mean", plot->count, taps, &mean));
    for (size_t i = 0; i < plot->count; i++) {
        const struct mask_plot_curve *own = &plot->curves[i];
        memcpy(mask_column(mean, i), mask_column(own->mask, own->column),
               own->mask->taps * sizeof(double));
    }
    alone.count = 1;
    snprintf(alone.curves[0].name, sizeof alone.curves[0].name, "mean of %zu", plot->count);
    enum status status = mask_route(mean, plot->count, MASK_ORDER_LL_LR_RL_RR, MASK_MAP_AUTO);
    if (status == STATUS_OK)
        status = print_magnitudes(&alone, mean);
    mask_destroy(mean);
    return status;
}

/* Whether response_plot can draw all curves over one axis. */
static bool are_alike(const struct mask_plot *plot)
{
    for (size_t i = 1; i < plot->count; i++)
        if (plot->curves[i].rate != plot->curves[0].rate)
            return false;
    return true;
}

static enum status print_curves(struct mask_plot *plot, bool chosen)
{
    size_t width, height;
    if (!chosen)
        plot->subplots[MASK_SUBPLOT_MAGNITUDE] = true;
    setlocale(LC_CTYPE, ""); /* tells which characters the terminal has */
    terminal_output_size(&width, &height);
    plot->width = plot->width > 0 ? plot->width : width;
    plot->height = plot->height > 0 ? plot->height : height;
    for (size_t p = MASK_SUBPLOT_SPECTROGRAM; p < MASK_SUBPLOTS; p++)
        if (plot->subplots[p])
            return fail(CAUSE_USAGE, "a %s needs a file: -o FILE.svg", subplot_names[p]);
    if (plot->subplots[MASK_SUBPLOT_MAGNITUDE] && are_alike(plot)) {
        TRY(plot->mean ? print_mean(plot) : print_magnitudes(plot, NULL));
        plot->subplots[MASK_SUBPLOT_MAGNITUDE] = false;
    }
    for (size_t p = 0; p < MASK_SUBPLOTS; p++)
        if (plot->subplots[p])
            return mask_plot_draw(plot);
    return STATUS_OK;
}

/* The mean is drawn with magnitudes: by default with them alone. */
static enum status check_mean(struct mask_plot_settings *settings)
{
    struct mask_plot *plot = &settings->plot;
    if (!plot->mean)
        return STATUS_OK;
    if (settings->subplots.count > 0 && !plot->subplots[MASK_SUBPLOT_MAGNITUDE])
        return fail(CAUSE_USAGE, "--mean is for magnitudes: add magnitude to --what");
    if (plot->count < 2 || !are_alike(plot))
        return fail(CAUSE_USAGE, "--mean needs two channels at least, all of one rate");
    plot->subplots[MASK_SUBPLOT_MAGNITUDE] = true;
    return STATUS_OK;
}

static enum status draw_curves(struct mask_plot_settings *settings)
{
    struct mask_plot *plot = &settings->plot;
    for (size_t i = 0; i < settings->texts.count; i++) {
        TRY(stage_mask_study(settings->texts.values[i], &(struct stream_format){0},
                             &settings->masks[i]));
        TRY(mask_measured_read(settings->masks[i], &settings->measurements[i]));
        TRY(add_curves(settings, settings->texts.values[i], settings->masks[i],
                       settings->measurements[i]));
    }
    TRY(check_mean(settings));
    if (!plot->file)
        return print_curves(plot, settings->subplots.count > 0);
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

static enum status plot_masks(void *options)
{
    struct mask_plot_settings *settings = options;
    if (settings->plot.file)
        TRY(gnuplot_check_file(settings->plot.file));
    settings->masks = calloc(settings->texts.count, sizeof *settings->masks);
    settings->measurements = calloc(settings->texts.count, sizeof *settings->measurements);
    if (!settings->masks || !settings->measurements) {
        free(settings->masks);
        free(settings->measurements);
        return fail_memory("masks");
    }
    for (size_t i = 0; i < settings->subplots.count; i++)
        settings->plot.subplots[settings->subplots.values[i]] = true;
    enum status status = count_2d(settings) > 0 ? draw_2d(settings) : draw_curves(settings);
    for (size_t i = 0; i < settings->texts.count; i++) {
        measurement_destroy(settings->measurements[i]);
        mask_destroy(settings->masks[i]);
    }
    free(settings->measurements);
    free(settings->masks);
    return status;
}

static const struct option_row plot_rows[] = {
    OPT_FILE("output", "FILE", struct mask_plot_settings, plot.file,
             "draw a .svg, .png or .pdf file; default: print text", .letter = 'o'),
    OPT_CHOICES("what", "LIST", struct mask_plot_settings, subplots,
                "impulse, step, energy (in dB over time), decay (Schroeder), magnitude,\n"
                "phase, delay (group delay), snr, distortion (both of measured masks),\n"
                "spectrogram, waterfall\n"
                "(default: those that apply in a file, magnitude in text)",
                .names = subplot_names),
    OPT_FLAG("mean", struct mask_plot_settings, plot.mean,
             "draw the mean of all magnitudes, too, and how much they differ"),
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
    .groups = OPTION_GROUP(plot_rows),
    .size = sizeof(struct mask_plot_settings),
    .run = plot_masks,
};

/* ---- halo mask convert ---- */

struct mask_convert_settings {
    const char *in, *out;
    const char *raw, *rate, *channels, *folder, *trust; /* options of --mask */
    struct mask_write_settings write;
    const char *to; /* name of a program; NULL: chosen by the suffix of OUT */
    size_t inputs;  /* channels of the sound; 0: as many as the mask has */
    size_t bands;   /* sections of an equaliser instead of taps; 0: taps */
    size_t smooth;  /* parts of an octave for .frd; 0: not smoothed */
};

/* Writes sound or text, which hold only columns. A note says what else is lost. */
static enum status write_plain(const struct mask_convert_settings *settings,
                               const struct mask *mask)
{
    struct mask *plain;
    bool is_matrix;
    TRY(mask_without_paths(mask, &plain, &is_matrix));
    enum status status = mask_file_ends_with(settings->out, ".wav")
                             ? mask_write_wav(plain, settings->out, &settings->write)
                             : mask_write_text(plain, settings->out, false, &settings->write);
    if (status == STATUS_OK && is_matrix)
        note("%s: %zu columns for %zu inputs and %zu outputs; use it with map=matrix",
             settings->out, plain->columns, mask->inputs, mask->outputs);
    if (status == STATUS_OK && mask->origin)
        note("%s cannot store that time zero is at tap %zu; .mask can", settings->out,
             mask->origin);
    mask_destroy(plain);
    return status;
}

static void print_bands(const struct eq_bands *bands, FILE *stream)
{
    fprintf(stream, "Preamp: %.2f dB\n", bands->preamp);
    for (size_t b = 0; b < bands->count; b++) {
        const struct eq_band *band = &bands->bands[b];
        fprintf(stream, "Filter %zu: ON %s%s Fc %.2f Hz Gain %.2f dB Q %.3f\n", b + 1,
                eq_band_kind_of(band->kind)->name, band->kind == BIQUAD_PEAK ? "" : "C",
                band->hertz, band->db, band->q);
    }
}

/* Fits sections to each column, and prints them for Equalizer APO and devices like it. */
static enum status fit_columns(const struct mask_convert_settings *settings,
                               const struct mask *mask, struct eq_bands *bands)
{
    struct text_file *file;
    bool is_for_all = mask->columns == 1 && !mask->has_own_paths;
    for (size_t c = 0; c < mask->columns; c++) {
        double error;
        TRY(band_fit(mask_column(mask, c), mask->taps, mask->rate, settings->bands, &bands[c],
                     &error));
        note("%s: channel %zu is within %.2f dB (RMS) of the mask, smoothed over a sixth of an "
             "octave",
             settings->out, c + 1, error);
    }
    TRY(text_file_open(settings->out, &settings->write, &file));
    for (size_t p = 0; p < (is_for_all ? 1 : mask->path_count); p++) {
        if (!is_for_all)
            fprintf(text_file_stream(file), "Channel: %zu\n", mask->paths[p].input + 1);
        print_bands(&bands[mask->paths[p].column], text_file_stream(file));
    }
    return text_file_keep(file);
}

static enum status write_bands(const struct mask_convert_settings *settings,
                               const struct mask *mask)
{
    if (mask->rate < BAND_FIT_RATE_LEAST)
        return fail(CAUSE_USAGE,
                    mask->rate ? "mask %s has a rate too low for an equaliser"
                               : "mask %s has no rate: give --rate",
                    mask->name);
    TRY(mask_check_eqapo(mask));
    struct eq_bands *bands = calloc(mask->columns, sizeof *bands);
    enum status status = bands ? fit_columns(settings, mask, bands) : fail_memory("an equaliser");
    free(bands);
    return status;
}

static enum status write_config(const struct mask_convert_settings *settings, struct mask *mask)
{
    bool is_for_any = mask->columns == 1 && !mask->has_own_paths && !settings->inputs;
    if (is_for_any)
        TRY(mask_route(mask, 2, MASK_ORDER_LL_LR_RL_RR, MASK_MAP_AUTO));
    if (mask->origin)
        note("%s cannot store that time zero is at tap %zu", settings->out, mask->origin);
    return mask_config_write(settings->to, mask, settings->out, &settings->write);
}

/* Loads IN with the options, as --mask would. */
static enum status load_mask(const struct mask_convert_settings *settings, struct mask **mask)
{
    const struct {
        const char *key, *value;
    } spec[] = {
        {"raw", settings->raw},
        {"rate", settings->rate},
        {"channels", settings->channels},
        {"folder", settings->folder},
        {"trust-config", settings->trust},
    };
    char *text = strdup(settings->in);
    for (size_t i = 0; text && i < sizeof spec / sizeof *spec; i++) {
        char *longer = NULL;
        if (!spec[i].value)
            continue;
        if (asprintf(&longer, "%s,%s=%s", text, spec[i].key, spec[i].value) < 0)
            longer = NULL;
        free(text);
        text = longer;
    }
    const struct stream_format sound = {.channels = settings->inputs};
    enum status status = text ? stage_mask_study(text, &sound, mask) : fail_memory("a mask");
    free(text);
    return status;
}

/* Levels at 48 frequencies per octave, each the mean power over an Nth of an octave. */
static enum status write_smoothed(const struct mask_convert_settings *settings,
                                  const struct mask *mask)
{
    struct text_file *file;
    double high = 0.45 * mask->rate, low = fmin(10, high / 2);
    struct response_axis axis = {low, high, (size_t)(48 * log2(high / low)),
                                 1 / (double)settings->smooth};
    double *levels = calloc(axis.points, sizeof *levels);
    enum status status =
        levels ? response_measure(mask, mask->rate, &axis, levels) : fail_memory("a response");
    if (status == STATUS_OK)
        status = text_file_open(settings->out, &settings->write, &file);
    if (status == STATUS_OK) {
        fputs("* Frequency(Hz) Level(dB)\n", text_file_stream(file));
        for (size_t p = 0; p < axis.points; p++)
            fprintf(text_file_stream(file), "%.9g %.5f\n", response_frequency(&axis, (double)p),
                    fmax(levels[p], -LEVEL_CURVE_MOST));
        status = text_file_keep(file);
    }
    free(levels);
    return status;
}

/* Writes the frequency response at 48 frequencies per octave. The phase is relative to time
 * zero. */
static enum status write_response(const struct mask_convert_settings *settings,
                                  const struct mask *mask)
{
    struct mask_spectrum spectrum;
    struct text_file *file;
    if (mask->columns != 1 || mask->rate == 0)
        return fail(CAUSE_USAGE, "%s holds the response of one channel at a rate: set %s",
                    settings->out, mask->rate ? "channel=, as in hall.wav,channel=1" : "--rate");
    if (settings->smooth)
        return write_smoothed(settings, mask);
    TRY(mask_spectrum_init(&spectrum, mask, 0, mask->rate));
    enum status status = text_file_open(settings->out, &settings->write, &file);
    if (status == STATUS_OK) {
        const double width = spectrum.rate / (double)spectrum.length, step = exp2(1.0 / 48);
        fputs("* Frequency(Hz) Level(dB) Phase(degrees)\n", text_file_stream(file));
        double before = 0;
        for (double hz = spectrum.low; hz <= spectrum.high; hz *= step) {
            double at = width * rint(hz / width);
            double complex value =
                spectrum.bins[(size_t)rint(hz / width)] * cexp(2 * M_PI * I * at * spectrum.origin);
            if (at > before)
                fprintf(text_file_stream(file), "%.9g %.5f %.4f\n", at,
                        20 * log10(fmax(cabs(value), 1e-20)), carg(value) * 180 / M_PI);
            before = at;
        }
        status = text_file_keep(file);
    }
    mask_spectrum_free(&spectrum);
    return status;
}

static enum status convert(void *options)
{
    struct mask_convert_settings *settings = options;
    struct mask *mask = NULL;
    bool is_mask = mask_file_ends_with(settings->out, ".mask");
    bool is_response = mask_file_ends_with(settings->out, ".frd");
    if (!settings->to && !is_mask && !is_response && !mask_file_ends_with(settings->out, ".wav") &&
        !mask_file_ends_with(settings->out, ".txt"))
        return fail(CAUSE_USAGE,
                    "%s must end with .wav, .txt, .mask or .frd, or --to must name a program",
                    settings->out);
    if (settings->bands && (!settings->to || strcmp(settings->to, "eqapo") != 0))
        return fail(CAUSE_USAGE, "--bands is for --to eqapo");
    if (settings->smooth && (settings->to || !is_response))
        return fail(CAUSE_USAGE, "--smooth is for an OUT that ends with .frd");
    enum status status = load_mask(settings, &mask);
    if (status == STATUS_OK && settings->bands)
        status = write_bands(settings, mask);
    else if (status == STATUS_OK && settings->to)
        status = write_config(settings, mask);
    else if (status == STATUS_OK && is_response)
        status = write_response(settings, mask);
    else if (status == STATUS_OK && is_mask)
        status = mask_write_text(mask, settings->out, true, &settings->write);
    else if (status == STATUS_OK)
        status = write_plain(settings, mask);
    mask_destroy(mask);
    return status;
}

static const char *const format_names[] = {"float", "double", NULL};

static const struct option_row convert_rows[] = {
    OPT_FILE("output", "OUT", struct mask_convert_settings, out,
             "where to write, instead of as an argument", .letter = 'o'),
    OPT_WORD("to", "PROGRAM", struct mask_convert_settings, to,
             "write a configuration of jconvolver (and fconvolver),\n"
             "camilladsp, brutefir, eqapo or pipewire, and its files beside it",
             .name_at = mask_config_program),
    OPT_INTEGER("bands", "N", struct mask_convert_settings, bands, 1, BAND_FIT_MOST,
                "with --to eqapo: write N peaks and shelves that come close to\n"
                "the magnitude, for devices that take no taps"),
    OPT_INTEGER("smooth", "N", struct mask_convert_settings, smooth, 1, 96,
                "with .frd: the mean over an Nth of an octave, without phase;\n"
                "also the long-term spectrum of a sound"),
    OPT_CHOICE("format", "FORMAT", struct mask_convert_settings, write.is_double, format_names,
               "precision of the taps written: float (default) or double"),
    OPT_STRING("raw", "FORMAT", struct mask_convert_settings, raw,
               "IN has no header and these samples: F32_LE, S16_LE, ..."),
    OPT_STRING("rate", "HZ", struct mask_convert_settings, rate,
               "rate of a mask that has none of its own"),
    OPT_STRING("channels", "N", struct mask_convert_settings, channels,
               "channels of --raw (default: 1)"),
    OPT_INTEGER("inputs", "N", struct mask_convert_settings, inputs, 1, MASK_CHANNELS_MOST,
                "channels of the sound, for --to (default: 2, or those of\n"
                "the mask)"),
    OPT_FILE("folder", "FOLDER", struct mask_convert_settings, folder,
             "folder whose files a configuration may name in any case"),
    OPT_WORD("trust-config", "no|yes", struct mask_convert_settings, trust,
             "no: a configuration may name files in its own folder or in\n"
             "--folder only; yes (default): any regular file",
             .names = mask_options_trust),
    OPT_FLAG("force", struct mask_convert_settings, write.force, "replace files that exist",
             .letter = 'f'),
    OPT_NO_SYNC,
    {0},
};

const struct command command_mask_convert = {
    .name = "halo mask convert",
    .summary = "convert a mask to another format or program",
    .usage =
        "usage: halo mask convert IN OUT [options]\n\n"
        "Convert a mask to another format. OUT ends with .wav, .txt (text, one column per channel),\n"
        ".mask (text with paths and time zero) or .frd (frequency, level and phase of one channel).",
    .arguments = OPTION_ARGUMENTS(
        OPT_ARGUMENT("IN", struct mask_convert_settings, in, 1, .is_file = true),
        OPT_ARGUMENT("OUT", struct mask_convert_settings, out, 1, .is_file = true)),
    .groups = OPTION_GROUP(convert_rows),
    .size = sizeof(struct mask_convert_settings),
    .run = convert,
};
