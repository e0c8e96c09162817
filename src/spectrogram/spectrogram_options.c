#include "spectrogram/spectrogram_options.h"

#include "base/gnuplot.h"
#include "base/options.h"

#include <string.h>

#define OPTIONS(context) ((struct spectrogram_options *)(context))

enum {
    CHANNELS_MOST = 1 << 16,
    SIZE_LEAST = 16,
    SIZE_MOST = 1 << 18,
    RANGE_LEAST = 1,
    RANGE_MOST = 300,
    EXTENT_MOST = 10000,
    RANGE_USUAL = 90,
};

static const double seconds_most = 1e9;

const char *const spectrogram_window_names[] = {
    [WINDOW_KAISER] = "kaiser",     [WINDOW_HANN] = "hann",       [WINDOW_HAMMING] = "hamming",
    [WINDOW_BLACKMAN] = "blackman", [WINDOW_BLACKMAN + 1] = NULL,
};

static enum status parse_sound(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    struct spectrogram_options *options = context;
    for (size_t i = 0; i < options->count && strcmp(value, "-") == 0; i++)
        if (strcmp(options->sounds[i], "-") == 0)
            return fail(STATUS_USAGE, "standard input can be read once, not twice");
    if (options->count == SPECTROGRAM_FIGURE_MOST)
        return fail(STATUS_USAGE, "that is more than %d sounds", SPECTROGRAM_FIGURE_MOST);
    options->sounds[options->count++] = value;
    return STATUS_OK;
}

static enum status parse_output(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    OPTIONS(context)->file = value;
    return gnuplot_check_file(value);
}

static enum status parse_frequency(void *context, const struct option_row *row, const char *value)
{
    static const char *const names[] = {"log", "linear", NULL};
    size_t choice = 0;
    enum status status = options_choose(row->name, value, names, &choice);
    OPTIONS(context)->linear = choice == 1;
    return status;
}

static enum status parse_range(void *context, const struct option_row *row, const char *value)
{
    return options_parse_number(row->name, value, RANGE_LEAST, RANGE_MOST,
                                &OPTIONS(context)->range);
}

static enum status parse_channel(void *context, const struct option_row *row, const char *value)
{
    return options_parse_number(row->name, value, 1, CHANNELS_MOST, &OPTIONS(context)->channel);
}

static enum status parse_from(void *context, const struct option_row *row, const char *value)
{
    return options_parse_seconds(row->name, value, 0, seconds_most, &OPTIONS(context)->from);
}

static enum status parse_to(void *context, const struct option_row *row, const char *value)
{
    return options_parse_seconds(row->name, value, 1e-6, seconds_most, &OPTIONS(context)->to);
}

static enum status parse_size(void *context, const struct option_row *row, const char *value)
{
    return options_parse_number(row->name, value, SIZE_LEAST, SIZE_MOST, &OPTIONS(context)->size);
}

static enum status parse_hop(void *context, const struct option_row *row, const char *value)
{
    return options_parse_number(row->name, value, 1, SIZE_MOST, &OPTIONS(context)->hop);
}

static enum status parse_window(void *context, const struct option_row *row, const char *value)
{
    size_t choice = WINDOW_HANN;
    enum status status = options_choose(row->name, value, spectrogram_window_names, &choice);
    OPTIONS(context)->window = (enum window)choice;
    return status;
}

static enum status parse_width(void *context, const struct option_row *row, const char *value)
{
    return options_parse_number(row->name, value, 1, EXTENT_MOST, &OPTIONS(context)->width);
}

static enum status parse_height(void *context, const struct option_row *row, const char *value)
{
    return options_parse_number(row->name, value, 1, EXTENT_MOST, &OPTIONS(context)->height);
}

static enum status parse_truncated(void *context, const struct option_row *row, const char *value)
{
    (void)row, (void)value;
    OPTIONS(context)->allow_truncated = true;
    return STATUS_OK;
}

static enum status parse_force(void *context, const struct option_row *row, const char *value)
{
    (void)row, (void)value;
    OPTIONS(context)->force = true;
    return STATUS_OK;
}

static enum status parse_json(void *context, const struct option_row *row, const char *value)
{
    (void)row, (void)value;
    OPTIONS(context)->json = true;
    return STATUS_OK;
}

static enum status parse_help(void *context, const struct option_row *row, const char *value)
{
    (void)row, (void)value;
    OPTIONS(context)->help = true;
    return STATUS_OK;
}

static const struct option_row rows[] = {
    {"output", 'o', "FILE", "draw a .png, .svg or .pdf; else it goes to the terminal", parse_output},
    {"frequency", 0, "AXIS", "log (default, from 20 Hz) or linear (from 0 Hz)", parse_frequency},
    {"range", 0, "DB", "show that much below the loudest (default: 90)", parse_range},
    {"channel", 0, "N", "one channel, counted from 1 (default: all, their mean power)",
     parse_channel},
    {"from", 0, "TIME", "begin there, such as 12s", parse_from},
    {"to", 0, "TIME", "end there", parse_to},
    {"size", 0, "FRAMES", "of a window (default: some 43 ms, 2048 at 48 kHz)", parse_size},
    {"hop", 0, "FRAMES", "from window to window (default: a quarter of one)", parse_hop},
    {"window", 0, "NAME", "hann (default), hamming, blackman or kaiser (100 dB)", parse_window},
    {"width", 0, "N", "of the whole, in pixels; in the terminal, in characters", parse_width},
    {"height", 0, "N", "likewise", parse_height},
    {"allow-truncated", 0, NULL, "draw a sound that is cut short", parse_truncated},
    {"force", 'f', NULL, "replace FILE if it is there", parse_force},
    {"json", 0, NULL, "print what was measured as one JSON object, and no picture\nbut FILE",
     parse_json},
    {"help", 'h', NULL, "print this", parse_help},
    {NULL, 0, NULL, NULL, parse_sound},
};

void spectrogram_options_help(void)
{
    puts("usage: halo spectrogram SOUND... [options]\n\n"
         "Draw the spectrogram of a sound, or of several side by side on the same axes and the\n"
         "same scale, such as before and after. Levels are dBFS: a sine of full scale is at 0 dB.\n"
         "A point shows the loudest of what it stands for, so that in hours of sound no click is\n"
         "lost. SOUND may be - for standard input. Files are drawn by gnuplot.\n\n"
         "options:");
    options_print(stdout, rows, sizeof rows / sizeof *rows);
}

enum status spectrogram_options_parse(int argc, char **argv, struct spectrogram_options *options)
{
    *options = (struct spectrogram_options){.window = WINDOW_HANN, .range = RANGE_USUAL};
    enum status status = options_parse(argc, argv, "halo spectrogram", rows, options);
    if (status == STATUS_OK && options->count == 0 && !options->help)
        status = fail(STATUS_USAGE, "which sound? halo spectrogram --help tells more");
    return status;
}
