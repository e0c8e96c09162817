#include "base/gnuplot.h"
#include "base/json_text.h"
#include "base/plural.h"
#include "base/stop.h"
#include "base/terminal.h"
#include "sound/port.h"
#include "spectrogram/spectrogram.h"
#include "spectrogram/spectrogram_figure.h"
#include "spectrogram/spectrogram_options.h"

#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <string.h>

enum {
    ROWS_MOST = 1024,
    COLUMNS_LEAST = 16,
    COLUMNS_MOST = 4096,
    TEXT_COLUMNS = 2048, /* reduced to the columns of the terminal */
    INNER_LEAST = 50,    /* pixels */
    SIZE_LEAST = 16,
};

static const double usual_window = 0.0427; /* seconds: 2048 frames at 44.1 and 48 kHz */
static const double lowest = 20;           /* Hz, on a logarithmic axis */

/* Properties of a sound, for JSON. */
struct measured_sound {
    struct stream_format format;
    uint64_t frames;  /* frames that are shown */
    size_t size, hop; /* frames */
};

struct spectrogram_job {
    const struct spectrogram_options *options;
    struct source *sources[SPECTROGRAM_FIGURE_MOST];
    struct spectrogram_figure figure;
    struct measured_sound measured[SPECTROGRAM_FIGURE_MOST];
    size_t rows, columns_most;
    struct spectrogram_size whole;         /* pixels */
    struct spectrogram_text_settings text; /* settings for a terminal */
};

/* Chooses the names to display: file names without their folder, or in full if two would be
 * equal. */
static void choose_names(struct spectrogram_job *job)
{
    const struct spectrogram_options *options = job->options;
    bool differ = true;
    for (size_t i = 0; i < options->sounds.count; i++) {
        const char *slash = strrchr(options->sounds.values[i], '/');
        job->figure.names[i] = slash && slash[1] ? slash + 1 : options->sounds.values[i];
        for (size_t k = 0; k < i; k++)
            differ = differ && strcmp(job->figure.names[i], job->figure.names[k]) != 0;
    }
    for (size_t i = 0; i < options->sounds.count; i++)
        if (strcmp(options->sounds.values[i], "-") == 0)
            job->figure.names[i] = "standard input";
        else if (!differ)
            job->figure.names[i] = options->sounds.values[i];
}

static struct spectrogram_axis axis_of(const struct spectrogram_job *job)
{
    uint32_t rate = 0;
    for (size_t i = 0; i < job->options->sounds.count; i++)
        rate = job->sources[i]->format.rate > rate ? job->sources[i]->format.rate : rate;
    double high = rate / 2.0;
    return (struct spectrogram_axis){
        .is_log = !job->options->linear,
        .rows = job->rows,
        .low = job->options->linear ? 0 : fmin(lowest, high / 10),
        .high = high,
    };
}

static size_t usual_size(uint32_t rate)
{
    double size = exp2(rint(log2(usual_window * rate)));
    return size > SIZE_LEAST ? (size_t)size : SIZE_LEAST;
}

static enum status measure_one(struct spectrogram_job *job, size_t index,
                               const struct spectrogram_axis *axis)
{
    const struct spectrogram_options *options = job->options;
    struct source *source = job->sources[index];
    struct sound_spectrogram_settings settings = {
        .from = options->from,
        .to = options->to,
        .channel = options->channel,
        .window = options->window,
        .size = options->size ? options->size : usual_size(source->format.rate),
        .columns_most = job->columns_most,
        .axis = *axis,
    };
    settings.hop = options->hop ? options->hop : (settings.size + 3) / 4;
    if (settings.hop > settings.size)
        return fail(CAUSE_USAGE, "--hop %zu is longer than a window of %zu frames; --size N",
                    settings.hop, settings.size);
    struct spectrogram *picture = &job->figure.pictures[index];
    uint64_t frames;
    TRY(sound_spectrogram_init(source, &settings, picture, &frames));
    job->figure.ends[index] = picture->from + (double)frames / source->format.rate;
    job->measured[index] = (struct measured_sound){
        .format = source->format, .frames = frames, .size = settings.size, .hop = settings.hop};
    if (spectrogram_find_peak(picture).power <= 0)
        note("%s is silent", source->name);
    return STATUS_OK;
}

static enum status measure_all(struct spectrogram_job *job)
{
    struct spectrogram_axis axis = axis_of(job);
    job->figure.from = job->options->from;
    job->figure.count = job->options->sounds.count;
    for (size_t i = 0; i < job->figure.count; i++)
        TRY(measure_one(job, i, &axis));
    spectrogram_figure_scale(&job->figure, (double)job->options->range);
    return STATUS_OK;
}

static enum status lay_out_file(struct spectrogram_job *job)
{
    const struct spectrogram_options *options = job->options;
    job->whole = spectrogram_plot_usual(options->sounds.count);
    if (options->width)
        job->whole.width = (double)options->width;
    if (options->height)
        job->whole.height = (double)options->height;
    struct spectrogram_size inner = spectrogram_plot_inner(options->sounds.count, job->whole);
    if (inner.width < INNER_LEAST || inner.height < INNER_LEAST)
        return fail(CAUSE_USAGE, "%.0f by %.0f pixels are too few for %zu picture%s",
                    job->whole.width, job->whole.height, options->sounds.count,
                    plural_s(options->sounds.count));
    job->rows = (size_t)fmin(inner.height, ROWS_MOST);
    job->columns_most = (size_t)fmax(fmin(inner.width, COLUMNS_MOST), COLUMNS_LEAST);
    return STATUS_OK;
}

static enum status lay_out_text(struct spectrogram_job *job)
{
    static const enum spectrogram_ink inks[] = {
        [TERMINAL_COLOURS_NONE] = SPECTROGRAM_INK_CHARACTERS,
        [TERMINAL_COLOURS_256] = SPECTROGRAM_INK_256,
        [TERMINAL_COLOURS_ALL] = SPECTROGRAM_INK_ALL,
    };
    const struct spectrogram_options *options = job->options;
    struct spectrogram_text_settings *text = &job->text;
    setlocale(LC_CTYPE, ""); /* tells which characters the terminal has */
    terminal_output_size(&text->width, &text->height);
    if (options->width)
        text->width = options->width;
    if (options->height)
        text->height = options->height;
    if (text->width < SPECTROGRAM_TEXT_WIDTH_LEAST || text->height < SPECTROGRAM_TEXT_HEIGHT_LEAST)
        return fail(CAUSE_USAGE, "a picture needs at least %d by %d characters",
                    SPECTROGRAM_TEXT_WIDTH_LEAST, SPECTROGRAM_TEXT_HEIGHT_LEAST);
    text->ink = inks[terminal_output_colours()];
    text->halves = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    job->rows = spectrogram_text_rows(options->sounds.count, text);
    job->columns_most = TEXT_COLUMNS;
    return STATUS_OK;
}

/* Draws to a file. Starts gnuplot first, so that a missing gnuplot is reported before hours of
 * sound are read. */
static enum status draw_file(struct spectrogram_job *job)
{
    const struct spectrogram_options *options = job->options;
    struct gnuplot_settings settings = {
        .file = options->file,
        .force = options->force,
        .width = job->whole.width,
        .height = job->whole.height,
    };
    struct gnuplot gnuplot;
    enum status status = gnuplot_open(&settings, &gnuplot);
    if (status == STATUS_OK)
        status = measure_all(job);
    if (status == STATUS_OK)
        spectrogram_plot_send(gnuplot.commands, &job->figure, job->whole);
    return gnuplot_close(&gnuplot, status);
}

static json_t *loudest_object(const struct spectrogram *picture)
{
    struct spectrogram_peak peak = spectrogram_find_peak(picture);
    if (peak.power <= 0)
        return json_null();
    return json_pack("{s:f, s:f, s:f}", "db", 10 * log10(peak.power), "seconds", peak.seconds, "hz",
                     peak.hz);
}

static json_t *sound_object(const char *name, const struct spectrogram *picture,
                            const struct measured_sound *sound)
{
    return json_pack("{s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:I, s:o}", "sound", json_text(name),
                     "rate", (json_int_t)sound->format.rate, "channels",
                     (json_int_t)sound->format.channels, "frames", (json_int_t)sound->frames,
                     "size", (json_int_t)sound->size, "hop", (json_int_t)sound->hop, "columns",
                     (json_int_t)picture->columns, "column_seconds", picture->step, "rows",
                     (json_int_t)picture->axis.rows, "loudest", loudest_object(picture));
}

static enum status print_json(const struct spectrogram_options *options,
                              const struct spectrogram_figure *figure,
                              const struct measured_sound *measured)
{
    const struct spectrogram_axis *axis = &figure->pictures[0].axis;
    json_t *sounds = json_array();
    for (size_t i = 0; i < figure->count; i++)
        json_array_append_new(
            sounds, sound_object(options->sounds.values[i], &figure->pictures[i], &measured[i]));
    json_t *root = json_pack(
        "{s:o, s:s, s:s, s:o, s:f, s:f, s:f, s:f, s:f, s:f, s:o}", "file", json_text(options->file),
        "frequency", axis->is_log ? "log" : "linear", "window",
        spectrogram_window_names[options->window], "channel",
        options->channel ? json_integer((json_int_t)options->channel) : json_null(), "low_hz",
        axis->low, "high_hz", axis->high, "from_seconds", figure->from, "to_seconds", figure->to,
        "bottom_db", figure->bottom, "top_db", figure->top, "sounds", sounds);
    return json_print(root, 0, "the spectrogram");
}

static enum status draw(struct spectrogram_job *job)
{
    const struct spectrogram_options *options = job->options;
    /* JSON without a file has the resolution of a file */
    TRY(options->file || options->json ? lay_out_file(job) : lay_out_text(job));
    for (size_t i = 0; i < options->sounds.count; i++)
        TRY(source_open_sound(options->sounds.values[i], options->allow_truncated,
                              &job->sources[i]));
    for (size_t i = 0; i < options->sounds.count; i++)
        if (job->sources[i]->length_is_open)
            source_note_open_length(options->sounds.values[i]);
    TRY(options->file ? draw_file(job) : measure_all(job));
    if (options->json)
        return print_json(options, &job->figure, job->measured);
    if (!options->file)
        spectrogram_text_print(stdout, &job->figure, &job->text);
    return STATUS_OK;
}

enum status spectrogram_run(void *options)
{
    struct spectrogram_job job = {.options = options};
    TRY(spectrogram_options_check(options));
    stop_watch();
    choose_names(&job);
    enum status status = draw(&job);
    spectrogram_figure_free(&job.figure);
    for (size_t i = 0; i < job.options->sounds.count; i++)
        source_close(job.sources[i]);
    return status;
}
